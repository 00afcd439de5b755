// From a folder, browsers start no workers, and the site's search is one: run it in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.body.appendChild(document.createElement("iframe"))
      frame.hidden = true
      this.inside = frame.contentWindow
      this.inside.document.open()
      this.inside.document.write(`<html><body><script>
        postMessage = data => parent.dispatchEvent(
          new MessageEvent("message", { data, source: window }))
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>
          new Promise((loaded, failed) => {
            const script = document.createElement("script")
            script.src = url
            script.onload = loaded
            script.onerror = failed
            document.body.appendChild(script)
          })), Promise.resolve())
      <\/script><script src="${url}"><\/script></body></html>`)
      this.inside.document.close()
      this.ready = new Promise(loaded => { this.inside.onload = loaded })
      addEventListener("message", event => {
        if (event.source !== this.inside) return
        const copy = new MessageEvent("message", { data: event.data })
        this.dispatchEvent(copy)
        if (this.onmessage) this.onmessage(copy)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
