"""FORMATS: how synthetic patients can be written, by name."""

from collections.abc import Callable, Iterable
from pathlib import Path

from longsynth.io.events_writer import write_events
from longsynth.io.meds_writer import write_meds
from longsynth.io.writer import Trajectories, write_cohort
from longsynth.schema import Schema

FORMATS: dict[str, Callable[[Path, Schema, Iterable[Trajectories]], None]] = {
    "cohort": write_cohort,
    "events": write_events,
    "meds": write_meds,
}
