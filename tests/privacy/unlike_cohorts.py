"""Cohorts of one size as unlike each other as files allow: what they share is N and the schema."""

from pathlib import Path

import numpy as np

from longsynth import simulated_schema
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate
from longsynth.schema.file import dump
from longsynth.writing.cohort import write_cohort
from support import receipt_for, write_cells, write_checked
from ward import STATIC, ward_cohort, ward_schema

N = 60
SCHEMA = simulated_schema()
NAMES = [v.name for v in SCHEMA.variables]
UNLIKE = ("typical", "no rows", "wild", "one stratum", "messy", "crowded")
OTHERS = ("typical", "all missing", "one slot", "not finite", "nan", "huge gaps", "negative time")


def folder_of(tmp: Path, name: str, **settings: object) -> Path:
    folder = tmp / name
    folder.mkdir()
    constants = SCHEMA.constants.model_copy(update=settings)
    schema = SCHEMA.model_copy(update={"constants": constants})
    write_checked(folder, schema, [simulate(N, seed=len(name))])
    return folder


def edited(cohort: Cohort, **changes: np.ndarray) -> Cohort:
    return Cohort(**{n: changes.get(n, getattr(cohort, n)) for n in Cohort.__slots__})


def ordinary_cohorts(tmp: Path, names: tuple[str, ...]) -> list[Path]:
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
    for name in (n for n in names if n in variants):
        (tmp / name).mkdir()
        write_checked(tmp / name, SCHEMA, [variants[name]])
    header = ",".join(["patient_id", "time", *NAMES])
    people = [f"{i},1,0,B" for i in range(N)]
    messy = [f"{i % N},{i // N},{'x' * (i % 7)},inf,-inf,nan,1e999,\x00" for i in range(5 * N)]
    write_cells(tmp / "messy", SCHEMA, header, messy, people)
    odd = [f"{i},?,unknown,{('elsewhere', chr(255))[i % 2]}" for i in range(N)]
    crowd = [f"0,{t},80,18,97,3,1,0" for t in range(3000)] + ["ghost,1,1,1,1,1,1,1", '3,1,"80']
    crowd += ["4,never,80,18,97,3,1,0"]
    write_cells(tmp / "crowded", SCHEMA, header, crowd, odd)
    return [tmp / name for name in names]


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
        folders.append(receipt_for(folder))
    header = ",".join(["patient_id", "time", "pulse", "dose", "oxygen", "rhythm"])
    odd = [f"{i % N},{i / 7},{i},?,yes,{'sinus' * (i % 3)}" for i in range(4 * N)]
    people = [f"{i},{i % 2},1,B,{i},f,\xff{'O' * (i % 2)}" for i in range(N)]
    about = "patient_id,group,event,site,age,sex,blood"
    folders.append(write_cells(tmp / "odd levels", schema, header, odd, people, about))
    few = [f"{i},,,,,," for i in range(N)]
    folders.append(write_cells(tmp / "empty cells", schema, header, [], few, about))
    return folders
