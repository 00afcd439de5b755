"""The site builds without a warning, draws its formulas and asks no other host for anything."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from html import unescape
from pathlib import Path
from shutil import which
from urllib.parse import unquote

import pytest

from longsynth.show.dossier.build import BROWSERS
from pages.blocks import PAGES, ROOT

pytest.importorskip("mkdocs", reason="the site needs longsynth[docs]")
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*?\ssrc=[\"'](https?:)?//"
    r"|<link\b(?![^>]*rel=[\"']?canonical)[^>]*?\shref=[\"'](https?:)?//"
    r"|@import\s|url\([\"']?(https?:)?//"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    done = subprocess.run(
        [*build, str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr + done.stdout == "", "a page, a link or an anchor gives a warning"
    return folder


def test_no_page_asks_another_host_for_anything(site: Path) -> None:
    found = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(found) > 20
    for path in found:
        assert not FETCHED.search(path.read_text("utf-8")), path


def test_every_link_works_when_the_site_is_opened_from_a_folder(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]  # for servers alone
    checked = 0
    for page in pages:
        text = page.read_text("utf-8")
        for link in re.findall(r"""<[a-z]+\b[^>]*?\s(?:href|src)=["']?([^"' >]+)""", text):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(unescape(link)).partition("#")
            target = page.parent / path if path else page
            assert target.is_file(), f"{page.name}: {link}"
            if anchor and target.suffix == ".html":
                assert f'id="{anchor}"' in target.read_text("utf-8"), f"{page.name}: {link}"
            checked += 1
    assert checked > 1000


def test_search_works_when_the_site_is_opened_from_a_folder(site: Path) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="a browser is driven with Playwright")
    program = next((path for name in BROWSERS if (path := which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium or Chrome")
    with api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto((site / "tutorial.html").as_uri())
        result = page.locator(".md-search-result__link").first
        for _ in range(12):  # what is typed before the page's script has started is not heard
            page.locator(".md-search__input").fill("")
            page.locator(".md-search__input").press_sequentially("dossier")
            with suppress(api.TimeoutError):
                result.wait_for(state="attached", timeout=5000)
                break
        found = [
            link.get_attribute("href") for link in page.locator(".md-search-result__link").all()
        ]
        chromium.close()
    assert (site / "dossier.html").as_uri() in found


def test_every_formula_is_drawn(site: Path) -> None:
    text = (site / "privacy.html").read_text("utf-8")
    content = text[text.index("<article") : text.index("</article")]
    assert content.count("<math") > 200
    assert "arithmatex" not in text
    for latex in (r"\(", r"\[", r"\frac", r"\sqrt", r"\varepsilon", "$"):
        assert latex not in re.sub(r"<code>.*?</code>", "", content, flags=re.DOTALL)


def test_the_font_has_every_sign_of_every_formula(site: Path) -> None:
    from fontTools.ttLib import TTFont

    known = TTFont(site / "formulas.woff").getBestCmap()
    used = {
        sign
        for page in site.rglob("*.html")
        for formula in re.findall(r"<math.*?</math>", page.read_text("utf-8"), re.DOTALL)
        for sign in unescape(re.sub(r"<[^>]+>", "", formula))
    }
    assert {"ε", "ρ", "Δ"} <= used
    invisible = {" ", "\u2061", "\u2003", "\u2009"}
    assert {sign for sign in used - invisible if ord(sign) not in known} == set()
    assert ord("√") in known, "the browser draws roots with it"


def test_every_page_is_in_the_navigation_and_every_public_name_in_the_reference(
    site: Path,
) -> None:
    import longsynth

    listed = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (page for page in PAGES if page.parent == ROOT / "docs"):
        assert re.search(rf"[ :]{page.name}$", listed, re.MULTILINE), page
    reference = (site / "api.html").read_text("utf-8")
    errors = {"CohortError", "OverBudget", "ReleaseError", "SchemaError"}  # under Refused
    for name in set(longsynth.__all__) - errors - {"METHODS"}:
        assert re.search(rf'id="longsynth\.[\w.]*\b{name}"', reference), name


def test_the_table_of_what_an_attacker_gains_is_computed() -> None:
    script = ROOT / "tools/site/best_attacker.py"
    assert subprocess.run([sys.executable, str(script), "--check"]).returncode == 0
