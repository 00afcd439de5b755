"""The rules of a budget book. Charges are added as exact ρ and compared with caps that never move.

Why a cap on ρ is enough, although later budgets may depend on earlier outputs: Theorem 7 in
docs/privacy.md. Under 'gaussian' the noise of all fits together must also be fine enough for the
reserve that the cap keeps back (section 7 there).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from longsynth.govern.book.events import DIGITS, Charged, Event, Granted, Opened
from longsynth.govern.provenance import same_name
from longsynth.privacy.ledger import Entry, Ledger
from longsynth.privacy.noise import OPENDP
from longsynth.privacy.statistic import Statistic
from longsynth.system.errors import OverBudget, Refused

DEEPEST = 10  # a dataset and its parents


@dataclass(frozen=True, slots=True)
class Standing:
    """A dataset's cap, and what all fits of it and of the datasets below it have cost."""

    grant: Granted
    spent: Fraction = Fraction(0)
    fits: int = 0

    @property
    def left(self) -> Fraction:
        return self.grant.rho - self.spent


class Balance:
    """What the events of a book add up to. It takes one event after the other, or refuses it."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.standings: dict[str, Standing] = {}
        self.charges: list[Charged] = []

    def lineage(self, dataset: str) -> list[Standing]:
        """Return who pays for a fit of a dataset: itself, its parent, and so on."""
        found, name = [], dataset
        while True:
            if name not in self.standings:
                raise Refused(
                    f"the book has no dataset '{name}': give it a cap first with `longsynth "
                    "budget grant`."
                )
            found.append(self.standings[name])
            parent = found[-1].grant.parent
            if parent is None:
                return found
            name = parent

    def take(self, event: Event) -> None:
        """Add an event. One that a rule forbids is refused and changes nothing."""
        if (self.opened is None) != isinstance(event, Opened):
            raise Refused("a book opens with one entry that says so, and holds no second.")
        match event:
            case Opened():
                self.opened = event
            case Granted():
                self._require_new(event)
                self.standings[event.dataset] = Standing(event)
            case Charged():
                self.standings |= {s.grant.dataset: s for s in self._after(event)}
                self.charges.append(event)

    def require_sound_cap(self, dataset: str) -> None:
        """Refuse a cap of more ρ than its (ε, δ) buys, or one whose conversion does not hold.

        Under 'gaussian' the sum A and the least σ run over every fit that the cap pays for. Both
        only get worse with a charge, so one look after the last stands for all.
        """
        grant = self.standings[dataset].grant
        if grant.rho > grant.cap.rho:
            raise Refused(
                f"the cap of '{dataset}' is ρ = {float(grant.rho):.6g}: MORE than its ε and δ buy."
            )
        if grant.cap.accounting != "gaussian":
            return
        entries = [
            Entry(Statistic("a charge", "", "raw", numbers), Fraction(0), None, sigma, OPENDP)
            for charge in self.charges
            if any(s.grant.dataset == dataset for s in self.lineage(charge.dataset))
            for numbers, sigma in charge.noise
        ]
        try:
            Ledger(grant.cap, 1, tuple(entries)).require_fine_noise()
        except Refused:
            raise OverBudget(
                f"the noise of all fits of '{dataset}' together is TOO COARSE for its cap, which "
                "is under 'gaussian' and bounds the sum of numbers/24σ² and the least σ."
            ) from None

    def _require_new(self, grant: Granted) -> None:
        for name in self.standings:
            if same_name(name, grant.dataset):
                raise Refused(
                    f"the book has a dataset '{name}' already: a cap is never changed, because "
                    "what was released under it cannot be taken back. Another dataset needs a name "
                    "that differs in more than case and spaces."
                )
        if grant.parent is not None and len(self.lineage(grant.parent)) >= DEEPEST:
            raise Refused(f"a dataset can have at most {DEEPEST - 1} parents above it.")

    def _after(self, charge: Charged) -> Iterator[Standing]:
        for standing in self.lineage(charge.dataset):
            after = replace(standing, spent=standing.spent + charge.rho, fits=standing.fits + 1)
            if after.left < 0:
                cost, left = _told_apart(charge.rho, standing.left)
                raise OverBudget(
                    f"it costs ρ={cost} but {left} of {float(standing.grant.rho):.6g} is left for "
                    f"'{standing.grant.dataset}'."
                )
            exact = (*charge.rho.as_integer_ratio(), *after.spent.as_integer_ratio())
            if max(exact) >= 10**DIGITS:
                raise Refused(
                    f"the exact total for '{standing.grant.dataset}' would need more than {DIGITS} "
                    "digits: use a method whose shares are simpler fractions."
                )
            yield after


def _told_apart(cost: Fraction, left: Fraction) -> tuple[str, str]:
    """Six digits of two different numbers, or as many more as it takes to see which is larger."""
    for digits in (6, 9, 12, 15):
        shown = f"{float(cost):.{digits}g}", f"{float(left):.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return str(cost), str(left)
