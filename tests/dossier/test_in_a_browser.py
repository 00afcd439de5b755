"""Both editions in a real Chromium: they work, fit a phone and paper, and fetch nothing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from pypdf import PdfReader

from dossier.conftest import World
from longsynth.show.dossier.build import BROWSERS, write_pdf

CHROMIUM = next((path for name in BROWSERS if (path := which(name))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
EDITIONS = ("public", "internal")
A4 = 210 - 34, 297 - 37  # millimetres of a page within its margins
PIXELS = 96 / 25.4  # of a millimetre

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


class Watched:
    """A page, and everything that it complains of or asks for."""

    def __init__(self, browser: Browser, path: Path, width: int = 1280, **more: object) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **more
        )
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_load_state("load")

    def __enter__(self) -> Page:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("edition", EDITIONS)
def test_no_complaint_no_request_and_no_sideways_scroll(
    world: World, browser: Browser, edition: str
) -> None:
    path = getattr(world, edition)
    for width in (390, 820, 1280):
        watched = Watched(browser, path, width)
        with watched as page:
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} at {width}"
            beyond = page.evaluate(
                """() => [...document.querySelectorAll('main figure, main p, main pre, main h2')]
                .filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"""
            )
            assert beyond == 0
        assert watched.said == []
        assert [url for url in watched.asked if not url.startswith(("file:", "data:"))] == []
        assert len([url for url in watched.asked if url.startswith("file:")]) == 1


def test_a_page_that_fetches_fails_or_can_hardly_be_read_is_noticed(
    browser: Browser, tmp_path: Path
) -> None:
    """The witness: none of the checks here is blind."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<title>x</title><p style='color:#ccc;width:2000px'>pale and wide</p>"
        "<img src='http://127.0.0.1:9/x.png'><script>nobody()</script>"
    )
    watched = Watched(browser, bad, 390)
    with watched as page:
        assert page.evaluate("document.documentElement.scrollWidth") > 390
        found = {v["id"] for v in Axe().run(page).response["violations"]}
    assert {"color-contrast", "image-alt"} <= found
    assert any("nobody" in said for said in watched.said)
    assert "http://127.0.0.1:9/x.png" in watched.asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("edition", EDITIONS)
def test_axe_finds_nothing_to_complain_of(
    world: World, browser: Browser, edition: str, scheme: str
) -> None:
    with Watched(browser, getattr(world, edition), 820, color_scheme=scheme) as page:
        found = Axe().run(page).response["violations"]
        told = {v["id"]: [n["html"][:160] for n in v["nodes"][:3]] for v in found}
        assert told == {}


def test_a_variable_can_be_chosen_and_the_noise_hidden(world: World, browser: Browser) -> None:
    with Watched(browser, world.public) as page:
        figures = page.locator("#released figure[data-variable]")
        assert figures.count() == 7
        page.select_option("#released-variable", "3")
        assert [f.is_visible() for f in figures.all()].count(True) == 1
        assert page.locator("#fig-released-3").is_visible()
        page.select_option("#released-variable", "")
        assert all(f.is_visible() for f in figures.all())
        noise = page.locator("#released .noise").first
        assert noise.evaluate("e => getComputedStyle(e).display") != "none"
        page.get_by_label("show the noise").uncheck()
        assert noise.evaluate("e => getComputedStyle(e).display") == "none"


def test_the_slider_says_the_limit_at_each_rate(world: World, browser: Browser) -> None:
    with Watched(browser, world.public) as page:
        said = page.locator("#alarms-said")
        before = said.inner_text()
        assert before.startswith("1 % false alarms: at most")
        page.locator("#alarms").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert said.inner_text() != before
        mark = page.locator("#tradeoff-mark circle")
        assert float(mark.get_attribute("cx") or 0) > 0


def test_patients_are_shown_one_by_one_and_the_theme_turns(world: World, browser: Browser) -> None:
    with Watched(browser, world.public, color_scheme="light") as page:
        patients = page.locator(".patient")
        assert [p.is_visible() for p in patients.all()].count(True) == 1
        page.locator("#next-patient").click()
        assert patients.nth(1).is_visible()
        colour = "() => getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(colour)
        page.locator("#theme").click()
        assert page.evaluate(colour) != light


