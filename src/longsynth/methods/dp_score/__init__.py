"""dp-score: a private diagonal Gaussian score model with masks and gaps that know no condition."""

from typing import ClassVar

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoder
from longsynth.methods.dp_score.model import score_model
from longsynth.methods.dp_score.release import score_lines
from longsynth.methods.fact import Fact
from longsynth.methods.lines import patient_facts
from longsynth.methods.method import PrivateMethod, Stage
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema


class DPScore(PrivateMethod):
    name: ClassVar[str] = "dp-score"
    summary: ClassVar[str] = "private diagonal score model, unconditional masks and gaps"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return (score_lines(schema),)

    def encoder(self, schema: Schema, so_far: Bundle) -> Encoder:
        return Encoder(schema)

    def facts(self, schema: Schema) -> list[Fact]:
        return patient_facts(schema)

    def model(self, bundle: Bundle) -> Model:
        return score_model(bundle)
