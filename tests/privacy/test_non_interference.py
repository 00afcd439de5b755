"""With every output of the mechanism replaced by a constant, nothing may depend on the patients.

Whatever still differs between two cohorts of one size has left by another way than the curator.
"""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.progress import Progress

from longsynth import engines as kernel
from longsynth.commands.__main__ import main
from longsynth.methods.copula_score import model as calibration
from longsynth.privacy.noise import OpenDPNoise
from longsynth.reading import parquet, session
from longsynth.reading.simulation import simulate
from longsynth.writing.cohort import write_cohort
from longsynth_lab.paper.section_v import AS_PRINTED
from privacy.unlike_cohorts import (
    NAMES,
    OTHERS,
    SCHEMA,
    UNLIKE,
    N,
    edited,
    folder_of,
    ordinary_cohorts,
    ward_cohorts,
)
from support import constant_add, write_cells

MADE = {
    "unlike": (partial(ordinary_cohorts, names=UNLIKE), "trust"),
    "others": (partial(ordinary_cohorts, names=OTHERS), "trust"),
    "ward, trust": (ward_cohorts, "trust"),
    "ward, dp-score": (ward_cohorts, "dp-score"),
    "ward, dp-markov": (ward_cohorts, "dp-markov"),
    "a few, copula-score": (partial(ordinary_cohorts, names=UNLIKE[::5]), "copula-score"),
    "ward, copula-score": (ward_cohorts, "copula-score"),
}


def run(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("sys.argv", ["longsynth", *arguments])
        main()
    printed = capfd.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


@pytest.fixture
def constant_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenDPNoise, "add", constant_add)


@pytest.fixture(autouse=True)
def short_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few simulated patients: a dozen releases are sampled from here, and none is judged."""
    monkeypatch.setattr(calibration, "FEWEST", 200)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What progress bars are told, which a terminal would show. Rows come in small batches."""
    told: list[float] = []
    monkeypatch.setattr(Progress, "advance", lambda _, task, step: told.append(step))
    for module in (parquet, session):
        monkeypatch.setattr(module, "ROWS_OF_NUMBERS", 64)
    return told


