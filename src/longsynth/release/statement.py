"""STATEMENT.md: what is promised, to whom, and what is not, in words a board can read."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, exp, floor, log10, sqrt
from statistics import NormalDist
from typing import Any

from longsynth.bundle import Bundle, per_unit
from longsynth.govern.provenance import Provenance
from longsynth.privacy.budget import ACCOUNTINGS, Budget, epsilon_of
from longsynth.privacy.ledger import ADJACENCY, Entry, Ledger
from longsynth.privacy.noise import OPENDP
from longsynth.system.provenance import Origin
from longsynth.system.text import as_typed, markdown


def natural(entry: Entry) -> dict[str, float | str]:
    """A line in the statistic's own units: sums over patients."""
    scale = per_unit(entry.statistic)
    return {
        "statistic": entry.statistic.name,
        "sensitivity": sqrt(entry.statistic.sensitivity_squared) / scale,
        "sigma": entry.sigma / scale,
        "rho": float(entry.rho or 0),
        "share": float(entry.share),
    }


def plan_json(method: str, ledger: Ledger) -> dict[str, Any]:
    """What `longsynth plan --json` prints."""
    budget = promised(ledger)
    return {
        "method": method,
        "patients": ledger.patients,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "accounting": budget.accounting,
        "total_rho": float(ledger.spent),
        "entries": [natural(entry) for entry in ledger.entries],
    }


def ledger_json(method: str, ledger: Ledger) -> dict[str, Any]:
    """The plan's figures, and beside them everything that a check needs exactly."""
    budget = promised(ledger)
    entries = [
        natural(entry)
        | {
            "meaning": entry.statistic.meaning,
            "kind": entry.statistic.kind,
            "numbers": entry.statistic.dimension,
            "noise": entry.noise,
            "exact": {
                "sensitivity_squared": str(entry.statistic.sensitivity_squared),
                "sigma": entry.sigma,
                "rho": str(entry.rho),
                "share": str(entry.share),
                "integers_per_unit": per_unit(entry.statistic),
            },
        }
        for entry in ledger.entries
    ]
    epsilons = {a: epsilon_of(ledger.spent, budget.delta, a) for a in ACCOUNTINGS}
    return plan_json(method, ledger) | {
        "format": 1,
        "adjacency": ADJACENCY,
        "noise": ledger.noise,
        "exact_total_rho": str(ledger.spent),
        "epsilon_under": epsilons,
        "entries": entries,
    }


def promised(ledger: Ledger) -> Budget:
    if ledger.budget is None:
        raise TypeError("a ledger without a budget makes no promise to state")
    return ledger.budget


@dataclass(frozen=True, slots=True)
class Attacker:
    """What the best possible attacker can do, who knows everything but one patient's record."""

    auc: float
    true_positives: float  # share found at 1 % false alarms

    def shown(self) -> tuple[str, str]:
        """Both limits, rounded up, so that none is exceeded."""
        auc, found = ceil(1000 * self.auc), ceil(1000 * self.true_positives)
        return f"{auc / 1000:.3f}", f"{found / 10:.1f} %"

    @classmethod
    def against(cls, rho: Fraction) -> "Attacker":
        mu, normal = sqrt(2 * rho), NormalDist()
        return cls(normal.cdf(mu / sqrt(2)), normal.cdf(normal.inv_cdf(0.01) + mu))


def delta_warning(budget: Budget, patients: int) -> str | None:
    """δ is a chance of failure for each patient; it should be far below one in N."""
    advised = 1 / (10 * patients)
    if budget.delta <= advised:
        return None
    return (
        f"δ = {budget.delta:g} lets the promise fail completely for up to one patient in "
        f"{1 / budget.delta:,.0f}; it is above 1/(10·N) = {advised:.2g} for {patients:,} patients. "
        f"Advised is {10.0 ** floor(log10(advised) + 1e-9):.0e} or less."
    )


def odds_in_words(epsilon: float) -> str:
    """e^ε, rounded up."""
    factor = exp(epsilon)
    return f"{ceil(100 * factor) / 100:.2f}" if factor < 100 else f"{ceil(factor):,}"


def rounded_up(number: float) -> str:
    """Six digits, never below."""
    return f"{Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(repr(number))):f}"


def cumulative(provenance: Provenance) -> str:
    """Say what all fits about these patients add up to, as far as a budget book knows."""
    if provenance.book is None:
        return (
            "- Other releases about the same patients. **No budget book was kept: repeated fits "
            "were not added up.**"
        )
    return "- Releases about the same patients that were not charged to the budget book below."


def people(provenance: Provenance) -> str:
    """Say who fitted, and under which governance form, where that was given."""
    by = provenance.fitted_by and f"- **Fitted by**: {markdown(provenance.fitted_by)}.\n"
    form = provenance.governance and (
        f"- **Governance form**: the one with SHA-256 `{provenance.governance}`, which the data "
        "holder can show.\n"
    )
    return (by or "") + (form or "")


def method_code(origin: Origin) -> str:
    """Say whose code the method is, as far as the fit could tell."""
    named = f"from `{origin.distribution}` version `{origin.version}`"
    if origin.distribution is None:
        named = f"from {origin.named}"
    return named + (f", code with SHA-256 `{origin.sha256}`" if origin.sha256 else "")


def constants_by_hand(bundle: Bundle) -> str:
    """Name and value of each constant that does not follow from the rules, every digit of it."""
    return ", ".join(
        f"`{name}` = {value if isinstance(value, str) else as_typed(value)}"
        for name, value in bundle.by_hand.items()
    )


