"""What the noise check of `verify` detects and how often it errs, for docs/signing.md.

python lab/noise_check.py --out lab/results/noise_check.json
"""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import smirnov

from longsynth import plan, simulate, simulated_schema
from longsynth.release.noise_check import UNUSUAL, check_noise
from longsynth_lab.forgery import FORGERIES, Exposed, exposed

METHODS = ("trust", "dp-score", "dp-markov", "copula-score")
PATIENTS, EPSILON, DELTA = 720, 4.0, 1e-5
HONEST, TRIES, TRIES_ON_A_LINE = 2000, 20, 5


def measured(method: str) -> dict[str, Any]:
    schema = simulated_schema()
    planned = plan(schema, PATIENTS, epsilon=EPSILON, delta=DELTA, method=method)
    scene = exposed(simulate(PATIENTS, seed=3), planned, seed=1)
    rng = np.random.default_rng(7)
    found = {"honest": _honest(scene, rng), "forged": {}}
    for name, forgery in FORGERIES.items():
        whole = [_outcome(scene.release(rng, forgery), scene) for _ in range(TRIES)]
        lines = {
            line: sum(
                _outcome(scene.release(rng, forgery, line), scene) == "impossible"
                for _ in range(TRIES_ON_A_LINE)
            )
            for line in scene.sums
        }
        found["forged"][name] = {"rejected": whole.count("impossible"), "by_line": lines}
        print(method, name, found["forged"][name], flush=True)
    return found


def _outcome(bundle: Any, scene: Exposed) -> str:
    return check_noise(bundle, tuple(scene.plan.method.facts(scene.plan.schema))).outcome


def _honest(scene: Exposed, rng: np.random.Generator) -> dict[str, Any]:
    """How often honest noise is suspected, and whether any test's chances are too small."""
    facts = tuple(scene.plan.method.facts(scene.plan.schema))
    checks = [check_noise(scene.release(rng), facts) for _ in range(HONEST)]
    chances = np.sort([[t.chance for t in c.tests] for c in checks], axis=0)
    above = (np.arange(1, HONEST + 1) / HONEST)[:, None] - chances  # beyond uniform
    return {
        "releases": HONEST,
        "tests": len(checks[0].tests),
        "rejected": sum(c.outcome == "impossible" for c in checks),
        "unusual": sum(c.outcome == "unusual" for c in checks),
        "expected_unusual_at_most": HONEST * UNUSUAL,
        "least_chance": min(c.chance for c in checks),
        "at_most_half": sum(c.chance <= 0.5 for c in checks),
        "at_most_a_tenth": sum(c.chance <= 0.1 for c in checks),
        "least_p_of_uniformity": float(smirnov(HONEST, max(above.max(), 0.0))),
    }


def section(content: dict[str, Any]) -> str:
    """The text of docs/signing.md on these results."""
    methods, tries = content["methods"], content["tries"]
    honest = [found["honest"] for found in methods.values()]
    rejected, unusual = (sum(h[what] for h in honest) for what in ("rejected", "unusual"))
    releases = sum(h["releases"] for h in honest)
    rows = [
        f"Measured with {content['patients']:,} simulated patients at ε = {content['epsilon']:g}: "
        f"of {releases:,} honest releases, {rejected} were rejected and {unusual} were reported",
        f"as unusual. Each cell shows the share of {tries} forged releases that were rejected when "
        "all lines were forged, and then the number",
        "of lines for which forging only that line was rejected most of the time.",
        "",
        "| forged | " + " | ".join(f"`{m}`" for m in methods) + " |",
        "|---|" + "---:|" * len(methods),
    ]
    for name in FORGERIES:
        cells = []
        for found in methods.values():
            forged = found["forged"][name]
            seen = sum(2 * k > content["tries_on_a_line"] for k in forged["by_line"].values())
            percent = 100 * forged["rejected"] / tries
            cells.append(f"{percent:.0f} %; {seen} of {len(forged['by_line'])} lines")
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    content: dict[str, Any] = {
        "patients": PATIENTS,
        "epsilon": EPSILON,
        "delta": DELTA,
        "tries": TRIES,
        "tries_on_a_line": TRIES_ON_A_LINE,
        "methods": {method: measured(method) for method in METHODS},
    }
    out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(section(content))


if __name__ == "__main__":
    main()
