"""Every engine gives the same integers before noise, for every private method.

The engines: patients in memory in batches of any size, a folder on this machine, Spark on this
machine, and a Spark cluster of two workers of which one dies in the middle of the work.
"""

import pickle  # noqa: TID251  what Spark would send, compared and thrown away
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from contracts.engine_cohorts import Indiscreet, Slowly, odd_folder, odd_schema
from leaks.planted import write_parquet
from leaks.sentinels import found_in
from longsynth import CohortError, CohortFolder, SparkCohort, fit, plan, read_cohort
from longsynth.engines import Contributions
from longsynth.methods.method import PrivateMethod, contributions
from longsynth.methods.registry import METHODS, private_method
from longsynth.plan import Plan
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Sums
from longsynth.reading.records import Cohort
from longsynth.release.run import Watched, cohort_notes, raw_facts
from spark_sessions import Cluster, Sessions, cluster
from support import NoNoise

pytestmark = pytest.mark.xdist_group("spark")
SETTINGS = {  # of the cluster
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "1s",
}
PRIVATE = [name for name, method in METHODS.items() if isinstance(method, PrivateMethod)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_folder(tmp_path_factory.mktemp("odd") / "cohort")


@pytest.fixture(scope="module")
def plans(folder: Path) -> dict[str, Plan]:
    with CohortFolder(folder) as known:
        promise = {"epsilon": 4.0, "delta": 1e-4}
        return {m: plan(known.schema, known.patients, **promise, method=m) for m in PRIVATE}  # type: ignore[arg-type]


def digest(source: Any, planned: Plan) -> str:
    """Of every integer that a fit would add noise to; a pass sees what those before it gave."""
    return fit(source, planned, noise=NoNoise()).fingerprint


@pytest.fixture(scope="module")
def digests(folder: Path, plans: dict[str, Plan]) -> dict[str, str]:
    with CohortFolder(folder) as source:
        return {method: digest(source, planned) for method, planned in plans.items()}


def test_there_are_methods_of_one_pass_and_of_several_and_all_differ(
    plans: dict[str, Plan], digests: dict[str, str]
) -> None:
    passes = {len(planned.stages) for planned in plans.values()}
    assert min(passes) == 1
    assert max(passes) > 1
    assert len(set(digests.values())) == len(PRIVATE)


@dataclass(frozen=True)
class Batched:
    cohort: Cohort
    size: int

    @property
    def patients(self) -> int:
        return self.cohort.patients

    def batches(self) -> Iterator[Cohort]:
        return self.cohort.batches(self.size)


@pytest.mark.parametrize("size", [1, 7, 150])
def test_batches_of_any_size_give_the_same_integers(
    size: int, folder: Path, plans: dict[str, Plan], digests: dict[str, str]
) -> None:
    _, cohort = read_cohort(folder)
    for method, planned in plans.items():
        assert digest(Batched(cohort, size), planned) == digests[method], method


@pytest.mark.parametrize("partitions", [1, 3, 33])
def test_spark_gives_the_same_integers_in_any_number_of_partitions(
    partitions: int,
    folder: Path,
    plans: dict[str, Plan],
    digests: dict[str, str],
    sparks: Sessions,
) -> None:
    """Thirty-three are more than are added in one place."""
    methods = PRIVATE if partitions == 3 else ["trust"]
    with SparkCohort(sparks.on(), folder, partitions=partitions) as source:
        for method in methods:
            assert digest(source, plans[method]) == digests[method], method


def test_spark_reads_folders_of_files_data_frames_and_tables_of_its_catalogue_alike(
    tmp_path: Path, plans: dict[str, Plan], digests: dict[str, str], sparks: Sessions
) -> None:
    spark, parts = sparks.on(), odd_folder(tmp_path / "cohort of [parts]", parts=3)
    place = str(parts).replace("[", "\\[").replace("]", "\\]")  # here Spark sees a pattern
    frames = {
        name: spark.read.parquet(f"{place}/{name}.parquet") for name in ("observations", "patients")
    }
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"odd_{name}")
    named = {name: f"odd_{name}" for name in frames}
    for source in (
        SparkCohort(spark, parts),
        SparkCohort(spark, odd_schema(), **frames),
        SparkCohort(spark, odd_schema(), **named),
    ):
        with source:
            assert digest(source, plans["trust"]) == digests["trust"]


