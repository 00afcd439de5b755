"""PDF through an installed Chromium, with a profile of its own and without network."""

import os
import subprocess
from pathlib import Path
from shutil import which

from longsynth.system.errors import Code, Refused
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
TIMEOUT = 300  # seconds
REMEDY = "open the HTML file in a browser and print it there."


def browser() -> str:
    """Return the path of an installed browser."""
    installed = next((path for name in BROWSERS if (path := which(name))), None)
    if installed is None:
        problem = "A PDF needs Chromium or Chrome on the PATH, and there is none."
        raise Refused(Code.PDF_UNAVAILABLE, problem, f"Install one, or do without: {REMEDY}")
    return installed


def write_pdf(page: Path, out: Path) -> None:
    """Print a page to `out`, as a browser does on paper."""
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
            subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT)
        except (subprocess.SubprocessError, OSError):
            out.unlink(missing_ok=True)
    if not out.exists():
        problem = f"{Path(program).name} could not print the page."
        raise Refused(Code.PDF_UNAVAILABLE, problem, f"Instead, {REMEDY}")