def in_full(
    arguments: list[str], folder: Path, capfd: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    """Everything that a command lets out: exit code, both streams and the files of a folder."""
    code, out, err = run(arguments, capfd)
    return {"exit code": code, "standard output": out, "standard error": err, **contents(folder)}


@pytest.mark.usefixtures("constant_mechanism")
@pytest.mark.parametrize(("made", "method"), MADE.values(), ids=MADE)
def test_nothing_but_the_mechanism_tells_two_cohorts_apart(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    steps: list[float],
    made: Callable[[Path], list[Path]],
    method: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    expected: dict[str, Any] = {}
    out, drawn = tmp_path / "run", tmp_path / "drawn"
    cohorts = made(tmp_path)
    for cohort in cohorts:
        promise = ["--epsilon", "4", "--delta", "1e-5", "--method", method]
        fitted = in_full(["fit", str(cohort), *promise, "--out", str(out)], out / "release", capfd)
        wish = ["--patients", "40", "--seed", "3", "--out", str(drawn)]
        seen = {f"fit: {what}": found for what, found in fitted.items()}
        seen["fit: progress"] = steps.copy()
        steps.clear()
        if cohort in (*cohorts[:2], cohorts[-1]):  # of the same bytes, as is asserted for all
            sampled = in_full(["sample", str(out / "release"), *wish], drawn, capfd)
            seen |= {f"sample: {what}": found for what, found in sampled.items()}
            seen["sample: progress"] = steps.copy()
            steps.clear()
        else:
            seen |= {what: expected[what] for what in expected if what.startswith("sample: ")}
        seen["log"] = caplog.text
        expected = expected or seen
        assert seen["fit: exit code"] == 0, f"a fit of '{cohort.name}' was refused"
        assert seen.keys() == expected.keys(), f"'{cohort.name}' has other files"
        telling = [what for what in seen if seen[what] != expected[what]]
        assert telling == [], f"'{cohort.name}' can be told from the others"
        out.rename(tmp_path / f"run of {cohort.name}")
        if drawn.exists():
            drawn.rename(tmp_path / f"drawn of {cohort.name}")


@pytest.mark.usefixtures("constant_mechanism")
def test_receipts_do_not_tell_two_neighbouring_cohorts_apart(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever was found, by whom, and why it was accepted: once there is a receipt, a fit lets out
    the same bytes."""
    base, out, seen, verdicts = simulate(N, seed=1), tmp_path / "run", [], []
    wild = edited(base, values=base.values.copy())
    wild.values[7] = 1e308
    for who, cohort in {"anna": base, "b": wild}.items():
        folder = tmp_path / "cohort"
        folder.mkdir()
        write_cohort(folder, SCHEMA, [cohort])
        code, told, _ = run(["check", str(folder), "--json", "--by", who], capfd)
        verdicts.append(told)
        if code:
            reason = ["--accept-problems", f"{who} looked"]
            assert run(["check", str(folder), *reason], capfd)[0] == 0
        promise = ["--epsilon", "4", "--delta", "1e-5", "--method", "trust"]
        fit = ["fit", str(folder), *promise, "--out", str(out)]
        seen.append(in_full(fit, out / "release", capfd))
        for path in (folder, out):
            path.rename(tmp_path / f"{path.name} of {who}")
    assert verdicts[0] != verdicts[1], "both checks saw the same, so this test shows nothing"
    assert seen[0]["exit code"] == 0
    assert seen[0] == seen[1]


def with_mistake(folder: Path, mistake: str, name: str) -> Path:
    """A folder with a mistake that is refused, of patients who are called by this name."""
    rows = [f"{name}{i},1,{i},18,97,{i},1,0" for i in range(3)]
    people = [f"{name}{i},1,0,B" for i in range(3)]
    header = ",".join(["patient_id", "time", *NAMES])
    match mistake:
        case "id twice":
            people.append(f"{name}2,0,0,A")
        case "no id":
            people.append(",0,0,A")
        case "nobody":
            people.clear()
    write_cells(folder, SCHEMA, header, rows, people)
    if mistake == "damaged":
        (folder / "patients.parquet").write_bytes(b"PAR1" + name.encode() * 99 + b"PAR1")
    if mistake == "text for numbers":
        table = pq.read_table(folder / "observations.parquet")
        place = table.schema.get_field_index(NAMES[0])
        cells = pa.array([name] * len(table))
        pq.write_table(table.set_column(place, NAMES[0], cells), folder / "observations.parquet")
    return folder


@pytest.mark.parametrize("mistake", ["id twice", "no id", "text for numbers", "nobody", "damaged"])
def test_a_refusal_says_the_same_whoever_the_patients_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], mistake: str
) -> None:
    said, out = set(), tmp_path / "run"
    for name in ("anna", "b"):
        folder = with_mistake(tmp_path / "cohort", mistake, name)
        promise = ["--epsilon", "4", "--delta", "1e-5"]
        said.add(run(["fit", str(folder), *promise, "--out", str(out)], capfd))
        folder.rename(tmp_path / name)
        assert not out.exists()
    assert len(said) == 1
    assert said.pop()[0] == 2


def test_a_failure_that_nobody_foresaw_says_nothing_of_the_record_at_hand(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cohort, said = folder_of(tmp_path, "cohort"), set()
    for record in ("patient 17", "pulse 191.5"):

        def stumble(*_: object, record: str = record) -> None:
            raise ValueError(f"could not convert {record}")

        monkeypatch.setattr(kernel, "add_up", stumble)
        promise = ["--epsilon", "4", "--delta", "1e-5"]
        said.add(run(["fit", str(cohort), *promise, "--out", str(tmp_path / "run")], capfd))
    assert len(said) == 1
    assert said.pop()[0] == 3


@pytest.mark.usefixtures("constant_mechanism")
@pytest.mark.parametrize(
    "settings",
    [
        {"release": "joint"},
        {"condition_gram": "released"},
        {"encoding": "reference"},
        dict(AS_PRINTED),
    ],
    ids=str,
)
def test_no_setting_opens_another_way_out(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], settings: dict[str, object]
) -> None:
    seen = set()
    for name in ("a", "bb", "ccc"):
        cohort = folder_of(tmp_path, name, **settings)
        out = tmp_path / f"{name} run"
        run(["fit", str(cohort), "--epsilon", "1", "--delta", "1e-6", "--out", str(out)], capfd)
        seen.add(repr(contents(out / "release")))
    assert len(seen) == 1


def test_the_test_itself_sees_a_leak(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without the constant, releases differ: a blind comparison would pass above for nothing."""
    seen = set()
    for name in ("a", "bb"):
        cohort = folder_of(tmp_path, name)
        out = tmp_path / f"{name} run"
        run(["fit", str(cohort), "--epsilon", "1", "--delta", "1e-6", "--out", str(out)], capfd)
        files = contents(out / "release")
        seen.add(files.pop("statistics.json"))
        files.pop("manifest.json")
        files.pop("STATEMENT.md")  # which names the fingerprint
        seen.add(repr(files))
    assert len(seen) == 3, "statistics differ, everything else is the same"
