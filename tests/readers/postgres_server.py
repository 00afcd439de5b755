"""A Postgres server of a test's own: Debian's binaries, a socket in a folder, no port."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """The folder of initdb and postgres, newest version first."""
    known = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True
    )
    found = [p for p in known if (p / "initdb").is_file() and (p / "postgres").is_file()]
    return found[0] if found else None


@contextmanager
def running(bin_folder: Path) -> Iterator[str]:
    """Yield the address of an empty database; the server stops afterwards."""
    # Not below a test's own folder: a socket's path must be short, and open to another user.
    folder = Path(tempfile.mkdtemp(prefix="longsynth-pg-", dir="/tmp"))
    user = _ordinary_user(folder)
    server: subprocess.Popen[bytes] | None = None
    try:
        data = folder / "data"
        initdb = [bin_folder / "initdb", "-D", data, "-U", "steward", "--auth=trust", "--no-sync"]
        subprocess.run([*user, *initdb], check=True, capture_output=True, cwd=folder)
        settings = {"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (folder / "log").open("wb") as log:
            command = [*user, bin_folder / "postgres", "-D", data, *options]
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        _wait(bin_folder, folder, server)
        yield f"postgresql://steward@/postgres?host={folder}"
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)  # at once, whoever is still connected
            server.wait(timeout=30)
        shutil.rmtree(folder, ignore_errors=True)


def _ordinary_user(folder: Path) -> list[str]:
    """Postgres refuses to run as root: run it as another user, who owns the folder."""
    if os.getuid() != 0:
        return []
    shutil.chown(folder, "nobody")
    return ["setpriv", "--reuid=nobody", "--clear-groups", "--"]


def _wait(bin_folder: Path, folder: Path, server: subprocess.Popen[bytes]) -> None:
    asked = [bin_folder / "pg_isready", "-h", folder, "-q"]
    for _ in range(150):
        if server.poll() is not None:
            break
        if subprocess.run(asked).returncode == 0:
            return
        time.sleep(0.2)
    raise RuntimeError((folder / "log").read_text())
