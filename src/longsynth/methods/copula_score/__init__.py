"""copula-score: private marginals, a latent Gaussian over values, masks and gaps, shrunk toward a
factor fit, and sampled along the score path."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from longsynth.bundle import Bundle
from longsynth.methods.copula_score.channels import channel_number
from longsynth.methods.copula_score.features import Lags
from longsynth.methods.copula_score.labelled import labelled_model
from longsynth.methods.copula_score.release import CopulaEncoder, copula_facts, copula_stages
from longsynth.methods.copula_score.settings import (
    FEWEST,
    MOST,
    POOL,
    Settings,
    has_labels,
    settings_text,
)
from longsynth.methods.copula_score.summaries import Summaries
from longsynth.methods.fact import Fact
from longsynth.methods.method import PrivateMethod, Stage, Work
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

# Core-seconds of all rounds, measured: for each cubed number of the side; for each number of
# simulated patients, and times the side; of a search for factors at least, and by groups · m².
PROJECTED, SIMULATED, MULTIPLIED, SEARCH, SEARCHED = 1.5e-9, 6e-7, 1.1e-10, 0.05, 3e-6
SEARCHES, BETWEEN = 7, 2  # of factors in a model, and in a fit without labels
SUMMARISED, FITTED = 1e-7, 2.8e-10  # for each summary of a patient for the label model, and squared
SQUARES, COPIES, OVER_TIME = 4, 8, 24  # numbers in memory: of the side, simulated, groups · m²


@dataclass(frozen=True)
class CopulaScore(PrivateMethod):
    settings: Settings = field(default_factory=Settings)

    name: ClassVar[str] = "copula-score"
    summary: ClassVar[str] = "private marginals, pooled lag moments, factor shrinkage, score path"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return copula_stages(schema, self.settings)

    def encoder(self, schema: Schema, so_far: Bundle) -> CopulaEncoder:
        return CopulaEncoder(schema, so_far, self.settings)

    def facts(self, schema: Schema) -> list[Fact]:
        return copula_facts(schema)

    def settings_text(self, schema: Schema) -> Mapping[str, str]:
        return settings_text(schema, self.settings)

    def work(self, schema: Schema, patients: int) -> Work:
        """All rounds of the calibration: simulated patients, the factor fit over channels, and
        square matrices with a side of all channels in all slots."""
        side, strata = schema.slots * channel_number(schema), len(schema.strata)
        simulated, search = min(max(patients, FEWEST), MOST), _search(schema)
        return Work(
            SQUARES * side**2 + side * (COPIES * simulated + strata) + search.numbers,
            SEARCHES * search.seconds
            + PROJECTED * side**2 * (side + strata)
            + simulated * side * (SIMULATED + MULTIPLIED * side)
            + self._label_seconds(schema),
        )

    def between(self, schema: Schema, patients: int) -> Work:
        """The third pass weighs channels by what factors say of them. That of labels needs a whole
        model and patients from it."""
        search = _search(schema)
        of_factors = Work(search.numbers, BETWEEN * search.seconds)
        if not has_labels(schema, self.settings):
            return of_factors
        whole = self.work(schema, patients)
        return Work(whole.numbers, of_factors.seconds + whole.seconds)

    def _label_seconds(self, schema: Schema) -> float:
        """As if there were a label model: a schema that is read says it only with its patients."""
        summaries = Summaries.many_number(schema)
        return POOL * summaries * (SUMMARISED + FITTED * summaries)

    def model(self, bundle: Bundle) -> Model:
        return labelled_model(bundle, self.settings)


def _search(schema: Schema) -> Work:
    """Of one search for factors."""
    channels = channel_number(schema)
    fitted = len(Lags(schema.slots, 1).groups) * channels**2
    return Work(OVER_TIME * fitted, SEARCH + SEARCHED * fitted)
