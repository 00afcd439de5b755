"""Method: what a generator is. A private method is a list of lines, an encoder and a model.

A method overrides what it can say about itself; everything optional has a default here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from longsynth.bundle import Bundle, per_unit
from longsynth.methods.fact import Fact
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

MATRICES = 8  # with the same side, in memory together
EIGEN = 5e-10  # core-seconds for each cubed number of the side: eigenvalues and products


@dataclass(frozen=True, slots=True)
class Line:
    """One released statistic: its price, what each patient adds, and what its noise means."""

    statistic: Statistic
    share: Fraction  # of ρ
    rows: Callable[[Any], Contribution] = field(compare=False, repr=False)
    """What each patient of a batch adds, from what the encoder made of the batch."""
    in_units: Callable[[float, int], str] = field(compare=False, repr=False)
    """Words for noise of a given standard deviation in the sum over so many patients."""

    @property
    def name(self) -> str:
        return self.statistic.name

    def noise_meaning(self, entry: Entry, patients: int) -> str:
        """Say what the noise on this line means, in the user's units."""
        return self.in_units(entry.sigma / per_unit(entry.statistic), patients)


Stage = tuple[Line, ...]  # what one pass over the patients releases
BatchEncoder = Callable[[Cohort], Any]  # built once per pass, called for each batch


def contributions(stage: Stage, encoder: BatchEncoder, batch: Cohort) -> dict[str, Contribution]:
    """Return what each patient of a batch adds to each line of a stage."""
    encoded = encoder(batch)
    return {line.name: line.rows(encoded) for line in stage}


@dataclass(frozen=True, slots=True)
class Work:
    """What building a model takes, from public whole numbers alone.

    A release is read on machines whose owners did not write it. So this is known before anything of
    its size is built, and errs on the side of too much. The factors were measured.
    """

    numbers: float  # of 64 bits, in memory together
    seconds: float  # of one core


def gaussian_work(schema: Schema) -> Work:
    """Of a Gaussian over a whole record: square matrices with a side of its length."""
    side, tables = schema.width, tables_work(schema)
    return Work(tables.numbers + MATRICES * side**2, tables.seconds + EIGEN * side**3)


def tables_work(schema: Schema) -> Work:
    """Of means and rates for each stratum."""
    numbers = MATRICES * len(schema.strata) * (schema.width + schema.slots)
    return Work(numbers, 1e-8 * numbers)


class Method(ABC):
    name: ClassVar[str]
    summary: ClassVar[str]  # one line for `longsynth methods`

    @abstractmethod
    def model(self, bundle: Bundle) -> Model:
        """Return the sampler. Post-processing: it sees the bundle and nothing else."""

    def work(self, schema: Schema, patients: int) -> Work:
        """Return what the model takes, without building anything of its size."""
        return gaussian_work(schema)


class PrivateMethod(Method):
    """Everything it learns is a sum with a theorem, released by the curator."""

    @abstractmethod
    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """Return what will be released, pass by pass, from a resolved schema alone."""

    @abstractmethod
    def encoder(self, schema: Schema, so_far: Bundle) -> BatchEncoder:
        """Return what encodes the batches of a pass, from the schema and earlier releases.

        What it makes of a patient may depend on that patient, the schema and earlier releases; on
        nothing else. It is sent to Spark's executors, so it must pickle.
        """

    def between(self, schema: Schema, patients: int) -> Work:
        """Return what the encoders of a fit compute from the passes before them."""
        return Work(0, 0)

    def facts(self, schema: Schema) -> Iterable[Fact]:
        """Return what is known of the released numbers before any noise, whoever the patients are.
        Without any, `verify` checks each line by itself."""
        return ()

    def settings_text(self, schema: Schema) -> Mapping[str, str]:
        """Return name and text of the method's own public settings, for `longsynth plan`."""
        return {}

    def lines(self, schema: Schema) -> dict[str, Line]:
        """Return all lines by name."""
        return {line.name: line for stage in self.stages(schema) for line in stage}


class OpenMethod(Method):
    """Learns from raw records and gives no guarantee: for patients who need no protection."""

    @abstractmethod
    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        """Return arrays by name; they are disclosed, and the ledger says NOT PRIVATE."""
