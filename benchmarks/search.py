"""Search: settings of one method against each other, on development seeds only.

The loss is a sum over metrics. The best few, and the one that stands, are judged again with seeds
or noise that had no part in choosing them.
"""

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from longsynth.benchmark.cells import Kept, Key, setting
from longsynth.benchmark.experiments import Constant
from longsynth.benchmark.making import judged, with_constants
from longsynth.benchmark.results import Results, read_results
from longsynth.benchmark.worlds import world
from longsynth.methods.method import Method

PATIENTS = 504
ADDED = ("brier", "ece", "marginal_ks", "correlation_error", "autocorrelation_error")


@dataclass(frozen=True)
class Setting:
    method: Method
    constants: tuple[Constant, ...] = ()  # of the schema, where they are not as they stand


@dataclass(frozen=True)
class Search:
    settings: Mapping[str, Setting]  # by a name that says how each differs
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
            gain, error = self.ahead(results, name)
            about = f"{gain:+.4f} ± {error:.4f} before {self.stands}"
            print(f"{self.loss(results, 'again', name):.4f} again: {name} ({about})")
        print(f"chosen: {self.chosen(results)}")

    def loss(self, results: Results, experiment: str, name: str) -> float:
        return float(self.losses(results, experiment, name).mean())

    def losses(self, results: Results, experiment: str, name: str) -> NDArray[np.float64]:
        """For each seed, the mean over budgets of five errors less AUPRC: each lies between 0 and
        about .4."""
        signs = dict.fromkeys(ADDED, 1.0) | {"auprc": -1.0}
        found = [
            [
                sign * np.asarray(results.values(experiment, name, setting(PATIENTS, e), metric))
                for metric, sign in signs.items()
            ]
            for e in self.epsilons
        ]
        return np.asarray(np.sum(found, axis=1).mean(axis=0))

    def ahead(self, results: Results, name: str) -> tuple[float, float]:
        """By how much a setting that was judged again lies before the one that stands, over the
        same patients, and the standard error of that."""
        stands = self.losses(results, "again", self.stands)
        gain = stands - self.losses(results, "again", name)
        return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))

    def chosen(self, results: Results) -> str:
        """The best of those judged again."""
        return min(results.methods("again"), key=lambda name: self.loss(results, "again", name))

    def _judge(
        self, out: Path, experiment: str, names: Iterable[str], seeds: Iterable[int]
    ) -> None:
        kept, simulated = Kept(out), world("simulated")
        for name in names:
            for epsilon in self.epsilons:
                for seed in seeds:
                    key = Key(experiment, name, setting(PATIENTS, epsilon), seed)
                    if key not in kept.done:
                        tried = self.settings[name]
                        found = judged(
                            tried.method,
                            simulated.judge,
                            simulated.train(PATIENTS, seed),
                            schema=with_constants(simulated.schema, dict(tried.constants)),
                            epsilon=epsilon,
                            seed=seed,
                            boosted=False,
                        )
                        kept.add(key, found)
