"""Kill commands at random moments and look at what is left. `make nightly` runs many kills.

    python tests/atomic/kill_campaign.py --kills 200

After each kill: the target is absent or whole; after SIGINT, SIGTERM and SIGHUP nothing else is
left, in the temporary folder neither, and one sentence says how to go on; after SIGKILL what is
left is for its owner only. Then, one time in four and wherever something was left, the same command
is run to its end. A study is killed and resumed until it is done. Exits with 1 if any of it fails.
"""

import argparse
import collections
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from atomic.outputs import SMALL, WHOLE, Work, cleared, commands, prepare, run, start
from longsynth.commands.exit import RUN_AGAIN

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


@dataclass(slots=True)
class Campaign:
    work: Work
    patients: int
    rng: np.random.Generator
    seconds: dict[str, float] = field(default_factory=dict)
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    slowest: float = 0.0  # from a signal to the end
    wrong: list[str] = field(default_factory=list)

    def time(self) -> None:
        """How long each command takes: where the moments are drawn from."""
        for name, command in commands(self.work, self.patients).items():
            out = cleared(self.work.folder / "timed") / "out"
            before = time.monotonic()
            run(*command, "--out", out)
            self.seconds[name] = time.monotonic() - before
            assert WHOLE[name](self.work, out, self.patients), name

    def kill(self, name: str, number: signal.Signals) -> None:
        place, tmp = cleared(self.work.folder / "place"), cleared(self.work.folder / "tmp")
        out, command = place / "out", commands(self.work, self.patients)[name]
        child = start(*command, "--out", out, TMPDIR=tmp)
        moment = float(self.rng.uniform(0.1, 1.05)) * self.seconds[name]
        time.sleep(moment)
        before = time.monotonic()
        if child.poll() is None:
            self._send(child.pid, number)
        _, said = child.communicate(timeout=300)
        self.slowest = max(self.slowest, time.monotonic() - before)
        label = f"{name} {number.name} after {moment:.2f} s"
        problems = list(self._look(name, number, child.returncode, said, place, tmp))
        left = bool([p for p in place.iterdir() if p != out])
        if not out.exists() and (left or self.rng.random() < 0.25):
            run(*command, "--out", out, TMPDIR=tmp)
            self.counts["run again"] += 1
            if [p.name for p in place.iterdir()] != ["out"]:
                problems.append("the same command did not clear up")
            if not WHOLE[name](self.work, out, self.patients):
                problems.append("the same command did not work")
        self.wrong += [f"{label}: {problem}; it said: {said!r}" for problem in problems]

    def _send(self, pid: int, number: signal.Signals) -> None:
        """To the process, or to its group as a terminal would."""
        if self.rng.random() < 0.5:
            os.kill(pid, number)
        else:
            os.killpg(pid, number)

    def _look(
        self, name: str, number: int, code: int, said: str, place: Path, tmp: Path
    ) -> "collections.abc.Iterator[str]":
        out = place / "out"
        left = [p for p in place.iterdir() if p != out]
        if out.exists() and not WHOLE[name](self.work, out, self.patients):
            yield "half of it stands at the target"
        if number == signal.SIGKILL:
            self.counts["killed, scratch left" if left else "killed, nothing left"] += 1
            for path in [*left, *tmp.iterdir()]:
                if path.stat().st_mode & 0o077:
                    yield f"others can read {path.name}"
            return
        if left or list(tmp.iterdir()):
            yield f"left behind: {[p.name for p in [*left, *tmp.iterdir()]]}"
        if code == 0:
            self.counts["finished before"] += 1
            if not out.exists():
                yield "done, but nothing is there"
            return
        if code != -number:
            yield f"exit code {code}"
        if not said.startswith("longsynth: "):  # our handlers are not, or no longer, in place
            self.counts[f"stopped while Python was {'ending' if out.exists() else 'starting'}"] += 1
            if "Traceback" in said and (out.exists() or "KeyboardInterrupt" not in said):
                yield "stopped with a traceback"
            return
        self.counts["interrupted, target whole" if out.exists() else "interrupted"] += 1
        if said.count("\n") != 1 or not ("run the same command" in said or "is whole" in said):
            yield "not one sentence on how to go on"
        if RUN_AGAIN not in said and out.exists() != ("is whole" in said):
            yield "the sentence is wrong about the target"


def study(folder: Path, kills: int, rng: np.random.Generator, jobs: int) -> list[str]:
    """Kill a miniature of the paper's study and resume it until it is done."""
    out, wrong = folder / "study", list[str]()
    tmp, kept = cleared(folder / "tmp"), dict[str, bytes]()
    for turn in range(1000):
        wanted = ("paper", "--out", out, "--jobs", jobs, "--resume")
        child = start(*wanted, script=SMALL, TMPDIR=tmp)
        number = SIGNALS[turn % len(SIGNALS)]
        if turn < kills:
            time.sleep(float(rng.uniform(1, 5)))
            if child.poll() is None:
                (os.kill if rng.random() < 0.5 else os.killpg)(child.pid, number)
        printed, said = child.communicate(timeout=1200)
        if number == signal.SIGKILL:
            time.sleep(1.5)  # its processes notice
            cleared(tmp)
        cells = {p.name: p.read_bytes() for p in out.glob("cells/*.parquet")}
        wrong += [f"a finished cell changed: {n}" for n, b in kept.items() if cells.get(n) != b]
        kept = cells
        if child.returncode == 0:
            print(f"study: done after {turn} kills, {len(cells)} cells; {printed.splitlines()[0]}")  # noqa: T201
            return wrong
        if turn >= kills:
            return [*wrong, f"study: exit code {child.returncode}: {said}"]
        partial = [p.name for p in out.rglob("*.partial")] if out.exists() else []
        if number != signal.SIGKILL:
            if partial or list(tmp.iterdir()):
                wrong.append(
                    f"study: left behind after {number.name}: {partial} {list(tmp.iterdir())}"
                )
            told = said.startswith("longsynth: ") and said.count("\n") == 1 and "--resume" in said
            if child.returncode != -number or not (told or not cells):
                wrong.append(f"study: {number.name}: exit code {child.returncode}: {said}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--study-kills", type=int, default=12)
    parser.add_argument("--patients", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    with tempfile.TemporaryDirectory(prefix="kill-campaign-") as folder:
        campaign = Campaign(prepare(Path(folder), chosen.patients), chosen.patients, rng)
        campaign.time()
        names = list(campaign.seconds)
        for turn in range(chosen.kills):
            campaign.kill(names[turn % len(names)], SIGNALS[turn // len(names) % len(SIGNALS)])
            if turn % 20 == 19:
                print(f"{turn + 1} kills, {len(campaign.wrong)} wrong", flush=True)  # noqa: T201
        for what, count in sorted(campaign.counts.items()):
            print(f"{count:5} {what}")  # noqa: T201
        print(f"{campaign.slowest:.1f} s from a signal to the end, at most")  # noqa: T201
        wrong = campaign.wrong
        if chosen.study_kills:
            wrong = wrong + study(Path(folder), chosen.study_kills, rng, jobs=2)
    for problem in wrong:
        print(f"WRONG {problem}")  # noqa: T201
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
