"""What longsynth refuses. Each message gives a remedy and carries no patient's value.

Refused                 exit code 2, nothing was written
├── OverBudget          the request costs more ρ than is left (privacy core)
├── SchemaError         a public fact in schema.yaml is missing or wrong
├── CohortError         the cohort folder cannot be read as its schema says
└── ReleaseError        a release folder cannot be used, or must not be written
ArithmeticFault         an exact sum failed its check: not the user's mistake
"""

from longsynth.privacy.errors import ArithmeticFault, OverBudget, Refused

__all__ = [
    "ArithmeticFault",
    "CohortError",
    "OverBudget",
    "Refused",
    "ReleaseError",
    "SchemaError",
]


class SchemaError(Refused):
    """A public fact is missing or wrong."""


class CohortError(Refused):
    """The cohort folder cannot be read as its schema says. Never raised for a patient's values."""


class ReleaseError(Refused):
    """A release folder cannot be used, or must not be written."""