def chosen(bundle: Bundle) -> str:
    """A number that someone chose could carry a fact about a patient: a board has to see it."""
    found = constants_by_hand(bundle)
    return found and (
        f"- **Constants set by hand**: {found}. All others follow from public rules. These were "
        "chosen, and nothing here can show that they were chosen without looking at the patients.\n"
    )


def book_section(provenance: Provenance) -> str:
    """The guarantee of a book is its cap: ρ adds up, ε is converted once."""
    if provenance.book is None:
        return ""
    rows = [
        f"| {markdown(a.dataset)} | ε = {as_typed(a.cap.epsilon)}, δ = {as_typed(a.cap.delta)} "
        f"| {Attacker.against(a.cap.rho).shown()[0]} | {float(a.spent):.6g} of "
        f"{float(a.cap.rho):.6g} "
        f"| {rounded_up(epsilon_of(a.spent, a.cap.delta, a.cap.accounting))} |"
        for a in provenance.book.accounts
    ]
    return f"""## All fits about these patients together

This fit is entry {provenance.book.entry} of the data owner's budget book, charged before its \
noise was drawn. The guarantee for all fits together is the cap, fixed before the first of them.

| dataset | cap: the guarantee | attacker's limit, AUC | ρ spent so far | as ε |
|---|---|---|---|---|
{chr(10).join(rows)}

The head of the book after this entry is `{provenance.book.head}`.

"""


def statement(bundle: Bundle, provenance: Provenance) -> str:
    ledger, schema = bundle.ledger, bundle.schema
    budget = promised(ledger)
    auc, found = Attacker.against(ledger.spent).shown()
    epsilons = [
        f"| {'**' + a + '** (claimed)' if a == budget.accounting else a} "
        f"| {rounded_up(epsilon_of(ledger.spent, budget.delta, a))} |"
        for a in ACCOUNTINGS
    ]
    lines = [
        f"| {markdown(e.statistic.name)} | {markdown(e.statistic.meaning)} "
        f"| {e.statistic.dimension:,} "
        f"| {float(e.rho or 0):.6g} | {float(100 * e.share):g} % |"
        for e in ledger.entries
    ]
    warning = delta_warning(budget, ledger.patients)
    caution = bundle.origin.caution(bundle.method)
    mark = "" if ledger.noise == OPENDP else f"> **{ledger.noise}. Protects nobody.**\n\n"
    if caution:
        mark += f"> **Caution: not a method of longsynth.** {caution[0].upper()}{caution[1:]}\n\n"
    mark += f"> **Warning.** {warning}\n\n" if warning else ""
    return f"""# Privacy statement

{mark}Everything in this folder, and every synthetic dataset drawn from it, is differentially \
private for patients with

**ε = {as_typed(budget.epsilon)}, δ = {as_typed(budget.delta)}**, accounting `{budget.accounting}`.

- **Cohort**, as its holder calls it:
  > {markdown(schema.name)}

- **Unit of protection**: one patient's complete record: every measurement, when and whether it \
was taken, group, event and site.
- **Adjacency**: replacing that record by any other. The number of patients, \
{ledger.patients:,}, is public.
- **Method**: `{bundle.method}`, {method_code(bundle.origin)}. All that left the data are {
        sum(e.statistic.dimension for e in ledger.entries):,} whole numbers with {
        ledger.noise
    } noise; the rest is computed from them and \
from the public schema.
{chosen(bundle)}{people(provenance)}
## What this ε means

Take an attacker who knows every other patient's full record, both candidate records of one \
patient, and this software. From this folder the attacker cannot do better than this, by any \
method:

| guess which of the two records was used | limit | pure chance |
|---|---|---|
| area under the ROC curve | {auc} | 0.5 |
| found, at 1 % false alarms | {found} | 1 % |
| factor on the attacker's odds, but for δ | {odds_in_words(budget.epsilon)} | 1 |

The same noise stated under each accounting, at δ = {as_typed(budget.delta)}:

| accounting | ε |
|---|---|
{chr(10).join(epsilons)}

All three describe the same noise. The claimed one is the promise; `paper` is a looser formula for \
it, `gaussian` the exact one.

## What was released

| statistic | meaning | numbers | ρ | share |
|---|---|---|---|---|
{chr(10).join(lines)}
| **total** | | | **{float(ledger.spent):.6g}** | **{
        float(100 * sum(e.share for e in ledger.entries)):g} %** |

{book_section(provenance)}## What is not covered

- Facts about the population: that a treatment goes with an outcome is learnt whether or not any \
one patient took part.
- Groups: for k patients together, such as a family, the protection weakens about k-fold in ε.
{cumulative(provenance)}
- Facts about a whole site, the number of patients, and the choice of the public schema.
- The run's `internal/` folder, which is not protected at all and must not leave.
- Clinical validity: nothing here says that a finding in synthetic data holds for patients.

## How to check it

`longsynth verify` with this folder recomputes the account, the hashes and the model without the \
data. `ledger.json` lists every release with its sensitivity, noise and cost. That shows that the \
folder is consistent; it cannot show who made it, or that the noise was drawn as stated. If the \
folder is signed, `longsynth verify --key` with the signer's public key shows who vouches for it. \
In any case compare the fingerprint with the one that the data holder gives you by another way:

`{bundle.fingerprint}`
"""
