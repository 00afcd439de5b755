"""Where the patients of an experiment come from, and facts about them.

LONGSYNTH_COHORTS names the folder with the open cohorts of real patients.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from longsynth.reading.cohort_folder import read_cohort
from longsynth.reading.records import Cohort
from longsynth.reading.simulation import simulate, simulated_schema
from longsynth.release.run import raw_facts
from longsynth.schema.file import dump, load_schema
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.system.errors import Refused
from longsynth_lab.errors import LabCode
from longsynth_lab.experiments import Setting
from longsynth_lab.split import blanked, split, thinned

CHECKOUT = Path(__file__).parents[2]
TRAINING = 7  # tenths of the patients


@dataclass(frozen=True, slots=True)
class OpenCohort:
    folder: str
    schema: str  # a file of the checkout
    by: Literal["seed", "id"]  # a random split for each seed, or always the same by hashed id
    as_recorded: bool = False  # the schema also says how values and first times are recorded

    def read(self) -> tuple[Schema, Cohort, list[str]]:
        """Return the schema, the patients in the order of their ids, and the ids."""
        found = folder_of_cohorts() / self.folder
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            schema = load_schema(CHECKOUT / self.schema)
            if self.as_recorded:
                schema = _as_recorded(schema, RECORDED[self.folder])
            (place / "schema.yaml").write_text(dump(schema), encoding="utf-8")
            (place / "patients.parquet").symlink_to((found / "patients.parquet").resolve())
            rows = pq.read_table(found / "observations.parquet")
            if "SysABP" in rows.column_names:  # the invasive pressure, or else the cuff's
                rows = rows.append_column("SysBP", pc.coalesce(rows["SysABP"], rows["NISysABP"]))
            pq.write_table(rows, place / "observations.parquet")
            schema, cohort = read_cohort(place)
        ids = pq.read_table(found / "patients.parquet", columns=["patient_id"])["patient_id"]
        return schema, cohort, sorted(str(i) for i in ids.to_pylist())

    def split(self, everyone: Cohort, ids: Sequence[str], seed: int) -> tuple[Cohort, Cohort]:
        """Return seven tenths to train on and three tenths to evaluate on."""
        if self.by == "id":
            digest = (int(sha256(i.encode()).hexdigest(), 16) for i in ids)
            shown = np.array([number % 10 < TRAINING for number in digest])
        else:
            order = np.random.default_rng(seed).permutation(everyone.patients)
            shown = np.zeros(everyone.patients, dtype=np.bool_)
            shown[order[: round(everyone.patients * TRAINING / 10)]] = True
        return everyone.take(np.flatnonzero(shown)), everyone.take(np.flatnonzero(~shown))


@dataclass(frozen=True, slots=True)
class Recorded:
    """How a cohort is recorded. The steps were checked against its readings, so they serve this
    comparison; a release needs them from a public source."""

    steps: Mapping[str, float]  # of readings
    first: Literal["any", "zero"] = "any"  # time of the first visit
    remark: str = ""  # what these facts leave out


RECORDED = {
    "pbc": Recorded(
        {
            "bilirubin": 0.1,
            "albumin": 0.01,
            "prothrombin_time": 0.1,
            "platelets": 1.0,
            "aspartate_aminotransferase": 0.1,
        },
        first="zero",
    ),
    "physionet2012": Recorded(
        {
            "heart_rate": 1.0,
            "systolic_bp": 1.0,
            "respiratory_rate": 1.0,
            "temperature": 0.1,
            "urine_output": 1.0,
            "creatinine": 0.1,
            "urea_nitrogen": 1.0,
            "lactate": 0.1,
            "age": 1.0,
        },
        remark="Most readings of urine output are multiples of ten, which a step of one does not "
        "describe, and three quarters of all gaps are exactly four hours long.",
    ),
}


def _as_recorded(schema: Schema, recorded: Recorded) -> Schema:
    """The schema with these facts. A slot has its last reading instead of a mean, because a mean
    is not in the steps of readings."""
    several = merges_readings(schema)
    variables = (
        v.model_copy(
            update={"resolution": recorded.steps[v.name]}
            | ({"aggregate": "last"} if several and not v.static else {})
        )
        if v.name in recorded.steps
        else v
        for v in schema.variables
    )
    time = schema.time.model_copy(update={"first": recorded.first})
    return schema.model_copy(update={"variables": tuple(variables), "time": time})


def merges_readings(schema: Schema) -> bool:
    return bool(schema.slot_rule.merge or schema.slot_rule.anchors)


def folder_of_cohorts() -> Path:
    named = os.environ.get("LONGSYNTH_COHORTS")
    if not named or not Path(named).is_dir():
        raise Refused(
            LabCode.COHORTS_MISSING,
            "The open cohorts were not found.",
            "Set LONGSYNTH_COHORTS to their folder.",
        )
    return Path(named)


OPEN_COHORTS = {
    "physionet2012": OpenCohort("physionet2012", "examples/schemas/physionet2012.yaml", "seed"),
    "physionet2012 held out": OpenCohort("physionet2012", "lab/physionet2012_eight.yaml", "id"),
    "pbc": OpenCohort("pbc", "examples/schemas/pbc.yaml", "seed"),
}
AS_RECORDED = {name: f"{name}, as recorded" for name in RECORDED}  # sources with these facts
OPEN_COHORTS |= {AS_RECORDED[n]: replace(OPEN_COHORTS[n], as_recorded=True) for n in RECORDED}

FRESH_SEED = 10_000_000  # added to a seed: a longer stream of the same seed repeats its patients
SHIFT, STRETCH = 0.75, 1.5  # how wrong public references are in the stress test


class Parts(NamedTuple):
    """Patients as one trial sees them."""

    train: Cohort  # all that a method sees
    control: Cohort  # held-out: non-members for the attacks
    judged: Cohort  # held-out: fidelity compares with these
    test: Cohort  # held-out: the downstream classifier is evaluated on these


@dataclass(frozen=True)
class Source:
    """Where patients come from, and the schema that methods are given."""

    schema: Schema
    parts: Callable[[Setting, int], Parts]  # of a setting and a seed


def source_named(name: str) -> Source:
    """Return a source of patients by name. Each is built once per process."""
    if name not in SOURCES:
        raise Refused(
            LabCode.NAME_UNKNOWN,
            f"There is no source of patients '{name}'.",
            f"Choose from {', '.join(SOURCES)}.",
        )
    return _built(name)


@cache
def _built(name: str) -> Source:
    return SOURCES[name]()


def _simulated(change: Callable[[Variable], Variable] = lambda v: v, *, factors: int = 1) -> Source:
    """The paper's population. `change` gives methods a schema that differs from the truth."""
    schema = simulated_schema()
    variables = tuple(change(variable) for variable in schema.variables)

    @lru_cache(maxsize=2)
    def parts(
        patients: int, train: int | None, extra_missing: float, fresh: int, seed: int
    ) -> Parts:
        everyone = blanked(simulate(patients, seed=seed, factors=factors), extra_missing, seed)
        if fresh:
            others = simulate(fresh, seed=FRESH_SEED + seed, factors=factors)
            others = blanked(others, extra_missing, FRESH_SEED + seed)
            return Parts(everyone, others.take(slice(0, patients)), others, others)
        shown, validation, test = split(everyone, seed)
        if train is not None:
            shown = thinned(shown, train, seed)
        held_out = Cohort.joined([validation, test])
        return Parts(shown, held_out, held_out, test)

    return Source(
        schema.model_copy(update={"variables": variables}),
        lambda s, seed: parts(s.patients, s.train, s.extra_missing, s.fresh, seed),
    )


