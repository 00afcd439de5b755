"""The refusals of the core. Messages carry public facts and a remedy, never a patient's value."""


class Refused(Exception):
    """longsynth will not do this; nothing was released and the message names the remedy."""


class OverBudget(Refused):
    """The request costs more than is left. Raised before any noise is drawn."""


class ArithmeticFault(Exception):
    """An exact sum failed its check: the processor or its BLAS library computes wrongly."""
