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
from longsynth.methods.copula_score.settings import FEWEST, MOST, Settings, settings_text
from longsynth.methods.fact import Fact
from longsynth.methods.method import MATRICES, PrivateMethod, Stage, Work
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema

FACTORS = 70  # numbers in memory for each of groups · m³, while the factors are searched for
PROJECTED, EXPLAINED, SEARCHED = 2e-8, 1e-8, 3e-5  # core-seconds of all rounds; measured


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
        channels, groups = channel_number(schema), len(Lags(schema.slots, 1).groups)
        side, fitted = schema.slots * channels, groups * channels**3
        strata, simulated = len(schema.strata), min(max(patients, FEWEST), MOST)
        return Work(
            MATRICES * side * (side + simulated + strata) + FACTORS * fitted,
            PROJECTED * side**3 + EXPLAINED * strata * side**2 + SEARCHED * fitted,
        )

    def model(self, bundle: Bundle) -> Model:
        return labelled_model(bundle, self.settings)