def _wrong_reference(variable: Variable) -> Variable:
    """Move the centre up by 0.75 scales and make the scale 1.5 times as large."""
    if variable.centre is None or variable.scale is None:
        return variable
    low, high = variable.bounds
    centre = float(np.clip(variable.centre + SHIFT * variable.scale, low, high))
    return variable.model_copy(update={"centre": centre, "scale": STRETCH * variable.scale})


def _no_reference(variable: Variable) -> Variable:
    return variable.model_copy(update={"centre": None, "scale": None})


def _open(cohort: OpenCohort) -> Source:
    """Real patients. The seed chooses the split, unless a hash of the id does."""
    schema, everyone, ids = cohort.read()

    @lru_cache(maxsize=2)
    def parts(seed: int) -> Parts:
        train, rest = cohort.split(everyone, ids, seed)
        return Parts(train, rest, rest, rest)

    return Source(schema, lambda _, seed: parts(seed))


SOURCES: dict[str, Callable[[], Source]] = {
    "simulated": _simulated,
    "two factors": lambda: _simulated(factors=2),
    "wrong references": lambda: _simulated(_wrong_reference),
    "bounds only": lambda: _simulated(_no_reference),
    **{name: partial(_open, cohort) for name, cohort in OPEN_COHORTS.items()},
}

GROUPS = (0, 1)


def support_metric(site: str, group: int, counted: str) -> str:
    """Return the name of a count in the results, without its part (train or test)."""
    return f"support_{site}_group{group}_{counted}"


def support_facts(cohort: Cohort, schema: Schema) -> dict[str, float]:
    """Return patients and events of every site and group: the strata of eq:fair."""
    found = {}
    for position, site in enumerate(schema.sites):
        for group in GROUPS:
            chosen = (cohort.site == position) & (cohort.group == group)
            found[support_metric(site, group, "patients")] = float(chosen.sum())
            found[support_metric(site, group, "events")] = float(cohort.event[chosen].sum())
    return found


def clipping_facts(cohort: Cohort, schema: Schema) -> dict[str, float]:
    """Return how much the public bounds and the clip radius L clip (eq:encoding)."""
    resolved = schema.resolved(cohort.patients)
    facts = raw_facts(cohort, resolved)
    observed = facts["cells"].sum() - facts["missing"].sum()
    return {
        "clip_radius": float(resolved.resolved_constants.clip_radius),
        "clipped_patients_share": float(facts["long"].sum() / max(cohort.patients, 1)),
        "clipped_values_share": float(facts["clipped"].sum() / max(observed, 1)),
        "clipped_gaps_share": float((cohort.gaps > schema.max_gap).mean()),
    }


def partition_facts(cohort: Cohort) -> dict[str, float]:
    """Return what tab:dataset says about a set of patients."""
    return {
        "patients": float(cohort.patients),
        "event_rate": float(cohort.event.mean()),
        "group_share": float(cohort.group.mean()),
        "missing_rate": float(1 - cohort.observed.mean()),
        "mean_gap": float(np.mean(cohort.gaps)),
    }
