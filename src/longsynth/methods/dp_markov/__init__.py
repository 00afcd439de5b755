"""dp-markov: private first-order transition tables over public bins, by event."""

from dataclasses import dataclass, field
from typing import ClassVar

from longsynth.bundle import Bundle
from longsynth.methods.dp_markov.model import markov_model
from longsynth.methods.dp_markov.release import MarkovEncoder, markov_facts, markov_lines
from longsynth.methods.dp_markov.settings import Settings
from longsynth.methods.fact import Fact
from longsynth.methods.method import PrivateMethod, Stage, Work, tables_work
from longsynth.sampling.model import Model
from longsynth.schema.schema import Schema


@dataclass(frozen=True)
class DPMarkov(PrivateMethod):
    settings: Settings = field(default_factory=Settings)

    name: ClassVar[str] = "dp-markov"
    summary: ClassVar[str] = "private transition tables between public bins, by event"

    def stages(self, schema: Schema) -> tuple[Stage, ...]:
        return (markov_lines(schema, self.settings),)

    def encoder(self, schema: Schema, so_far: Bundle) -> MarkovEncoder:
        return MarkovEncoder(schema, self.settings)

    def facts(self, schema: Schema) -> list[Fact]:
        return markov_facts(schema, self.settings)

    def work(self, schema: Schema, patients: int) -> Work:
        return tables_work(schema)

    def model(self, bundle: Bundle) -> Model:
        return markov_model(bundle, self.settings)
