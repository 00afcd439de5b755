"""The refusals of the core. Messages carry public facts and a remedy, never a patient's value."""


class Refused(Exception):
    """longsynth will not do this, and nothing was released. `code` is for programs."""

    def __init__(self, code: str, problem: str, remedy: str) -> None:
        super().__init__(code, problem, remedy)
        self.code, self.problem, self.remedy = code, problem, remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()


class OverBudget(Refused):
    """The request costs more than is left. Raised before any noise is drawn."""


class ArithmeticFault(Exception):
    """An exact sum failed its check: the processor or its BLAS library computes wrongly."""
