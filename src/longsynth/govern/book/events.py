"""Events of a budget book: what is written down, in exactly one form, and the hash chain over it.

All of it is public: names that the owner declares, budgets, prices, the number of patients, the
day. No finer time is kept, because how long a cohort took to read is not public.
"""

import json
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from longsynth.privacy.budget import Accounting, Budget
from longsynth.system.errors import Refused
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
