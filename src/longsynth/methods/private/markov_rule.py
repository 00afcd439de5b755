"""Rule: the public settings of dp-markov, and the lines that are its own.

The paper describes DP-Markov in one sentence: discretised first-order transition tables. The
defaults are that chain and nothing more.
"""

from dataclasses import dataclass

from longsynth.methods.private.lines import GAP_SQUARES, GAPS, MASKS, STRATA

FIRST, STEPS = "bins", "transitions"


@dataclass(frozen=True, slots=True)
class Rule:
    """Public settings; the defaults are a plain first-order chain by event."""

    bins: int = 10  # of each continuous variable
    focus: float = 0.0  # scales about the centre in which bins are narrow; 0: even bins
    halves: bool = False  # bins of all slots, in two halves of the record; else first bins
    states: int = 60  # bins are joined to so many states for transitions, at the most
    drawn: bool = False  # tables drawn to a Gaussian one and to each other; else by event alone
    threshold: float = 1.0  # a count below so much noise is no evidence, where tables stand alone
    spread: float = 0.2  # prior spread of variables' persistence about their mean
    between: float = 0.7  # spread of patients' own means, in spreads of a variable
    effect: float = 0.5  # prior spread of an event's effect, in spreads of a variable
    temper: float = 0.35  # part of an effect on repeated readings that is kept
    steady: bool = False  # masks and gaps drawn to their mean over time
    own: bool = True  # a table of its own for each event; else everybody's with the event's shares
    floor: float = 0.0  # least share of patients drawn with the event, with weights
    strata: int = 5  # shares of 100
    first: int = 20
    steps: int = 50
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


# What lab/search_dp_markov.py found best on development seeds: far less noise for few
# patients, but no longer the paper's baseline.
SMOOTHED = Rule(
    bins=16, focus=0.5, halves=True, states=4, drawn=True, spread=0.2, between=0.7, effect=0.5,
    temper=0.35, steady=True, own=False, strata=10, first=30, steps=35,
)  # fmt: skip
