"""Entries of a budget book: what is written down, the hash chain over it, and the rules.

All of it is public: names that the owner declares, budgets, prices, the number of patients, the
day. No finer time is kept, because how long a cohort took to read is not public.

Charges are added as exact ρ and compared with fixed caps. A cap on ρ is enough although later
budgets may depend on earlier outputs: Theorem 7 in docs/privacy.md. Under 'gaussian' the noise of
all fits together must also be fine enough for the reserve that the cap keeps back (section 7
there).
"""

import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from longsynth.govern.provenance import same_name
from longsynth.privacy.budget import Accounting, Budget
from longsynth.privacy.ledger import Entry, Ledger
from longsynth.privacy.noise import OPENDP
from longsynth.privacy.statistic import Statistic
from longsynth.system.errors import Code, OverBudget, Refused
from longsynth.system.text import is_name

FORMAT = 1
DIGITS = 200  # of a numerator or a denominator; a release's provenance holds no more
_EXACT, _NONCE = re.compile(rf"\d{{1,{DIGITS}}}(/\d{{1,{DIGITS}}})?"), re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Opened:
    owner: str | None
    nonce: str
    day: str


@dataclass(frozen=True, slots=True)
class Granted:
    """A cap: the guarantee for all fits of a dataset together. It is never changed."""

    dataset: str
    cap: Budget
    rho: Fraction  # ρ of the cap, converted once and rounded down
    parent: str | None  # pays as well for every fit of this dataset
    day: str


@dataclass(frozen=True, slots=True)
class Charged:
    """A fit, at the price of its plan."""

    dataset: str
    method: str | None
    patients: int
    budget: Budget  # asked for by this fit
    rho: Fraction
    noise: tuple[tuple[int, float], ...]  # of each release: how many integers, and their σ
    nonce: str
    day: str


Event = Opened | Granted | Charged


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def new_nonce() -> str:
    return secrets.token_hex(16)


def link(previous: str, text: str) -> str:
    """Return the hash after an event: SHA-256 of the hash before it, a line break and its text."""
    return sha256(f"{previous}\n{text}".encode()).hexdigest()


def text_of(event: Event) -> str:
    """Return the text of an event: JSON with sorted keys and no spaces."""
    content = event_json(event)
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def event_json(event: Event) -> dict[str, Any]:
    match event:
        case Opened():
            facts = {"event": "init", "format": FORMAT, "owner": event.owner, "nonce": event.nonce}
        case Granted():
            facts = {"event": "grant", "dataset": event.dataset, "parent": event.parent}
            facts |= _budget_json(event.cap, event.rho)
        case Charged():
            facts = {"event": "charge", "dataset": event.dataset, "method": event.method}
            facts |= _budget_json(event.budget, event.rho)
            facts |= {
                "patients": event.patients,
                "noise": [{"numbers": numbers, "sigma": sigma} for numbers, sigma in event.noise],
                "nonce": event.nonce,
            }
    return facts | {"day": event.day}


def parse(text: str) -> Event | None:
    """Return the event with exactly this text, or None."""
    try:
        event = _read(json.loads(text))
        same = event is not None and text_of(event) == text
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError):
        return None
    except Refused:  # not a valid budget
        return None
    return event if same else None


def _budget_json(budget: Budget, rho: Fraction) -> dict[str, Any]:
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "accounting": budget.accounting,
        "rho": str(rho),
    }


@lru_cache(maxsize=1000)
def written_budget(epsilon: float, delta: float, accounting: Accounting) -> Budget:
    """A budget as it is written down: 4.0 for 4. Cached, as computing its ρ takes a while."""
    return Budget(float(epsilon), float(delta), accounting)


def _read(content: Any) -> Event | None:
    day = content["day"]
    if date.fromisoformat(day).isoformat() != day:
        return None
    if content["event"] == "init":
        opened = Opened(content["owner"], content["nonce"], day)
        named = opened.owner is None or is_name(opened.owner)
        return opened if named and _NONCE.fullmatch(opened.nonce) else None
    budget = written_budget(content["epsilon"], content["delta"], content["accounting"])
    if not _EXACT.fullmatch(content["rho"]):
        return None
    rho, dataset = Fraction(content["rho"]), content["dataset"]
    if rho <= 0 or not is_name(dataset):
        return None
    if content["event"] == "grant":
        parent = content["parent"]
        named = parent is None or is_name(parent)
        return Granted(dataset, budget, rho, parent, day) if named else None
    noise = tuple((line["numbers"], float(line["sigma"])) for line in content["noise"])
    method, patients, nonce = content["method"], content["patients"], content["nonce"]
    plausible = (
        content["event"] == "charge"
        and (method is None or is_name(method))
        and all(type(n) is int and 0 < n < 1 << 53 for n in (patients, *(n for n, _ in noise)))
        and all(1e-100 < sigma < 1e100 for _, sigma in noise)  # its square is a number too
        and len(noise) > 0
        and _NONCE.fullmatch(nonce)
    )
    charged = Charged(dataset, method, patients, budget, rho, noise, nonce, day)
    return charged if plausible else None


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
