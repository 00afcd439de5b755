"""Facts: all that a public edition may know of a release. Nothing here reads a file."""

from collections.abc import Callable
from dataclasses import dataclass

from longsynth.bundle import Bundle
from longsynth.govern.provenance import Provenance
from longsynth.sampling.model import Model


@dataclass(frozen=True, slots=True)
class Signed:
    by: str | None
    key: str  # its fingerprint
    fits: bool


@dataclass(frozen=True, slots=True)
class Form:
    """The governance form, section by section: question and answers, or a table."""

    title: str
    sections: tuple["FormSection", ...]


@dataclass(frozen=True, slots=True)
class FormSection:
    title: str
    answers: tuple[tuple[str, tuple[str, ...]], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    bundle: Bundle
    provenance: Provenance
    version: str  # of the longsynth that fitted
    summary: str  # the method in one line
    blur: dict[str, str]  # what the noise on each line means
    passes: dict[str, int]  # in which pass of the data each line is released
    files: dict[str, str]  # SHA-256 of each file of the release
    signed: Signed | None
    form: Form | None
    model_of: Callable[[Bundle], Model]  # post-processing: no data, no noise
