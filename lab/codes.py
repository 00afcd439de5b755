"""How well codes from a public list are kept, for docs/schema.md: simulated medications.

python lab/codes.py --out lab/results/codes.json
"""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from longsynth import CohortFolder, Schema, fit, model_of, plan, sample, write_cohort
from longsynth.audit.marginals import codes as compared
from longsynth.reading.records import Cohort
from longsynth.schema.record import Trajectories, packed_codes

PATIENTS, CODES, CAP, SLOTS, DELTA = 20_000, 200, 20, 12, 1e-5
EPSILONS, DRAWS, METHOD = (1.0, 4.0), 5, "copula-score"
CLASSES, EVENT_RATE = 4, 0.25
MEASURES = {
    "code_prevalence_error": "share of patients with a code",
    "code_pair_error": "share with two codes",
    "code_event_error": "difference with the event",
}


def ward(codes: int = CODES, cap: int = CAP) -> Schema:
    pulse = {"name": "pulse", "kind": "continuous", "bounds": [20, 220], "bounds_from": "a monitor"}
    medications = {"name": "medications", "cap": cap, "levels": [f"M{i:03d}" for i in range(codes)]}
    return Schema.model_validate(
        {"longsynth": 1, "name": "simulated medications", "slots": SLOTS, "max_gap": 24}
        | {"group": None, "variables": [pulse], "codes": [medications]}
    )


def patients(number: int, schema: Schema, seed: int) -> Cohort:
    """Patients of a few latent classes, each with its own medications. Some are more common with
    the event; some start with the record, and some go on until its end."""
    public, rng, size = (
        np.random.default_rng(0),
        np.random.default_rng(seed),
        len(schema.code_names),
    )
    common = np.exp(public.normal(-3.6, 1.1, size)).clip(0.002, 0.4)
    profile = np.exp(public.normal(0, 0.9, (CLASSES, size)))
    with_event = np.exp(public.normal(0, 0.35, size))
    early, lasting = public.random((2, size))
    event = (rng.random(number) < EVENT_RATE).astype(np.int64)
    chance = common * (profile / profile.mean(axis=0))[rng.integers(CLASSES, size=number)]
    chance = np.where(event[:, None] == 1, chance * with_event, chance).clip(0, 0.9)
    patient, code = np.nonzero(rng.random((number, size)) < chance)
    length = rng.integers(2, SLOTS + 1, number)
    left, pieces = length[patient], rng.random((4, len(patient)))
    first = np.where(pieces[0] < early[code], 0, (pieces[1] * left).astype(np.int64))
    some = first + (pieces[3] * 3).astype(np.int64)
    last = np.where(pieces[2] < lasting[code], left - 1, np.minimum(some, left - 1))
    slots = np.arange(SLOTS)
    row, slot = np.nonzero((slots >= first[:, None]) & (slots <= last[:, None]))
    observed = slots < length[:, None]
    return Cohort(
        values=np.where(observed, rng.normal(80, 15, observed.shape), np.nan)[:, :, None],
        observed=observed[:, :, None],
        gaps=np.where(observed, rng.exponential(4, observed.shape), 0.0),
        length=length,
        group=np.zeros(number, np.int64),
        event=event,
        site=np.zeros(number, np.int64),
        codes=packed_codes(observed.shape, size, patient[row], slot, code[row]),
    )


def errors(schema: Schema, real: Trajectories, other: Trajectories) -> dict[str, float]:
    weight = getattr(other, "weight", np.ones(other.patients))
    return compared(schema, real, other)(np.ones(real.patients), weight)


def measured(folder: Path, real: Cohort, schema: Schema, epsilon: float) -> list[dict[str, Any]]:
    """Errors of a release, and of the same release if its pairs are ignored, for each draw."""
    found = []
    for draw in range(DRAWS):
        with CohortFolder(folder) as cohort:
            planned = plan(schema, cohort.patients, epsilon=epsilon, delta=DELTA, method=METHOD)
            model = model_of(fit(cohort, planned))
        assert model.codes is not None
        alone = replace(model, codes=replace(model.codes, root=np.eye(len(schema.code_names))))
        made = {"released": model, "without pairs": alone}
        found.append(
            {
                name: errors(schema, real, sample(each, real.patients, seed=draw))
                for name, each in made.items()
            }
        )
        print(epsilon, draw, found[-1], flush=True)
    return found


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out, schema = parser.parse_args().out, ward()
    real = patients(PATIENTS, schema, seed=1)
    others = [errors(schema, real, patients(PATIENTS, schema, seed=2 + i)) for i in range(DRAWS)]
    with TemporaryDirectory() as name:
        write_cohort(name, schema, [real])
        private = {f"{e:g}": measured(Path(name), real, schema, e) for e in EPSILONS}
    content: dict[str, Any] = {
        "patients": PATIENTS,
        "codes": CODES,
        "cap": CAP,
        "method": METHOD,
        "delta": DELTA,
        "draws": DRAWS,
        "other patients": others,
        "private": private,
        "peak_memory_mb": round(getrusage(RUSAGE_SELF).ru_maxrss / 1000),  # in all, with the lab
    }
    out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(section(content))


def section(content: Mapping[str, Any]) -> str:
    """The text of docs/schema.md on these results."""
    rows = {"other real patients, as many": content["other patients"]}
    for epsilon, draws in content["private"].items():
        for name, words in (("released", ""), ("without pairs", ", codes independent")):
            rows[f"ε = {epsilon}{words}"] = [draw[name] for draw in draws]
    lines = [
        f"Measured with {content['codes']} simulated medications of {content['patients']:,} "
        f"patients, a cap of {content['cap']}, `{content['method']}` and",
        f"δ = {content['delta']:g}: mean absolute errors in percentage points, and their standard "
        f"deviation over {content['draws']} draws. “Codes independent” is",
        "the same release with its pairs ignored. Reading, fitting and sampling took at most "
        f"{content['peak_memory_mb']:,} MB of memory.",
        "",
        f"| compared with the fitted patients | {' | '.join(MEASURES.values())} |",
        "|---|" + "---:|" * len(MEASURES),
    ]
    for words, draws in rows.items():
        cells = []
        for measure in MEASURES:
            values = 100 * np.array([draw[measure] for draw in draws])
            cells.append(f"{values.mean():.3f} ± {values.std(ddof=1):.3f}")
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
