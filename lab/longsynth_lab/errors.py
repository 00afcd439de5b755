"""Codes of the refusals that only the lab makes; docs/errors.md lists those of the package."""

from enum import StrEnum


class LabCode(StrEnum):
    COHORTS_MISSING = "cohorts-missing"
    EVIDENCE_MIXED = "evidence-mixed"
    NAME_UNKNOWN = "name-unknown"
    PAPER_NOT_COMPILED = "paper-not-compiled"
    PAPER_UNUSABLE = "paper-unusable"
    SEEDS_UNUSABLE = "seeds-unusable"
    STUDY_BUSY = "study-busy"
    STUDY_UNFINISHED = "study-unfinished"
    TOOL_MISSING = "tool-missing"
