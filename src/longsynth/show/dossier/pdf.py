"""PDF through an installed Chromium. It gets a profile of its own, and no network."""

import os
import subprocess
from pathlib import Path
from shutil import which

from longsynth.system.errors import Refused
from longsynth.system.scratch import ScratchFolder

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
PATIENCE = 300  # seconds


def browser() -> str:
    found = next((path for name in BROWSERS if (path := which(name))), None)
    if found is None:
        raise Refused(
            "--pdf needs Chromium or Chrome on the PATH: install one, or open the HTML file and "
            "print it."
        )
    return found


def write_pdf(page: Path, out: Path) -> None:
    """Print a page to `out`, as a browser would on paper."""
    program = browser()
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has no sandbox for root
    with ScratchFolder() as profile:
        command = [
            program,
            *FLAGS,
            *root,
            f"--user-data-dir={profile.path}",
            f"--print-to-pdf={out.resolve()}",
            page.resolve().as_uri(),
        ]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        except (subprocess.SubprocessError, OSError):
            out.unlink(missing_ok=True)
    if not out.exists():
        raise Refused(
            f"{Path(program).name} could not print the page: open the HTML file and print it, or "
            "leave out --pdf."
        )