def test_spark_notes_for_the_data_holder_what_the_local_engine_notes(
    folder: Path, plans: dict[str, Plan], sparks: Sessions
) -> None:
    schema = plans["trust"].schema
    with CohortFolder(folder) as here, SparkCohort(sparks.on(), folder, partitions=3) as there:
        watched = Watched(here, schema)
        assert sum(batch.patients for batch in watched.batches()) == here.patients
        assert there.patients == here.patients
        assert there.repairs() == here.repairs()
        assert all(here.repairs().values())
        facts = there.tally(partial(raw_facts, schema=schema))
        assert cohort_notes(facts, schema, there.patients) == watched.notes()


class Recorded:
    """Patients on Spark, and what was sent to them."""

    def __init__(self, source: SparkCohort) -> None:
        self.schema, self.patients = source.schema, source.patients
        self.tally, self.repairs = source.tally, source.repairs
        self.folder, self.counted, self.distinct = source.folder, source.counted, source.distinct
        self._source, self.sent = source, []

    def sum_over(self, statistics: Sequence[Statistic], contributions: Contributions) -> list[Sums]:
        self.sent.append(contributions)
        return self._source.sum_over(statistics, contributions)


def _content(sent: object) -> bytes:
    """What arrives, whichever of its parts were one object before."""
    return pickle.dumps(pickle.loads(pickle.dumps(sent)))


def test_only_the_schema_and_what_is_already_released_is_sent_to_executors(
    folder: Path, plans: dict[str, Plan], sparks: Sessions
) -> None:
    planned = plans["copula-score"]
    with SparkCohort(sparks.on(), folder, partitions=3) as source:
        recorded = Recorded(source)
        bundle = fit(recorded, planned)  # with noise
    done: list[str] = []
    for stage, sent in zip(planned.stages, recorded.sent, strict=True):
        assert isinstance(sent, partial)
        assert sent.func is contributions
        assert not sent.keywords
        lines, encoder = sent.args
        assert lines == stage
        so_far = replace(bundle, released={name: bundle.released[name] for name in done})
        rebuilt = private_method("copula-score").encoder(planned.schema, so_far)
        assert _content(encoder) == _content(rebuilt)
        done += [line.name for line in stage]


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory, sparks: Sessions) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made
        sparks.stop()


@dataclass(frozen=True)
class Slow:
    """Patients whose sums take long enough for a worker to die meanwhile."""

    source: SparkCohort
    diary: Path

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)

    def sum_over(self, statistics: Sequence[Statistic], contributions: Contributions) -> list[Sums]:
        return self.source.sum_over(statistics, Slowly(contributions, self.diary))


def test_a_cluster_gives_the_same_integers_though_a_worker_dies_in_the_middle(
    tmp_path: Path,
    folder: Path,
    plans: dict[str, Plan],
    digests: dict[str, str],
    two_workers: Cluster,
    sparks: Sessions,
) -> None:
    spark = sparks.on(two_workers.master, SETTINGS)
    with SparkCohort(spark, folder, partitions=6) as source:
        assert digest(source, plans["copula-score"]) == digests["copula-score"]  # both alive

        def strike() -> None:
            while not list(tmp_path.glob("worker-1.*.begun")):
                time.sleep(0.05)
            two_workers.kill("worker-1")

        thread = threading.Thread(target=strike)
        thread.start()
        assert digest(Slow(source, tmp_path), plans["trust"]) == digests["trust"]
        thread.join()
    begun, done = ({p.stem for p in tmp_path.glob(f"*.{end}")} for end in ("begun", "done"))
    lost = {page for page in begun - done if page.startswith("worker-1")}
    assert lost, "the worker died idle: this test shows nothing"
    assert len(done) >= 6
    assert two_workers.workers["worker-1"].poll() is not None
    assert two_workers.workers["worker-2"].poll() is None


def test_logs_of_executors_name_no_value_of_a_failure(
    tmp_path: Path, two_workers: Cluster, sparks: Sessions
) -> None:
    folder = write_parquet(tmp_path / "cohort", "valid")
    with SparkCohort(sparks.on(two_workers.master, SETTINGS), folder, partitions=2) as source:
        planned = plan(source.schema, source.patients, epsilon=4, delta=1e-4)
        statistics = [line.statistic for line in planned.stages[0]]
        with pytest.raises(CohortError, match="an executor stopped with ValueError"):
            source.sum_over(statistics, Indiscreet())
    logs = [p for p in two_workers.work.rglob("*") if p.suffix == ".log" or p.name == "stderr"]
    texts = [log.read_bytes() for log in logs]
    assert any(b"longsynth failed on an executor with ValueError" in text for text in texts)
    for text in texts:
        assert not found_in(text)
