"use strict";
(() => {
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  const root = document.documentElement;
  root.classList.add("js");

  // Light or dark: follows the system until the reader chooses.
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = document.getElementById("theme");
  const named = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; named(); });
  named();

  // Each box shows or hides one layer of every chart in its section.
  for (const box of all("input[data-layer]")) {
    const scope = box.closest("section");
    const apply = () => scope.classList.toggle(`hide-${box.dataset.layer}`, !box.checked);
    box.addEventListener("change", apply);
    apply();
  }

  // One variable or all of them.
  for (const choice of all("select[data-choose=variable]")) {
    const scope = choice.closest("section");
    choice.addEventListener("change", () => {
      for (const figure of all("[data-variable]", scope))
        figure.classList.toggle("gone", choice.value !== "" && figure.dataset.variable !== choice.value);
    });
  }

  // One part: all patients, by event, by group.
  for (const choice of all("select[data-choose=part]")) {
    const scope = choice.closest("section");
    const apply = () => {
      for (const each of all("[data-part]", scope))
        each.classList.toggle("gone", each.dataset.part !== choice.value);
    };
    choice.addEventListener("change", apply);
    apply();
  }

  // One synthetic patient at a time.
  const who = document.getElementById("patient");
  if (who) {
    const show = () => all(".patient").forEach((each, i) =>
      each.classList.toggle("chosen", String(i) === who.value));
    who.addEventListener("change", show);
    document.getElementById("next-patient").addEventListener("click", () => {
      who.value = String((Number(who.value) + 1) % who.options.length);
      show();
    });
    show();
  }

  // The trade-off at any rate of false alarms; the page contains the curve's numbers.
  const slider = document.getElementById("alarms");
  if (slider) {
    const points = JSON.parse(document.getElementById("tradeoff-points").textContent);
    const mark = document.getElementById("tradeoff-mark");
    const move = () => {
      const p = points[Number(slider.value)];
      document.getElementById("alarms-said").textContent =
        `${p.alarms} % false alarms: at most ${p.detected} % true alarms`;
      mark.querySelector("circle").setAttribute("cx", p.x);
      mark.querySelector("circle").setAttribute("cy", p.y);
      mark.querySelector("line").setAttribute("x1", p.x);
      mark.querySelector("line").setAttribute("x2", p.x);
      mark.querySelector("line").setAttribute("y2", p.y);
    };
    slider.addEventListener("input", move);
    move();
  }

  // Numbers under the pointer or the finger.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  for (const title of all("figure svg :not(svg) > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  const showTip = (event) => {
    const on = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !on;
    if (!on) return;
    tip.textContent = on.dataset.tip;
    const width = tip.offsetWidth;
    tip.style.left = `${Math.max(6, Math.min(event.clientX + 12, innerWidth - width - 8))}px`;
    tip.style.top = `${Math.max(6, event.clientY - tip.offsetHeight - 12)}px`;
  };
  document.addEventListener("pointermove", showTip);
  document.addEventListener("pointerdown", showTip);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // Where the reader is.
  const links = all(".contents a");
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting)
      links.forEach((a) => a.classList.toggle("here", a.hash === `#${entry.target.id}`));
  }, { rootMargin: "-20% 0px -70% 0px" });
  all("main > section").forEach((section) => observer.observe(section));
})();
