"""Write the table of docs/choose-epsilon.md: what the best possible attacker gains at each ε.

python tools/site/best_attacker.py [--check]
"""

import re
import sys
from pathlib import Path

from longsynth.privacy.budget import Budget
from longsynth.release.statement import Attacker, odds_in_words

PAGE = Path(__file__).parents[2] / "docs/choose-epsilon.md"
EPSILONS, DELTA = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0), 1e-5
MARKED = re.compile(
    r"(<!-- generated: best-attacker -->\n).*?(<!-- end of best-attacker -->)", re.S
)


def table() -> str:
    lines = [
        "| ε, at δ = 10⁻⁵ | area under the ROC curve (chance 0.5) | patients found at 1 % false "
        "alarms (chance 1 %) | odds move by at most a factor of |",
        "|---|---|---|---|",
    ]
    for epsilon in EPSILONS:
        auc, found = Attacker.against(Budget(epsilon, DELTA).rho).shown()
        lines.append(f"| {epsilon:g} | {auc} | {found} | {odds_in_words(epsilon)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    text = PAGE.read_text("utf-8")
    written, times = MARKED.subn(lambda found: found[1] + table() + found[2], text)
    if times != 1:
        raise SystemExit(f"{PAGE.name} has no place for the table.")
    if "--check" in sys.argv:
        return int(written != text)
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
