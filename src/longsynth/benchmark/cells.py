"""Cells of the flagship's experiments: one method, size, budget and seed each, kept in one file."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from longsynth.benchmark.experiments import BASE_RATE, REFERENCES, TRAIN_ON_REAL, Constant
from longsynth.benchmark.judging import Metrics
from longsynth.benchmark.making import judged, with_constants
from longsynth.benchmark.results import Row, table_of, write_whole
from longsynth.benchmark.worlds import world
from longsynth.methods.method import Method, PrivateMethod
from longsynth.methods.registry import method_named

WITHOUT_BUDGET = 0.0  # ε of what keeps no promise
VARIANTS: dict[str, Method] = {}  # by name: methods that are not in the registry


class Key(NamedTuple):
    """What tells cells apart in a result file."""

    experiment: str
    method: str
    setting: str
    seed: int


@dataclass(frozen=True, slots=True)
class Cell:
    world: str
    method: str
    patients: int
    epsilon: float
    seed: int
    constants: tuple[Constant, ...] = ()
    name: str = ""  # of a variant; else the method's own
    experiment: str = ""  # what the results call it; else the world
    times: int = 1  # synthetic patients for each training patient

    @property
    def key(self) -> Key:
        said = ", ".join(f"{name}={value}" for name, value in self.constants)
        label = self.name or (f"{self.method} ({said})" if said else self.method)
        return Key(
            self.experiment or self.world, label, setting(self.patients, self.epsilon), self.seed
        )


def setting(patients: int, epsilon: float) -> str:
    """The label of a size and a budget."""
    return f"{patients} / {epsilon:g}"


def cells(
    world: str,
    methods: Iterable[str],
    patients: Iterable[int],
    epsilons: Iterable[float],
    seeds: Iterable[int],
    **more: Any,
) -> Iterator[Cell]:
    """Yield every cell of a grid; what has no budget stands once. `more` is for methods only."""
    listed, budgets, drawn = list(methods), list(epsilons), list(seeds)
    for number in patients:
        for method in listed:
            plain = {"experiment": more.get("experiment", "")}
            for epsilon in budgets if _has_budget(method) else [WITHOUT_BUDGET]:
                for seed in drawn:
                    given = plain if method in REFERENCES else more
                    yield Cell(world, method, number, epsilon, seed, **given)


def method_of(name: str) -> Method:
    """A variant that a script has named, or a method of the registry."""
    return VARIANTS.get(name) or method_named(name)


def _has_budget(name: str) -> bool:
    return name not in REFERENCES and isinstance(method_of(name), PrivateMethod)


def measured(cell: Cell, *, boosted: bool = True) -> Metrics:
    """Run one cell."""
    found = world(cell.world)
    train, judge = found.train(cell.patients, cell.seed), found.judge_of(cell.seed)
    if cell.method == BASE_RATE:
        return judge.base_rate(train)
    if cell.method == TRAIN_ON_REAL:
        return judge.metrics(train, boosted=boosted)
    schema = with_constants(found.schema, dict(cell.constants)) if cell.constants else found.schema
    return judged(
        method_of(cell.method),
        judge,
        train,
        schema=schema,
        epsilon=cell.epsilon,
        seed=cell.seed,
        times=cell.times,
        boosted=boosted,
    )


class Kept:
    """A result file that grows cell by cell and is whole after each of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._table = pq.read_table(path) if path.exists() else table_of([], Row)
        columns = [self._table[name].to_pylist() for name in Key._fields]
        self.done = {Key(*found) for found in zip(*columns, strict=True)}

    def add(self, key: Key, metrics: Metrics) -> None:
        rows = [
            Row(key.experiment, key.method, key.seed, key.setting, metric, float(value))
            for metric, value in metrics.items()
        ]
        self._table = pa.concat_tables([self._table, table_of(rows, Row)])
        write_whole(self._path, self._table)
        self.done.add(key)
