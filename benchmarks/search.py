"""Search: settings of one method against each other, on development seeds only.

The loss is a sum over metrics. The best few, and the one that stands, are judged again on seeds
that had no part in choosing them.
"""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from longsynth.benchmark.cells import Kept, Key, setting
from longsynth.benchmark.making import judged
from longsynth.benchmark.results import Results, read_results
from longsynth.benchmark.worlds import world
from longsynth.methods.method import Method

PATIENTS = 504
ADDED = ("brier", "ece", "marginal_ks", "correlation_error", "autocorrelation_error")


@dataclass(frozen=True)
class Search:
    settings: Mapping[str, Method]  # by a name that says how each differs
    stands: str  # the one that is there already
    epsilons: tuple[float, ...]
    seeds: tuple[int, ...]
    again: tuple[int, ...]  # to judge the chosen
    best: int

    def main(self, about: str | None) -> None:
        """The command of a script that says what it searches for."""
        parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
        parser.add_argument("--out", type=Path, required=True, help="the result file")
        self.run(parser.parse_args().out)

    def run(self, out: Path) -> None:
        """Judge what the file does not have yet, and print the losses."""
        with threadpool_limits(limits=1):
            self._judge(out, "search", self.settings, self.seeds)
            ranked = sorted(self.settings, key=lambda n: self.loss(read_results(out), "search", n))
            chosen = dict.fromkeys((*ranked[: self.best], self.stands))
            self._judge(out, "again", chosen, self.again)
        results = read_results(out)
        for name in ranked:
            print(f"{self.loss(results, 'search', name):.4f} {name}")
        for name in chosen:
            print(f"{self.loss(results, 'again', name):.4f} again: {name}")

    def loss(self, results: Results, experiment: str, name: str) -> float:
        """The mean over budgets of five errors less AUPRC: each lies between 0 and about .4."""
        found = []
        for epsilon in self.epsilons:
            label = setting(PATIENTS, epsilon)
            mean = {
                metric: float(np.mean(results.values(experiment, name, label, metric)))
                for metric in (*ADDED, "auprc")
            }
            found.append(sum(mean[metric] for metric in ADDED) - mean["auprc"])
        return float(np.mean(found))

    def _judge(
        self, out: Path, experiment: str, names: Iterable[str], seeds: Iterable[int]
    ) -> None:
        kept, simulated = Kept(out), world("simulated")
        for name in names:
            for epsilon in self.epsilons:
                for seed in seeds:
                    key = Key(experiment, name, setting(PATIENTS, epsilon), seed)
                    if key not in kept.done:
                        train = simulated.train(PATIENTS, seed)
                        found = judged(
                            self.settings[name],
                            simulated.judge,
                            train,
                            epsilon=epsilon,
                            seed=seed,
                            boosted=False,
                        )
                        kept.add(key, found)
