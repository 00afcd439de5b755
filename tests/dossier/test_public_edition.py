"""The public edition says what the release says, and nothing that it does not."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from math import sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from dossier.conftest import World
from longsynth.govern.form import load_form
from longsynth.govern.keys import load_private, make_keys, signature_json, signature_of
from longsynth.privacy.noise import OpenDPNoise
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.release.folder import load_release
from longsynth.release.run import run_fit
from longsynth.show.dossier.build import release_facts, write_dossier
from longsynth.show.dossier.facts import Facts, generate_population, noised
from longsynth.show.dossier.guarantee import guarantee, percent_up
from support import constant_add, write_checked
from ward import ward_cohort, ward_schema

LARGEST = 3_000_000


class Elements(HTMLParser):
    """Every tag with its attributes, and the text of the page as a reader sees it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self._silent = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.text.append(data)

    @property
    def said(self) -> str:
        return " ".join(" ".join(self.text).split())


def page_of(cohort: Cohort, folder: Path, method: str) -> bytes:
    folder.mkdir()
    write_checked(folder, ward_schema(), [cohort])
    run = folder / "run"
    run_fit(folder, run, epsilon=4.0, delta=1e-5, method=method)
    write_dossier(run, folder / "page.html", redraws=2)
    return (folder / "page.html").read_bytes()


@pytest.mark.parametrize("method", ["trust", "dp-markov", "copula-score"])
def test_with_constant_noise_two_cohorts_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(OpenDPNoise, "add", constant_add)
    usual = ward_cohort(60, 1)
    shifted = ward_cohort(60, 2, events=0.9)
    wild = Cohort(
        **{name: getattr(shifted, name) for name in Cohort.__slots__}
        | {"values": np.full_like(shifted.values, 1e12)}
    )
    pages = [page_of(c, tmp_path / str(i), method) for i, c in enumerate((usual, wild))]
    assert pages[0] == pages[1]
    monkeypatch.undo()
    assert page_of(usual, tmp_path / "noised", method) != pages[0], "this test is blind"


def test_the_same_release_makes_the_same_page_from_the_run_and_from_the_folder(
    world: World, tmp_path: Path
) -> None:
    write_dossier(world.release, tmp_path / "again.html", redraws=2)
    assert (tmp_path / "again.html").read_bytes() == world.public.read_bytes()


def test_text_from_a_schema_never_becomes_markup(world: World) -> None:
    for path in (world.public, world.internal):
        page = Elements(path.read_text())
        tags = [tag for tag, _ in page.tags]
        assert tags.count("script") == 2  # ours, and the numbers of the curve
        assert "img" not in tags
        assert tags.count("title") > 1
        assert not [a for _, attrs in page.tags for a in attrs if a.startswith("on")]
        assert "<script>alert('x')</script>" in page.said  # shown as it was typed


def test_nothing_is_fetched_and_only_our_script_may_run(world: World) -> None:
    for path in (world.public, world.internal):
        text = path.read_text()
        page = Elements(text)
        assert len(text.encode()) < LARGEST
        (policy,) = [str(a["content"]) for _, a in page.tags if a.get("http-equiv") is not None]
        assert policy.startswith("default-src 'none'")
        assert "'unsafe-inline'; script-src" not in policy
        assert re.search(r"script-src 'sha256-[\w+/=]{44}'$", policy)
        for _, attributes in page.tags:
            for name in ("src", "href"):
                assert str(attributes.get(name, "#")).startswith("#")
        assert not re.search(r"url\((?!data:)", text)


def test_it_states_the_guarantee_the_ledger_and_the_fingerprint(world: World) -> None:
    said = Elements(world.public.read_text()).said
    bundle = load_release(world.release)
    ledger = json.loads((world.release / "ledger.json").read_text())
    assert "ε = 4, δ = 1e-05" in said
    assert bundle.fingerprint in said
    for line in ledger["entries"]:
        assert line["statistic"] in said
        assert line["meaning"] in said
    assert "A. Fitter" in said
    assert "entry 3 of the data owner's budget book" in said
    assert "Computed from real patients" not in said
    assert "NOT FOR RELEASE" not in said
    limit = guarantee(bundle.ledger)
    assert f"at most {limit.correct} % of the time" in said
    statement = (world.release / "STATEMENT.md").read_text()
    for number in (limit.auc, limit.detected):  # the page and the statement agree
        assert number in statement
        assert number in said


