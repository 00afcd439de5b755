"""Clipping, subgroup support and attack settings of a study, as JSON files of their own."""

import json
from collections.abc import Callable
from typing import Any

from longsynth.reading.simulation import simulated_schema
from longsynth_lab.attack_settings import attack_settings
from longsynth_lab.experiments import MAIN, TRAIN_ON_REAL
from longsynth_lab.further_tables import CLIPPED
from longsynth_lab.patient_facts import GROUPS, support_metric
from longsynth_lab.results import Results

FOLDER = "records"
PARTS = ("train", "test")
ABOUT = (
    "All patients of this study are simulated, so this file may be shown to anyone. Of real "
    "patients, the same facts are raw statistics: they stay in internal/ and are never released."
)


def side_records(results: Results) -> dict[str, str]:
    """Return path → text."""
    contents: dict[str, dict[str, Any]] = {
        "clipping": {"parts": _by_seed(results, _clipping)},
        "support": {"parts": _by_seed(results, _support)},
        "attacks": {"settings": attack_settings()},
    }
    return {
        f"{FOLDER}/{name}.json": json.dumps({"about": ABOUT} | content, indent=2) + "\n"
        for name, content in contents.items()
    }


def _by_seed(
    results: Results, facts: Callable[[Results, int, str], dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {"seed": seed, "part": part} | facts(results, seed, part)
        for seed in results.seeds("dataset")
        for part in PARTS
    ]


def _clipping(results: Results, seed: int, part: str) -> dict[str, Any]:
    return {fact: _fact(results, seed, f"{part}_{fact}") for fact in CLIPPED}


def _support(results: Results, seed: int, part: str) -> dict[str, Any]:
    return {
        "strata": [
            {"site": site, "group": group}
            | {
                counted: _fact(results, seed, f"{part}_{support_metric(site, group, counted)}")
                for counted in ("patients", "events")
            }
            for site in simulated_schema().sites
            for group in GROUPS
        ]
    }


def _fact(results: Results, seed: int, metric: str) -> float | None:
    return results.by_seed("dataset", TRAIN_ON_REAL, MAIN, metric).get(seed)
