"""Method: what a generator must say. One protocol for those that keep a promise, one for others."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Protocol, runtime_checkable

from longsynth.bundle import Bundle
from longsynth.methods.work import Work, gaussian_work
from longsynth.privacy.ledger import Entry
from longsynth.privacy.statistic import Statistic
from longsynth.privacy.sums import Contribution
from longsynth.reading.records import Cohort
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

Stage = tuple[tuple[Statistic, Fraction], ...]  # what one pass releases, each with its share


class Method(Protocol):
    name: ClassVar[str]
    summary: ClassVar[str]  # one line for `longsynth methods`

    def model(self, bundle: Bundle) -> Model:
        """Return the sampler. Post-processing: the bundle is all it sees."""
        ...


@runtime_checkable
class PrivateMethod(Method, Protocol):
    """Everything it learns is a sum with a theorem, released by the curator."""

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        """Return what will be released, pass by pass, from a resolved schema alone."""
        ...

    def blur(self, entry: Entry, schema: Schema, patients: int) -> str:
        """Say what the noise on a line means, in the statistic's own units."""
        ...

    def contributions(
        self, batch: Cohort, schema: Schema, stage: Stage, so_far: Bundle
    ) -> Mapping[str, Contribution]:
        """Return what each patient of a batch adds to each statistic of a stage.

        A row may depend on its own patient, the schema and earlier releases; on nothing else.
        """
        ...


@runtime_checkable
class WithSettings(Protocol):
    """Has public settings of its own, beside the schema's constants."""

    def settings(self, schema: Schema) -> Mapping[str, str]:
        """Return name and text of each, from a resolved schema alone, for `longsynth plan`."""
        ...


def settings_of(method: Method, schema: Schema) -> Mapping[str, str]:
    return method.settings(schema) if isinstance(method, WithSettings) else {}


@runtime_checkable
class Weighed(Protocol):
    """Knows what its model takes. Of others it is taken to be a Gaussian over a whole record."""

    def work(self, schema: Schema, patients: int) -> Work:
        """Return it from whole numbers of the schema, without making anything of its size."""
        ...


def work_of(method: Method, schema: Schema, patients: int) -> Work:
    return method.work(schema, patients) if isinstance(method, Weighed) else gaussian_work(schema)


@runtime_checkable
class OpenMethod(Method, Protocol):
    """Learns from raw records and promises nothing: for patients whom nobody has to protect."""

    def learn(self, cohort: Cohort, schema: Schema) -> Mapping[str, Any]:
        """Return arrays by name; they are disclosed, and the ledger says NOT PRIVATE."""
        ...
