"""Versions: text that does nothing does not count, what changes a number does."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longsynth_lab import versions
from longsynth_lab.markov import MarkovVariant, Rule
from longsynth_lab.probes import made_probe, metrics_probe
from longsynth_lab.variants import VARIANTS, variant_of
from longsynth_lab.versions import judged_by, keep_versions, made_by


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No test knows, or leaves behind, what another has found."""
    monkeypatch.setattr(versions, "KNOWN", tmp_path / "versions.json")
    _forget()
    yield
    _forget()


def _forget() -> None:
    for remembering in (made_by, judged_by, versions._sources, versions._code):
        remembering.cache_clear()


def edited(monkeypatch: pytest.MonkeyPatch, module: str, old: str, new: str) -> None:
    """Let a module have another text."""
    text = Path(versions._file(module) or "").read_text(encoding="utf-8")
    assert old in text
    tree, real = ast.parse(text.replace(old, new)), versions._tree
    monkeypatch.setattr(versions, "_tree", lambda m: tree if m == module else real(m))
    _forget()


def test_a_comment_or_a_docstring_is_no_new_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made_by("trust"), judged_by()
    edited(monkeypatch, "longsynth.sampling.strata", "# p (S,), released", "# other words")
    edited(monkeypatch, "longsynth.sample", '"""Algorithm 2', '"""The second algorithm')
    assert (made_by("trust"), judged_by()) == before


def test_a_changed_line_is_a_new_version_of_those_that_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {m: made_by(m) for m in ("trust", "dp-markov")} | {"metrics": judged_by()}
    edited(
        monkeypatch, "longsynth.methods.dp_markov.settings", "MOST_LEVELS = 60", "MOST_LEVELS = 61"
    )
    assert made_by("dp-markov") != before["dp-markov"]
    assert made_by("trust") == before["trust"]
    assert judged_by() == before["metrics"]


def test_sources_that_still_give_the_same_are_the_known_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = made_by("dp-markov")
    keep_versions(["dp-markov"])
    edited(
        monkeypatch, "longsynth.methods.dp_markov.settings", "MOST_LEVELS = 60", "MOST_LEVELS = 61"
    )
    assert made_by("dp-markov") == before  # no probe has so many levels


def test_sources_that_give_something_else_are_a_new_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = made_by("dp-markov, threshold 3")
    keep_versions(["dp-markov, threshold 3"])
    changed = replace(
        VARIANTS["dp-markov"]["threshold 3"], method=MarkovVariant(Rule(threshold=2.5))
    )
    monkeypatch.setitem(VARIANTS["dp-markov"], "threshold 3", changed)
    made_by.cache_clear()
    assert made_by("dp-markov, threshold 3") != before


def test_a_probe_repeats() -> None:
    for name in ("dp-markov", "trust", "bootstrap"):
        assert made_probe(variant_of(name)) == made_probe(variant_of(name))
    assert metrics_probe() == metrics_probe()


def test_one_cell_that_another_processor_rounds_differently_is_no_new_version() -> None:
    probe = [1.0] * 80
    assert versions._agree(probe, [1.0] * 78 + [1.004, 0.996])
    assert not versions._agree(probe, [1.0] * 77 + [1.004] * 3)
    assert not versions._agree(probe, [1.0] * 79 + [1.05])
    assert not versions._agree(probe, probe[:-1])
