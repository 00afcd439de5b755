"""trust: the paper's generator. Bounded moments, a stabilised Gaussian, masks, gaps, a floor."""

from typing import ClassVar

from longsynth.bundle import Bundle
from longsynth.encoding.rows import Encoder
from longsynth.methods.fact import Fact
from longsynth.methods.method import PrivateMethod, Stage
from longsynth.methods.trust.model import trust_model
from longsynth.methods.trust.release import trust_facts, trust_lines
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema


class Trust(PrivateMethod):
    name: ClassVar[str] = "trust"
    summary: ClassVar[str] = "the paper's generator: conditional moments, analytic score path"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return (trust_lines(schema),)

    def encoder(self, schema: Schema, so_far: Bundle) -> Encoder:
        return Encoder(schema)

    def facts(self, schema: Schema) -> list[Fact]:
        return trust_facts(schema)

    def model(self, bundle: Bundle) -> Model:
        return trust_model(bundle)
