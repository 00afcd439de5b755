"""The copula with its label model: what the fourth pass needs, and the sampler."""

from dataclasses import dataclass, replace

from longsynth.bundle import Bundle
from longsynth.encoding.record import strata
from longsynth.methods.copula_score.channels import Coding
from longsynth.methods.copula_score.labels import LabelBase, label_base, label_width, read_labels
from longsynth.methods.copula_score.model import copula_model, in_proportion, simulated_patients
from longsynth.methods.copula_score.reading import first_pass
from longsynth.methods.copula_score.settings import LABELS, POOL, Settings, Sizes
from longsynth.methods.copula_score.summaries import Summaries, Summarised
from longsynth.sampling.auxiliary import noise_in_mean
from longsynth.sampling.model import Model, Synthetic


@dataclass(frozen=True)
class Pool:
    """Patients of the copula, in the place of real ones."""

    patients: Synthetic
    summarised: Summarised
    base: LabelBase


def pool_of(model: Model, bundle: Bundle) -> Pool:
    """Return patients of this model with their summaries, and how the event goes with those."""
    schema, channels = bundle.schema, first_pass(bundle).channels
    patients = simulated_patients(model, in_proportion(model.strata.draw, POOL))
    coded, summaries = Coding(schema).of(patients), Summaries(schema, channels)
    stratum = strata(patients, schema)
    summarised = summaries.of(channels.of(coded), coded.length, stratum)
    base = label_base(summaries, summarised, patients.event, patients.weight)
    return Pool(patients, summarised, base)


def label_base_of(bundle: Bundle, settings: Settings) -> LabelBase:
    """Return how the event goes with the record, as far as the first three passes say."""
    return pool_of(copula_model(bundle, settings), bundle).base


def labelled_model(bundle: Bundle, settings: Settings) -> Model:
    """Return the sampler for a bundle; the event is drawn last if the bundle has its line."""
    model = copula_model(bundle, settings)
    if LABELS not in bundle.released:
        return model
    pool, radius = (
        pool_of(model, bundle),
        Sizes.of(bundle.schema).label_radius(label_width(bundle.schema)),
    )
    labels = read_labels(
        pool.base,
        pool.summarised,
        pool.patients.weight,
        released=bundle.mean(LABELS)[0] * radius,
        noise=noise_in_mean(bundle, LABELS) * radius,
        radius=radius,
        patients=bundle.patients,
        shares=first_pass(bundle).shares,
    )
    return replace(model, labels=labels)
