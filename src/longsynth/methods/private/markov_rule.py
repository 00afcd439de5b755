"""Rule: the public settings of dp-markov, and the lines that are its own."""

from dataclasses import dataclass

from longsynth.methods.private.lines import GAP_SQUARES, GAPS, MASKS, STRATA

FIRST, STEPS = "bins", "transitions"


@dataclass(frozen=True, slots=True)
class Rule:
    """Public settings, chosen on development seeds: benchmarks/search_dp_markov.py."""

    bins: int = 16  # of each continuous variable
    focus: float = 0.5  # scales about the centre in which bins are narrow; 0: even bins
    halves: bool = True  # bins of all slots, in two halves of the record; else first bins
    states: int = 4  # bins are joined to so many states for transitions
    drawn: bool = True  # tables drawn to a Gaussian one and to each other; else by event alone
    threshold: float = 1.0  # a count below so much noise is no evidence, where tables stand alone
    spread: float = 0.2  # prior spread of variables' persistence about their mean
    between: float = 0.7  # spread of patients' own means, in spreads of a variable
    effect: float = 0.5  # prior spread of an event's effect, in spreads of a variable
    temper: float = 0.35  # part of an effect on repeated readings that is kept
    steady: bool = True  # masks and gaps drawn to their mean over time
    own: bool = False  # a table of its own for each event; else everybody's with the event's shares
    floor: float = 0.0  # least share of patients drawn with the event, with weights
    strata: int = 10  # shares of 100
    first: int = 30
    steps: int = 35
    masks: int = 15
    gaps: int = 7
    gap_squares: int = 3

    def __post_init__(self) -> None:
        if not self.drawn and self.states < self.bins:
            raise ValueError("tables that stand alone need a state for each bin")

    @property
    def shares(self) -> dict[str, int]:
        return {
            STRATA: self.strata,
            FIRST: self.first,
            STEPS: self.steps,
            MASKS: self.masks,
            GAPS: self.gaps,
            GAP_SQUARES: self.gap_squares,
        }
