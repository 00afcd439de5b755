"""What longsynth refuses. Each message gives a remedy and carries no patient's value.

Refused                 exit code 2, nothing was written
├── OverBudget          the request costs more ρ than is left (privacy core)
├── SchemaError         a public fact in schema.yaml is missing or wrong
├── CohortError         the cohort folder cannot be read as its schema says
├── DependentRows       a method lets patients into each other's rows
└── ReleaseError        a release folder cannot be used, or must not be written
ArithmeticFault         an exact sum failed its check: not the user's mistake
"""

from longsynth.privacy.errors import ArithmeticFault, OverBudget, Refused

__all__ = [
    "ArithmeticFault",
    "CohortError",
    "DependentRows",
    "OverBudget",
    "Refused",
    "ReleaseError",
    "SchemaError",
]


class SchemaError(Refused):
    """A public fact is missing or wrong."""


class CohortError(Refused):
    """The cohort folder cannot be read as its schema says. Never raised for a patient's values."""


class DependentRows(Refused):
    """A method lets patients into each other's rows. Says no more than that: about the code, not
    about who was looked at."""

    def __init__(self) -> None:
        super().__init__(
            "the method gave a patient other rows in another company of patients, or on a second "
            "call, so its noise may protect nobody. Nothing of this pass was released. Use another "
            "method, or ask its author to mend it: a row may depend on its own patient, the schema "
            "and earlier releases only, to the last bit."
        )


class ReleaseError(Refused):
    """A release folder cannot be used, or must not be written."""
