"""The rules of a budget book. Charges are added as exact ρ and compared with fixed caps.

A cap on ρ is enough although later budgets may depend on earlier outputs: Theorem 7 in
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
from longsynth.system.errors import Code, OverBudget, Refused

DEEPEST = 10  # a dataset and its parents


@dataclass(frozen=True, slots=True)
class DatasetAccount:
    """A dataset's cap, and what all fits of it and of the datasets below it have cost."""

    grant: Granted
    spent: Fraction = Fraction(0)
    fits: int = 0

    @property
    def left(self) -> Fraction:
        return self.grant.rho - self.spent


class Balance:
    """What the events of a book add up to. It takes events one by one."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self.accounts: dict[str, DatasetAccount] = {}
        self.charges: list[Charged] = []

    def lineage(self, dataset: str) -> list[DatasetAccount]:
        """Return who pays for a fit of a dataset: itself, its parent, and so on."""
        lineage: list[DatasetAccount] = []
        name: str | None = dataset
        while name is not None:
            if name not in self.accounts:
                raise Refused(
                    Code.DATASET_UNKNOWN,
                    f"the book has no dataset '{name}'.",
                    "Set its cap first with `longsynth budget grant`.",
                )
            lineage.append(self.accounts[name])
            name = lineage[-1].grant.parent
        return lineage

    def take(self, event: Event) -> None:
        """Add an event, or refuse one that a rule forbids. A refusal changes nothing."""
        if (self.opened is None) != isinstance(event, Opened):
            raise Refused(
                Code.BOOK_DAMAGED,
                "a book has one opening entry, and it is the first.",
                "Continue with the newest copy that passes `longsynth budget verify`.",
            )
        match event:
            case Opened():
                self.opened = event
            case Granted():
                self._require_new(event)
                self.accounts[event.dataset] = DatasetAccount(event)
            case Charged():
                self.accounts |= {s.grant.dataset: s for s in self._after(event)}
                self.charges.append(event)

    def require_sound_cap(self, dataset: str) -> None:
        """Refuse a cap of more ρ than its (ε, δ) buys, or one whose conversion does not hold.

        Under 'gaussian' the sum A and the least σ run over every fit that the cap pays for. Both
        only get worse with each charge, so one check after the last charge is enough.
        """
        grant = self.accounts[dataset].grant
        if grant.rho > grant.cap.rho:
            raise Refused(
                Code.BOOK_DAMAGED,
                f"the cap of '{dataset}' is ρ = {float(grant.rho):.6g}: MORE than its ε and δ "
                "allow.",
                "Continue with the newest copy that passes `longsynth budget verify`.",
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
                Code.OVER_BUDGET,
                f"the noise of all fits of '{dataset}' together is TOO COARSE for its cap, whose "
                "accounting 'gaussian' bounds the sum of numbers/24σ² and the least σ.",
                "Ask for a smaller epsilon.",
            ) from None

    def _require_new(self, grant: Granted) -> None:
        for name in self.accounts:
            if same_name(name, grant.dataset):
                raise Refused(
                    Code.CAP_FIXED,
                    f"the book already has a dataset '{name}'. A cap is never changed, because "
                    "what was released under it cannot be taken back.",
                    "For another dataset, use a name that differs in more than case and spaces.",
                )
        if grant.parent is not None and len(self.lineage(grant.parent)) >= DEEPEST:
            raise Refused(
                Code.NAME_UNUSABLE,
                f"a dataset can have at most {DEEPEST - 1} parents above it.",
                "Name a parent that is higher up.",
            )

    def _after(self, charge: Charged) -> Iterator[DatasetAccount]:
        for account in self.lineage(charge.dataset):
            after = replace(account, spent=account.spent + charge.rho, fits=account.fits + 1)
            if after.left < 0:
                cost, left = _distinct_digits(charge.rho, account.left)
                raise OverBudget(
                    Code.OVER_BUDGET,
                    f"it costs ρ={cost} but {left} of {float(account.grant.rho):.6g} is left for "
                    f"'{account.grant.dataset}'.",
                    "Ask for a smaller epsilon.",
                )
            exact = (*charge.rho.as_integer_ratio(), *after.spent.as_integer_ratio())
            if max(exact) >= 10**DIGITS:
                raise Refused(
                    Code.BOOK_UNUSABLE,
                    f"the exact total for '{account.grant.dataset}' would need more than {DIGITS} "
                    "digits.",
                    "Use a method whose shares are simpler fractions.",
                )
            yield after


def _distinct_digits(cost: Fraction, left: Fraction) -> tuple[str, str]:
    """Two different numbers with six digits, or with as many as show which is larger."""
    for digits in (6, 9, 12, 15):
        texts = f"{float(cost):.{digits}g}", f"{float(left):.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return str(cost), str(left)