def test_cohorts_and_parts_of_the_internal_edition_can_be_hidden(
    world: World, browser: Browser
) -> None:
    with Watched(browser, world.internal) as page:
        line = page.locator("#compared .line.real").first
        page.locator("#compared input[data-layer=real]").uncheck()
        assert line.evaluate("e => getComputedStyle(e).display") == "none"
        others = page.locator("#along .line.real").first
        assert others.evaluate("e => getComputedStyle(e).display") != "none"
        assert page.locator("#along [data-part=event]").is_visible()
        page.select_option("#along-part", "group")
        assert page.locator("#along [data-part=group]").is_visible()
        assert not page.locator("#along [data-part=event]").is_visible()
        mark = page.locator(".mark")
        page.evaluate("window.scrollTo(0, 4000)")
        assert mark.is_visible()
        assert (mark.bounding_box() or {"y": -1})["y"] == 0


def test_pointing_at_a_bar_says_its_numbers(world: World, browser: Browser) -> None:
    with Watched(browser, world.public) as page:
        bar = page.locator("#fig-missing .bar").first
        bar.scroll_into_view_if_needed()
        bar.hover()
        tip = page.locator("#tip")
        assert tip.is_visible()
        assert "%" in tip.inner_text()


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_javascript_everything_is_there(
    world: World, browser: Browser, edition: str
) -> None:
    with Watched(browser, getattr(world, edition), java_script_enabled=False) as page:
        assert all(p.is_visible() for p in page.locator(".patient").all())
        assert all(f.is_visible() for f in page.locator("main figure").all())
        assert not page.locator(".needs-js").first.is_visible()


@pytest.mark.parametrize("edition", EDITIONS)
def test_on_paper_no_figure_is_cut_and_every_page_is_marked(
    world: World, browser: Browser, tmp_path: Path, edition: str
) -> None:
    width, height = (mm * PIXELS for mm in A4)
    with Watched(browser, getattr(world, edition), round(width)) as page:
        page.emulate_media(media="print")
        boxes = page.evaluate(
            """() => [...document.querySelectorAll('figure, table tr')].map(e => {
                const box = e.getBoundingClientRect(), style = getComputedStyle(e);
                return [e.id || e.tagName, box.right, box.height, style.breakInside];
            })"""
        )
    assert len(boxes) > 30
    for name, right, tall, rule in boxes:
        assert right <= width + 1, f"{name} is cut at the side"
        assert tall < height, f"{name} does not fit on a page"
        assert rule == "avoid", f"{name} may be broken in two"
    out = tmp_path / "page.pdf"
    write_pdf(getattr(world, edition), out)
    pages = [page.extract_text() for page in PdfReader(out).pages]
    assert 6 <= len(pages) <= 40
    marked = ["NOT FOR RELEASE" in text for text in pages]
    assert all(marked) if edition == "internal" else not any(marked)


@pytest.mark.skipif(which("pdftoppm") is None, reason="pdftoppm is not installed: poppler-utils")
@pytest.mark.parametrize("edition", EDITIONS)
def test_no_printed_page_but_the_last_is_half_empty(
    world: World, tmp_path: Path, edition: str
) -> None:
    write_pdf(getattr(world, edition), tmp_path / "page.pdf")
    subprocess.run(
        ["pdftoppm", "-r", "40", "-png", tmp_path / "page.pdf", tmp_path / "p"], check=True
    )
    pages = sorted(tmp_path.glob("p-*.png"))
    assert len(pages) > 4
    for picture in pages[:-1]:
        grey = np.asarray(Image.open(picture).convert("L"))
        top, bottom = (round(share * len(grey)) for share in (0.064, 0.939))  # its margins
        inked = np.flatnonzero((grey[top:bottom] < 190).any(axis=1))  # the stamp is paler
        assert inked.max(initial=0) > 0.5 * (bottom - top), picture.name
