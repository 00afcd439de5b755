"""Take the pictures of the dossier that stand in README and docs.

Everything but the noise of the fits is drawn by fixed seeds; noise takes none. `--work DIR` keeps
the runs there and uses them again, so that the same runs give the same pictures. Needs Chromium.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from longsynth.show.dossier.build import browser as installed

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
FINE = Image.Resampling.LANCZOS
LARGEST = 300_000  # bytes of a picture
GRANT = ("--dataset", "ward", "--epsilon", "12", "--delta", "1e-5")
CHARGED = ("--delta", "1e-5", "--book", "book.db", "--dataset", "ward", "--by", "data engineer")
STEPS = {
    "train": ("simulate", "--seed", "3", "--patients", "1500", "--out", "train"),
    "test": ("simulate", "--seed", "4", "--patients", "600", "--out", "test"),
    "book.db": ("budget", "init", "book.db"),
    "granted": ("budget", "grant", "book.db", *GRANT),
    "g0": ("fit", "train", "--epsilon", "2", *CHARGED, "--out", "g0"),
    "gov": ("fit", "train", "--epsilon", "4", *CHARGED, "--method", "copula-score", "--out", "gov"),
    "key": ("keygen", "--out", "key", "--name", "data steward"),
    "gov/release/signature.json": ("sign", "gov/release", "--key", "key"),
    "syn": ("sample", "gov/release", "--patients", "1500", "--seed", "7", "--out", "syn"),
    "audit": (
        *("audit", "--train", "train", "--test", "test", "--synthetic", "syn"),
        *("--canary", "gov/release", "--bootstrap", "100", "--out", "audit"),
    ),
    "public.html": ("dossier", "gov", "--out", "public.html", "--pdf"),
    "internal.html": ("dossier", "gov", "--audit", "audit", "--out", "internal.html"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="a folder for the runs, kept")
    given = parser.parse_args().work
    with tempfile.TemporaryDirectory() as scratch:
        work = given or Path(scratch)
        make_runs(work)
        take_pictures(work)


def make_runs(work: Path) -> None:
    """Run the commands whose result is not there yet."""
    work.mkdir(parents=True, exist_ok=True)
    for made, command in STEPS.items():
        if (work / made).exists():
            continue
        print("longsynth", *command)
        program = [sys.executable, "-m", "longsynth.commands", *command]
        subprocess.run(program, cwd=work, check=True, stdout=subprocess.DEVNULL)
        if made == "granted":
            (work / made).touch()


def take_pictures(work: Path) -> None:
    public, internal = work / "public.html", work / "internal.html"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=installed(), args=FLAGS)
        front = shot(browser, public, 1280, None, 1572), section(browser, public, "#released", 1300)
        save("front", [p.resize((p.width * 980 // p.height, 980), FINE) for p in front])
        save("population", [section(browser, public, "#released", 1320)])
        save("ledger", [section(browser, public, "#ledger", 760)])
        save("internal", [section(browser, internal, "#along", 900)])
        save("verdicts", [shot(browser, internal, 1280, None, 1300)])
        phones = ((public, None), (public, "#epsilon"), (internal, "#compared"))
        save(
            "phone",
            [
                shot(browser, path, 390, where, 1100, dark=where == "#epsilon")
                for path, where in phones
            ],
        )
        browser.close()
    with tempfile.TemporaryDirectory() as scratch:
        pages = ["pdftoppm", "-r", "60", "-png", "-l", "4", f"{work}/public.pdf", f"{scratch}/p"]
        subprocess.run(pages, check=True)
        save("paper", [Image.open(p) for p in sorted(Path(scratch).glob("p*.png"))])


def opened(browser: Browser, path: Path, width: int, *, dark: bool = False) -> Page:
    page = browser.new_page(
        viewport={"width": width, "height": 1100},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page.goto(path.resolve().as_uri())
    page.evaluate("document.fonts.ready")
    return page


def shot(
    browser: Browser, path: Path, width: int, where: str | None, height: int, *, dark: bool = False
) -> Image.Image:
    """The page from its top, or from a section on."""
    page = opened(browser, path, width, dark=dark)
    box = page.locator(where).bounding_box() if where else None
    return clipped(page, 0, box["y"] if box else 0, width, height)


def section(browser: Browser, path: Path, selector: str, height: int) -> Image.Image:
    page = opened(browser, path, 1280)
    box = page.locator(selector).bounding_box()
    assert box is not None
    return clipped(
        page, box["x"] - 24, box["y"] + 12, box["width"] + 48, min(height, box["height"])
    )


def clipped(page: Page, x: float, y: float, width: float, height: float) -> Image.Image:
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        clip = {"x": x, "y": y, "width": width, "height": height}
        page.screenshot(path=file.name, clip=clip, full_page=True)  # type: ignore[arg-type]
        page.close()
        return Image.open(file.name).convert("RGB").copy()


def save(name: str, pictures: list[Image.Image]) -> None:
    """One picture, or several side by side, in as many colours as fit the size."""
    gap, height = 24, max(p.height for p in pictures)
    width = sum(p.width for p in pictures) + gap * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, height), "#c9cecf" if len(pictures) > 1 else "#ffffff")
    at = 0
    for picture in pictures:
        sheet.paste(picture.convert("RGB"), (at, 0))
        at += picture.width + gap
    path = DOCS / f"dossier-{name}.png"
    for colours in (255, 128, 64, 32):
        sheet.quantize(colours, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size < LARGEST:
            break
    print(f"{path.name}: {sheet.width} x {sheet.height}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
