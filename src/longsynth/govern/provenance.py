"""Provenance: public facts about a fit that do not follow from its numbers.

manifest.json and STATEMENT.md state them, and a signature covers them.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any
from unicodedata import normalize

from longsynth.privacy.budget import Budget
from longsynth.system.errors import Code, Refused
from longsynth.system.text import NAME, is_name

_HASH, _EXACT = re.compile(r"[0-9a-f]{64}"), re.compile(r"\d{1,200}(/\d{1,200})?")


@dataclass(frozen=True, slots=True)
class Account:
    """What a budget book says about one dataset after a charge."""

    dataset: str
    cap: Budget  # fixed before the first fit: the guarantee for all of them together
    spent: Fraction  # ρ, this fit included


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a budget book wrote down for a fit before its noise was drawn."""

    entry: int  # number of the charge in the book
    head: str  # of the book's hash chain after it
    accounts: tuple[Account, ...]  # the dataset's own, then its parents'


@dataclass(frozen=True, slots=True)
class Provenance:
    fitted_by: str | None = None
    governance: str | None = None  # SHA-256 of the form that allowed the fit
    book: Receipt | None = None  # None: repeated fits were not added up


def provenance_json(provenance: Provenance) -> dict[str, Any]:
    book = provenance.book and {
        "entry": provenance.book.entry,
        "head": provenance.book.head,
        "accounts": [
            {"dataset": a.dataset, "cap": asdict(a.cap), "spent_rho": str(a.spent)}
            for a in provenance.book.accounts
        ],
    }
    return {
        "fitted_by": provenance.fitted_by,
        "governance": provenance.governance,
        "book": book,
    }


def read_provenance(content: Any) -> Provenance | None:
    """Return what `provenance_json` wrote, else None. A hostile budget may raise an error."""
    try:
        book = None if content["book"] is None else _receipt(content["book"])
        provenance = Provenance(content["fitted_by"], content["governance"], book)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return provenance if _plausible(provenance) else None


def _receipt(content: Any) -> Receipt:
    accounts = tuple(_account(account) for account in content["accounts"])
    return Receipt(content["entry"], content["head"], accounts)


def _account(content: Any) -> Account:
    if not _EXACT.fullmatch(content["spent_rho"]):
        raise ValueError
    return Account(content["dataset"], Budget(**content["cap"]), Fraction(content["spent_rho"]))


def _plausible(provenance: Provenance) -> bool:
    book, fitter, form = provenance.book, provenance.fitted_by, provenance.governance
    return (
        (fitter is None or is_name(fitter))
        and (form is None or _is_hash(form))
        and (
            book is None
            or (
                type(book.entry) is int
                and 0 < book.entry < 1 << 53
                and _is_hash(book.head)
                and 0 < len(book.accounts) <= 100
                and all(is_name(a.dataset) and 0 < a.spent <= a.cap.rho for a in book.accounts)
            )
        )
    )


def _is_hash(text: object) -> bool:
    return isinstance(text, str) and _HASH.fullmatch(text) is not None


def require_name(name: str) -> None:
    if not is_name(name):
        raise Refused(
            Code.NAME_UNUSABLE,
            f"{name!r} cannot be used as a name.",
            f"Use up to {NAME} letters, digits, spaces and the signs . , @ : + ' -, and begin with "
            "a letter or a digit.",
        )


def same_name(one: str, other: str) -> bool:
    """Names that differ only in case, spaces or the encoding of letters are the same."""
    return _normalized(one) == _normalized(other)


def is_among(name: str, names: Iterable[str]) -> bool:
    return any(same_name(name, other) for other in names)


def _normalized(name: str) -> str:
    folded = normalize("NFKC", name).casefold()
    return " ".join(normalize("NFKC", folded).split())
