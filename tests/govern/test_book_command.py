"""`longsynth budget` as a data steward uses it: what is printed, and the exit codes."""

import json
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from govern.book_support import CAP, share
from longsynth.commands.__main__ import main
from longsynth.govern.book import Book
from longsynth.privacy.budget import epsilon_of
from longsynth.release.statement import rounded_up


class Done(NamedTuple):
    code: int
    out: str
    err: str


def budget(*arguments: object) -> Done:
    """Run the command as the shell does, but in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["longsynth", "budget", *map(str, arguments)])
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as ending:
            main()
    return Done(ending.value.code or 0, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book made by the commands alone, but for its one charge."""
    path = tmp_path_factory.mktemp("steward") / "owner.book"
    promise = ["--epsilon", 12, "--delta", 1e-5, "--accounting", "zcdp"]
    for step in (
        ["init", path, "--owner", "the hospital"],
        ["grant", path, "--dataset", "all wards", *promise],
        ["grant", path, "--dataset", "ward A", *promise, "--parent", "all wards"],
    ):
        done = budget(*step)
        assert done.code == 0, done.err
        assert done.err == ""
        assert "Next: longsynth" in done.out
        assert Book(path).read().head in done.out
    assert "may cost ρ = 2.40206, also charged to 'all wards'" in done.out
    Book(path).charge("ward A", share(3), method="trust")
    return path


def test_show_prints_caps_totals_entries_and_the_head(path: Path) -> None:
    done = budget("show", path)
    assert done.code == 0, done.err
    for phrase in (
        "of the hospital",
        "└ ward A",
        "ε 12, δ 1e-05, zcdp",
        "2.40206",
        "0.800685",
        "1.60137",
        rounded_up(epsilon_of(CAP.rho / 3, 1e-5, "zcdp")),
        "trust",
        Book(path).read().head,
    ):
        assert phrase in done.out


def test_show_as_json_is_exact(path: Path) -> None:
    found = json.loads(budget("show", path, "--json").out)
    assert found["head"] == found["entries"][-1]["hash"]
    assert [entry["event"] for entry in found["entries"]] == ["init", "grant", "grant", "charge"]
    for dataset in found["datasets"]:
        assert dataset["cap_rho"] == str(CAP.rho)
        assert dataset["spent_rho"] == str(CAP.rho / 3)
        assert dataset["left_rho"] == str(CAP.rho * 2 / 3)
        assert dataset["fits"] == 1


def test_verify_prints_the_head_and_ends_with_0_or_1(path: Path, tmp_path: Path) -> None:
    heads = Book(path).read().hashes
    done = budget("verify", path, "--head", heads[0], "--head", heads[-1])
    assert done.code == 0, done.out
    assert "FAIL" not in done.out
    assert f"the head after entry 4 is {heads[-1]}" in done.out
    done = budget("verify", path, "--head", "0" * 64)
    assert done.code == 1
    assert "FAIL head 000000000000… is NOT in the book" in done.out
    forged = tmp_path / "forged"
    for old, dear in ((forged, 1000), (tmp_path / "true", 3)):  # two ways on from one state
        shutil.copy(path, old)
        Book(old).charge("ward A", share(dear))
    done = budget("verify", forged, "--head", Book(tmp_path / "true").read().head)
    assert done.code == 1
    assert "is NOT in the book: entries were removed or rewritten" in done.out
    cut = tmp_path / "cut"
    cut.write_bytes(path.read_bytes()[:5000])
    done = budget("verify", cut)
    assert done.code == 1
    assert done.out.startswith("FAIL")
    assert done.err == ""


@pytest.mark.parametrize(
    ("arguments", "refusal_code"),
    [
        (["init", "BOOK"], "output-exists"),
        (["init", "FOLDER/new", "--owner", "a|b"], "name-unusable"),
        (["grant", "BOOK", "--dataset", "ward A"], "cap-fixed"),
        (["grant", "BOOK", "--dataset", "b", "--parent", "c"], "dataset-unknown"),
        (["grant", "FOLDER/none", "--dataset", "b"], "file-missing"),
        (["show", "FOLDER"], "book-unusable"),
        (["verify", "FOLDER/none"], "file-missing"),
        (["verify", "BOOK", "--head", "latest"], "head-malformed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_refusal_is_one_sentence_and_exit_code_2(
    path: Path, arguments: list[str], refusal_code: str
) -> None:
    before = path.read_bytes()
    real = [a.replace("BOOK", str(path)).replace("FOLDER", str(path.parent)) for a in arguments]
    done = budget(*real, *(["--epsilon", 4, "--delta", 1e-6] if real[0] == "grant" else []))
    assert done.code == 2
    assert f"[{refusal_code}]" in done.err
    assert done.err.startswith("longsynth: ")
    assert done.err.count("\n") == 1
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]