def test_the_first_paragraph_is_what_a_board_decides_on(world: World) -> None:
    lead = Elements(world.public.read_text().split('class="lead"')[1].split("</p>")[0]).said
    limit = guarantee(load_release(world.release).ledger)
    for words in (
        "about 160 patients",
        "Fitted by A. Fitter, without a governance form; not signed",
        f"at most {limit.correct} % of the time; a coin toss is right 50 %",
        "caps all fits of “ward” together at ε = 8",
        "Quality was not measured",
        "longsynth audit --train",
    ):
        assert words in lead


def test_a_limit_is_never_stated_below_what_the_ledger_allows(world: World) -> None:
    ledger = load_release(world.release).ledger
    mu, normal = sqrt(2 * ledger.spent), NormalDist()
    stated = guarantee(ledger)
    assert float(stated.correct) >= 100 * normal.cdf(mu / 2)
    for alarms, limit in stated.rates:
        rate = float(alarms.split()[0]) / 100
        assert float(limit.split()[0]) >= 100 * normal.cdf(normal.inv_cdf(rate) + mu) - 1e-6
    assert percent_up(0.12345) == "12.4"
    assert percent_up(0.9999) == "100.0"


def test_bands_of_noise_are_wider_where_the_noise_is(world: World) -> None:
    """With a tenth of the stated σ a missing share moves far less."""
    facts = release_facts(world.release)
    calm = {
        name: replace(r, entry=replace(r.entry, sigma=r.entry.sigma / 10))
        for name, r in facts.bundle.released.items()
    }
    calmer = replace(facts, bundle=replace(facts.bundle, released=calm))

    def width(facts: Facts) -> float:
        noise = generate_population(facts, 4).noise
        assert noise is not None
        return float(np.mean([v["missing"]["all"] for v in noise["variables"]]))

    assert width(facts) > 2 * width(calmer) > 0


def test_a_redraw_moves_every_released_number_by_its_own_noise(world: World) -> None:
    bundle = load_release(world.release)
    moves = {name: [] for name in bundle.released}  # type: dict[str, list[np.ndarray]]
    for k in range(40):
        again = noised(bundle, k)
        for name, line in again.released.items():
            moves[name].append(line.values - bundle.released[name].values)
    for name, moved in moves.items():
        ratio = np.std(np.concatenate(moved)) / bundle.released[name].entry.sigma
        assert 0.8 < ratio < 1.2, name


def test_every_chart_has_a_name_a_description_and_a_caption(world: World) -> None:
    for path in (world.public, world.internal):
        text = path.read_text()
        charts = re.findall(r"<svg.*?</svg>", text, flags=re.S)
        assert len(charts) > 20
        for chart in charts:
            (names,) = re.findall(r'aria-labelledby="(\S+) (\S+)"', chart)
            for name in names:
                assert re.search(rf'id="{name}">[^<]{{3,}}<', chart), chart[:200]
        assert len(re.findall("<figcaption>", text)) >= len(charts)
        ids = re.findall(r'\sid="([^"]+)"', text)
        assert len(ids) == len(set(ids))


def test_a_governed_and_signed_release_prints_its_form_and_who_signed(tmp_path: Path) -> None:
    form = Path(__file__).parents[2] / "examples/governance.yaml"
    cohort, run = tmp_path / "cohort", tmp_path / "run"
    cohort.mkdir()
    write_checked(cohort, simulated_schema(), [simulate(120, seed=1)])
    run_fit(cohort, run, epsilon=4.0, delta=1e-5, governance=form, fitted_by="data engineer")
    make_keys(tmp_path / "key")
    key = load_private(tmp_path / "key")
    manifest = (run / "release/manifest.json").read_bytes()
    signature = signature_of(manifest, key, "data steward")
    (run / "release/signature.json").write_bytes(signature_json(signature))
    write_dossier(run, tmp_path / "page.html", governance=form, redraws=0)
    text = (tmp_path / "page.html").read_text()
    said = Elements(text).said
    asked = load_form(form)
    for words in (asked.says.study.title, asked.sha256, asked.says.budget.epsilon_reason):
        assert " ".join(words.split()) in said
    assert f"Signed by data steward with key {key.public.fingerprint}" in said
    assert "Fitted by data engineer; signed by data steward" in said
    assert "\nlongsynth verify release --key KEY.pub</code>" in text
    assert "No budget book was kept" in said
    assert "They do not show the effect of the noise" in said
