"""Every metric of an audit, by section. Each section's file holds its entries next to their
computations; to add a metric, add one entry there."""

from longsynth.audit.attacks.attribute import ATTRIBUTE
from longsynth.audit.attacks.canary import CANARIES
from longsynth.audit.attacks.membership import MEMBERSHIP
from longsynth.audit.fidelity import FIDELITY
from longsynth.audit.metric import Metric, Shown, metric_named
from longsynth.audit.regression import NUMBERS
from longsynth.audit.subgroups import SUBGROUPS
from longsynth.audit.survival import SURVIVAL
from longsynth.audit.utility import UTILITY

SECTIONS: dict[str, tuple[list[Metric], ...]] = {
    "utility": (UTILITY, NUMBERS, SURVIVAL),
    "subgroups": (SUBGROUPS,),
    "fidelity": (FIDELITY,),
    "attacks": (MEMBERSHIP, ATTRIBUTE),
    "canaries": (CANARIES,),
}
PLACES: tuple[Shown, ...] = ("terminal", "dossier", "page")  # each shows what those before it show


def metrics_of(section: str) -> list[Metric]:
    return [metric for entries in SECTIONS[section] for metric in entries]


def find_metric(name: str) -> Metric | None:
    """The metric with this name, its label filled in; None for a name of another version."""
    return metric_named(name, [metric for section in SECTIONS for metric in metrics_of(section)])


def label_of(name: str) -> str:
    metric = find_metric(name)
    return metric.label if metric else name.replace("_", " ")


def shown_in(place: Shown, section: str) -> tuple[str, ...]:
    """The names of a section's metrics that a place shows, without those for parts of the data."""
    places = PLACES[: PLACES.index(place) + 1]
    return tuple(metric.whole for metric in metrics_of(section) if metric.shown in places)
