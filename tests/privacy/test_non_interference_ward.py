"""With every output of the mechanism replaced by a constant, nothing may depend on the patients.

Whatever still differs between two cohorts of one size has left by another way than the curator.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from longsynth import simulated_schema
from longsynth.cli import main
from longsynth.io.writer import write_cohort
from longsynth.privacy.noise import OpenDPNoise
from longsynth.records import Cohort
from longsynth.schema import Schema
from longsynth.schema_file import dump
from longsynth.simulate import simulate
from support import constant_add
from ward import STATIC, ward_cohort, ward_schema

N = 60
SCHEMA = simulated_schema()
NAMES = [v.name for v in SCHEMA.variables]


def folder_of(tmp: Path, name: str, **settings: object) -> Path:
    folder = tmp / name
    folder.mkdir()
    constants = SCHEMA.constants.model_copy(update=settings)
    schema = SCHEMA.model_copy(update={"constants": constants})
    write_cohort(folder, schema, [simulate(N, seed=len(name))])
    return folder


def as_csv(
    folder: Path,
    header: str,
    lines: list[str],
    people: list[str],
    schema: Schema = SCHEMA,
    about: str = "patient_id,group,event,site",
) -> Path:
    folder.mkdir()
    (folder / "schema.yaml").write_text(dump(schema))
    (folder / "observations.csv").write_text("\n".join([header, *lines]) + "\n")
    (folder / "patients.csv").write_text("\n".join([about, *people]) + "\n")
    return folder


def edited(cohort: Cohort, **changes: np.ndarray) -> Cohort:
    return Cohort(**{n: changes.get(n, getattr(cohort, n)) for n in Cohort.__slots__})


def cohorts(tmp: Path) -> list[Path]:
    """Patients as unlike each other as files allow, all with the same number of patients."""
    base = simulate(N, seed=1)
    full = np.ones_like(base.observed)
    variants = {
        "typical": base,
        "all missing": edited(base, observed=~full),
        "no rows": edited(base, length=np.zeros(N, np.int64)),
        "one slot": edited(base, length=np.ones(N, np.int64)),
        "wild": edited(base, values=np.full_like(base.values, 1e308), observed=full),
        "not finite": edited(base, values=np.full_like(base.values, -np.inf), observed=full),
        "nan": edited(base, values=np.full_like(base.values, np.nan), observed=full),
        "one stratum": edited(base, group=base.group * 0 + 1, event=base.event * 0 + 1),
        "huge gaps": edited(base, gaps=np.full_like(base.gaps, 1e307)),
        "negative time": edited(base, gaps=-base.gaps),
    }
    folders = []
    for name, cohort in variants.items():
        folder = tmp / name
        folder.mkdir()
        write_cohort(folder, SCHEMA, [cohort])
        folders.append(folder)
    header = ",".join(["patient_id", "time", *NAMES])
    people = [f"{i},1,0,B" for i in range(N)]
    messy = [f"{i % N},{i // N},{'x' * (i % 7)},inf,-inf,nan,1e999,\x00" for i in range(5 * N)]
    folders.append(as_csv(tmp / "messy csv", header, messy, people))
    odd = [f"{i},?,unknown,\xff" for i in range(N)]
    crowd = [f"0,{t},80,18,97,3,1,0" for t in range(3000)] + ["ghost,1,1,1,1,1,1,1", '3,1,"80']
    folders.append(as_csv(tmp / "crowded csv", header, crowd, odd))
    return folders


def ward_cohorts(tmp: Path) -> list[Path]:
    """The same with static and nominal columns, text levels and a slot rule."""
    schema = ward_schema(slot_rule={"anchors": ["pulse"], "merge": 4.0, "horizon": 60.0})
    base = ward_cohort(N, seed=1)
    nothing = np.zeros_like(base.observed)
    static_only = np.where(STATIC, base.observed, False)
    full = np.full(N, base.gaps.shape[1])
    every = np.where(STATIC, np.arange(base.gaps.shape[1])[:, None] == 0, True) | nothing
    zeros = np.zeros_like(base.values)
    variants = {
        "ward": base,
        "other ward": ward_cohort(N, seed=2, events=0.9),
        "nothing known": edited(base, observed=nothing, length=full * 0),
        "nobody has a row": edited(base, observed=static_only, length=full * 0),
        "no anchor": edited(base, observed=base.observed & (np.arange(len(STATIC)) != 3)),
        "all slots": edited(base, observed=every, values=zeros + 1, length=full),
        "first levels": edited(base, observed=every, values=zeros, length=full, event=full * 0),
        "late": edited(base, gaps=base.gaps + 100),
        "wild": edited(base, observed=every, values=zeros + 1e308, length=full),
    }
    folders = []
    for name, cohort in variants.items():
        folder = tmp / name
        folder.mkdir()
        write_cohort(folder, schema, [cohort])
        (folder / "schema.yaml").write_text(dump(schema))
        folders.append(folder)
    header = ",".join(["patient_id", "time", "pulse", "dose", "oxygen", "rhythm"])
    odd = [f"{i % N},{i / 7},{i},?,yes,{'sinus' * (i % 3)}" for i in range(4 * N)]
    people = [f"{i},{i % 2},1,B,{i},f,\xff{'O' * (i % 2)}" for i in range(N)]
    about = "patient_id,group,event,site,age,sex,blood"
    folders.append(as_csv(tmp / "odd levels", header, odd, people, schema, about))
    few = [f"{i},,,,,," for i in range(N)]
    folders.append(as_csv(tmp / "empty cells", header, [], few, schema, about))
    return folders


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


@pytest.mark.usefixtures("constant_mechanism")
@pytest.mark.parametrize(
    ("made", "method"),
    [(cohorts, "trust"), *((ward_cohorts, name) for name in ("trust", "dp-score", "dp-markov"))],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_nothing_but_the_mechanism_tells_two_cohorts_apart(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    made: Callable[[Path], list[Path]],
    method: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = set()
    out = tmp_path / "run"
    promise = ["--epsilon", "4", "--delta", "1e-5", "--method", method]
    for cohort in made(tmp_path):
        printed = run(["fit", str(cohort), *promise, "--out", str(out)], capfd)
        assert printed[0] == 0
        released = contents(out / "release")
        sampled = run(
            [
                "sample",
                str(out / "release"),
                "--patients",
                "40",
                "--seed",
                "3",
                "--out",
                str(tmp_path / "drawn"),
            ],
            capfd,
        )
        drawn = contents(tmp_path / "drawn")
        seen.add(repr((printed, released, sampled, drawn, caplog.text)))
        out.rename(tmp_path / f"run of {cohort.name}")
        (tmp_path / "drawn").rename(tmp_path / f"drawn of {cohort.name}")
    assert len(seen) == 1


@pytest.mark.usefixtures("constant_mechanism")
@pytest.mark.parametrize(
    "settings",
    [{"release": "joint"}, {"condition_gram": "released"}, {"encoding": "reference"}],
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
