"""The distinguishing game at the settings that the documentation shows.

python lab/game.py --out lab/results/game.json --page docs/game.md
python lab/game.py --check
"""

import json
import resource
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from longsynth.audit.game import play
from longsynth.system.origin import surroundings
from longsynth_lab.evidence.game_page import SETTINGS, Setting, game_page

NOTE = "OpenDP's noise is not seeded; a rerun differs within the standard errors"


def measured(
    setting: Setting, trials: int | None, opendp_trials: int | None, jobs: int
) -> dict[str, Any]:
    start, before = time.perf_counter(), _cpu()
    report = play(
        setting.plan(), trials=trials, opendp_trials=opendp_trials, seed=setting.seed, jobs=jobs
    )
    spent = {"wall": time.perf_counter() - start, "cpu": _cpu() - before}
    seconds = {name: round(value, 1) for name, value in spent.items()}
    print(f"{setting}: {seconds}, {'holds' if report.holds else report.failures}", flush=True)
    return {"setting": setting._asdict(), "report": _rounded(report.as_json())}


def _cpu() -> float:
    """CPU seconds of this process and of its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _rounded(content: Any) -> Any:
    if isinstance(content, float):
        return float(f"{content:.6g}")
    if isinstance(content, dict):
        return {name: _rounded(value) for name, value in content.items()}
    return [_rounded(value) for value in content] if isinstance(content, list | tuple) else content


def as_json(results: dict[str, Any]) -> str:
    """Write one row per line, so that a rerun shows as changed lines."""
    text = json.dumps(results, ensure_ascii=False, indent=1)
    for game in results["games"]:
        for part in ("rows", "spreads"):
            for row in game["report"][part]:
                long = json.dumps(row, ensure_ascii=False, indent=1).replace("\n", "\n     ")
                text = text.replace(long, json.dumps(row, ensure_ascii=False))
    return text + "\n"


def main() -> int:
    """Exit with 1 if a claim fails."""
    parser = ArgumentParser(description=__doc__)
    kept = parser.add_mutually_exclusive_group(required=True)
    kept.add_argument("--out", type=Path, help="the results, as JSON")
    kept.add_argument("--check", action="store_true", help="play and write nothing")
    parser.add_argument("--page", type=Path, help="also write the documentation page here")
    parser.add_argument("--only", help="play this method again, keep the others in --out")
    parser.add_argument("--trials", type=int, help="instead of what the game takes by itself")
    parser.add_argument("--opendp-trials", type=int, help="the same, with OpenDP's noise")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--reuse", action="store_true", help="take --out as it is, write the page")
    given = parser.parse_args()
    if given.check and (given.page or given.reuse):
        parser.error("--page and --reuse go with --out")
    if given.reuse:
        results = json.loads(given.out.read_text(encoding="utf-8"))
    else:
        before = json.loads(given.out.read_text("utf-8"))["games"] if given.only else []
        known = {str(Setting(**g["setting"])): g for g in before}
        games = [
            (s.method != given.only and known.get(str(s)))
            or measured(s, given.trials, given.opendp_trials, given.jobs)
            for s in SETTINGS
        ]
        results = {"note": NOTE, "surroundings": surroundings(), "games": games}
    if given.out and not given.reuse:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(as_json(results), encoding="utf-8")
    if given.page:
        given.page.write_text(game_page(results), encoding="utf-8")
    failed = sum(bool(game["report"]["failures"]) for game in results["games"])
    print(f"{failed} of {len(results['games'])} claims FAIL")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
