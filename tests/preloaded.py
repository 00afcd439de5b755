"""Commands in processes of their own that need not load their libraries first: a server has loaded
them and forks for each command. A command then takes a tenth of its second.

`python preloaded.py SOCKET` is the server; `Preloaded` starts it and asks it.
"""

import gc
import json
import os
import resource
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

# What a shell calls: it hands over its arguments, folder, environment and descriptors.
_CLIENT = """#!{python} -IS
import _socket, array, json, os, sys
asked = json.dumps([{first} + sys.argv[1:], os.getcwd(), dict(os.environ), None]).encode()
with_fds = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
server.sendmsg([len(asked).to_bytes(8, "big")], with_fds)
server.sendall(asked)
code = int(server.recv(16))
if code < 0:
    os.kill(os.getpid(), -code)
os._exit(code)
"""


LOADED_WITH = {
    "OPENBLAS_NUM_THREADS": "1",  # no threads before a fork
    "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    "PYTHONWARNINGS": "error",
}


class Preloaded:
    """A server with the libraries loaded; `stop` ends it."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="preloaded-")  # a short path: sockets'
        self.address = f"{self._folder.name}/socket"
        self._server = subprocess.Popen(
            [sys.executable, __file__, self.address],
            env=os.environ | LOADED_WITH,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=self._folder.name,
        )
        assert self._server.stdout is not None
        with self._server.stdout as said:
            assert said.readline() == b"ready\n", "the server did not start"

    def write_client(self, path: Path, first: Sequence[str]) -> None:
        """Write a program that a shell can call: `first`, and then its arguments."""
        client = _CLIENT.format(python=sys.executable, first=list(first), address=self.address)
        path.write_text(client, encoding="utf-8")
        path.chmod(0o755)

    def run(
        self,
        command: Sequence[object],
        cwd: Path | None,
        environment: Mapping[str, str],
        limits: tuple[int, int] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `longsynth …` or `python …` and return what `subprocess.run` would. The limits: bytes
        of memory beside what the libraries take, and seconds of the processor."""
        arguments = [str(argument) for argument in command]
        asked = [arguments, str(cwd or Path.cwd()), dict(environment), limits]
        content = json.dumps(asked).encode()
        with (
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            Path(os.devnull).open("rb") as nothing,
            socket.socket(socket.AF_UNIX) as server,
        ):
            server.connect(self.address)
            descriptors = [file.fileno() for file in (nothing, out, err)]
            socket.send_fds(server, [len(content).to_bytes(8, "big")], descriptors)
            server.sendall(content)
            code = int(server.recv(16))
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(
                arguments, code, out.read().decode(), err.read().decode()
            )

    def stop(self) -> None:
        self._server.terminate()
        self._server.wait()
        self._folder.cleanup()


@cache
def server() -> Preloaded:
    """The one server of this process, started when it is first asked for."""
    return Preloaded()


def stop_server() -> None:
    if server.cache_info().currsize:
        server().stop()
        server.cache_clear()


def longsynth(
    *arguments: object,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limits: tuple[int, int] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command; without an environment of its own in this one."""
    chosen = os.environ if environment is None else environment
    return server().run(["longsynth", *arguments], cwd, chosen, limits)


def _serve(address: str) -> None:
    children: dict[int, tuple[int, socket.socket]] = {}  # descriptor of a process: its id, client
    selector = selectors.DefaultSelector()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(16)
        selector.register(listening, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.close()
        while True:
            for key, _ in selector.select():
                if key.fd in children:
                    selector.unregister(key.fd)
                    process, client = children.pop(key.fd)
                    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                    os.close(key.fd)
                    with client:
                        _answer(client, code)
                    continue
                client = listening.accept()[0]
                head, descriptors, _, _ = socket.recv_fds(client, 8, 3)
                if not (process := os.fork()):
                    listening.close()
                    _child(client, int.from_bytes(head, "big"), descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
                own = os.pidfd_open(process)
                children[own] = process, client
                selector.register(own, selectors.EVENT_READ)


def _answer(client: socket.socket, code: int) -> None:
    with suppress(OSError):  # who asked is gone
        client.sendall(str(code).encode())


def _child(client: socket.socket, size: int, descriptors: list[int]) -> None:
    """Become the process that was asked for; never returns."""
    code = 1
    try:
        with client.makefile("rb") as asked:
            arguments, folder, environment, limits = json.loads(asked.read(size))
        client.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        os.environ.clear()
        os.environ.update(environment)
        path = environment.get("PYTHONPATH", "").split(os.pathsep)
        sys.path[:0] = [place for place in path if place and place not in sys.path]
        os.chdir(folder)
        if limits:
            memory, seconds = limits
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            memory += pages * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        code = _exit_code(arguments)
    except BaseException:  # noqa: BLE001 - as Python does at the end of a program
        traceback.print_exc()
    finally:
        _end(code)


def _exit_code(arguments: list[str]) -> int:
    try:
        _main(arguments)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            sys.stderr.write(f"{end.code}\n")
            return 1
        return end.code or 0
    return 0


def _main(arguments: list[str]) -> None:
    sys.argv = arguments
    if arguments[0] == "longsynth":
        from longsynth.commands.__main__ import main

        main()
    elif arguments[1] == "-c":
        sys.argv = arguments[1:2] + arguments[3:]
        sys.path.insert(0, "")
        own: Any = ModuleType("__main__")
        sys.modules["__main__"] = own
        exec(compile(arguments[2], "<string>", "exec"), own.__dict__)
    elif arguments[1].startswith("-"):
        os.execv(sys.executable, arguments)
    else:
        sys.argv = arguments[1:]
        sys.path.insert(0, str(Path(arguments[1]).resolve().parent))
        runpy.run_path(arguments[1], run_name="__main__")


def _end(code: int) -> None:
    """What Python does at its end, without the server's part of the stack."""
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - likewise
        code = code or 120
    finally:
        os._exit(code)


def _load() -> None:
    """Import the whole package, but for what needs Spark."""
    import pkgutil

    import longsynth
    from longsynth.schema.units import conversion

    for module in pkgutil.walk_packages(longsynth.__path__, "longsynth."):
        if "spark" not in module.name and not module.name.endswith("__main__"):
            __import__(module.name)
    for name in ("dp_accounting.pld", "opendp.measurements", "sklearn.ensemble", "scipy.stats"):
        __import__(name)
    with suppress(longsynth.Refused):  # the package for units is not installed
        conversion("kg", "lb")  # it reads all units when it is first asked
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    sys.path.pop(0)  # the tests' own modules are not a command's
    _load()
    _serve(sys.argv[1])
