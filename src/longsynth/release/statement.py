"""STATEMENT.md: what is guaranteed, to whom, and what is not, in words a board can read."""

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
from longsynth.schema.schema import Schema
from longsynth.system.origin import Origin
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
    """The plan as JSON."""
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
    """The figures of the plan, and the exact values that a check needs."""
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
        raise TypeError("a ledger without a budget states no guarantee")
    return ledger.budget


@dataclass(frozen=True, slots=True)
class Attacker:
    """What the strongest possible attacker can do, who knows all but one patient's record."""

    auc: float
    true_positives: float  # share detected at 1 % false alarms

    def shown(self) -> tuple[str, str]:
        """Both limits, rounded up, so that they hold as shown."""
        auc, detected = ceil(1000 * self.auc), ceil(1000 * self.true_positives)
        return f"{auc / 1000:.3f}", f"{detected / 10:.1f} %"

    @classmethod
    def against(cls, rho: Fraction) -> "Attacker":
        mu, normal = sqrt(2 * rho), NormalDist()
        return cls(normal.cdf(mu / sqrt(2)), normal.cdf(normal.inv_cdf(0.01) + mu))


def delta_warning(budget: Budget, patients: int) -> str | None:
    """δ is a probability of failure for each patient. It should be far below 1/N."""
    advised = 1 / (10 * patients)
    if budget.delta <= advised:
        return None
    return (
        f"δ = {budget.delta:g} allows the guarantee to fail completely for up to one patient in "
        f"{1 / budget.delta:,.0f}. It is above 1/(10·N) = {advised:.2g} for {patients:,} patients: "
        f"use {10.0 ** floor(log10(advised) + 1e-9):.0e} or less."
    )


def odds_in_words(epsilon: float) -> str:
    """e^ε, rounded up."""
    factor = exp(epsilon)
    return f"{ceil(100 * factor) / 100:.2f}" if factor < 100 else f"{ceil(factor):,}"


def rounded_up(number: float) -> str:
    """Six digits, rounded up."""
    return f"{Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(repr(number))):f}"


def cumulative(provenance: Provenance) -> str:
    """Say what the guarantee leaves out about other fits of these patients."""
    if provenance.book is None:
        return (
            "- Other releases about the same patients. **No budget book was kept, so repeated fits "
            "were not added up.**"
        )
    return "- Releases about the same patients that were not charged to the budget book below."


def people(provenance: Provenance) -> str:
    """Say who fitted, and under which governance form, if that was given."""
    by = provenance.fitted_by and f"- **Fitted by**: {markdown(provenance.fitted_by)}.\n"
    form = provenance.governance and (
        f"- **Governance form**: SHA-256 `{provenance.governance}`. Ask the data steward for it.\n"
    )
    return (by or "") + (form or "")


def codes_of(schema: Schema) -> str:
    """Name the lists of codes, all of whose codes are protected, also those beyond the cap."""
    lists = ", ".join(markdown(listed.name) for listed in schema.codes)
    return f", and all codes ({lists}), in whichever slots" if lists else ""


def method_code(origin: Origin) -> str:
    """Say whose code the method is, as far as the fit could tell."""
    named = f"from `{origin.distribution}` version `{origin.version}`"
    if origin.distribution is None:
        named = f"from {origin.named}"
    return named + (f", code with SHA-256 `{origin.sha256}`" if origin.sha256 else "")


def constants_by_hand(bundle: Bundle) -> str:
    """Name and value, with every digit, of each constant that does not follow from the rules."""
    return ", ".join(
        f"`{name}` = {value if isinstance(value, str) else as_typed(value)}"
        for name, value in bundle.by_hand.items()
    )


def chosen(bundle: Bundle) -> str:
    """A number that someone chose could carry a fact about a patient, so a board must see it."""
    constants = constants_by_hand(bundle)
    return constants and (
        f"- **Constants set by hand**: {constants}. All others follow from public rules. Nothing "
        "here can show that these were chosen without looking at the patients.\n"
    )


def book_section(provenance: Provenance) -> str:
    """The guarantee of a book is its cap: ρ adds up, ε is converted once."""
    if provenance.book is None:
        return ""
    accounts = [
        f"| {markdown(a.dataset)} | ε = {as_typed(a.cap.epsilon)}, δ = {as_typed(a.cap.delta)} "
        f"| {Attacker.against(a.cap.rho).shown()[0]} | {float(a.spent):.6g} of "
        f"{float(a.cap.rho):.6g} "
        f"| {rounded_up(epsilon_of(a.spent, a.cap.delta, a.cap.accounting))} |"
        for a in provenance.book.accounts
    ]
    return f"""## All fits about these patients together

This fit is entry {provenance.book.entry} of the data owner's budget book and was charged before \
its noise was drawn. The guarantee for all fits together is the cap, which was fixed before the \
first fit.

| dataset | cap (the guarantee) | limit on the attacker's AUC | ρ spent so far | spent, as ε |
|---|---|---|---|---|
{chr(10).join(accounts)}

The head of the book after this entry is `{provenance.book.head}`.

"""


def protected_facts(schema: Schema) -> str:
    """Outcomes, groups and site by name; a schema in shorthand calls them event and group."""
    outcomes, groups = ([e.name for e in x] for x in (schema.outcomes, schema.groups))
    if outcomes in ([], ["event"]) and groups in ([], ["group"]):
        return "group, event and site"
    said = {"outcomes": outcomes, "groups": groups}
    named = (f"{what} ({markdown(', '.join(names))})" for what, names in said.items() if names)
    return f"{', '.join(named)} and site"


def statement(bundle: Bundle, provenance: Provenance) -> str:
    ledger, schema = bundle.ledger, bundle.schema
    budget = promised(ledger)
    auc, detected = Attacker.against(ledger.spent).shown()
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
    mark = "" if ledger.noise == OPENDP else f"> **{ledger.noise}. It protects nobody.**\n\n"
    if caution:
        mark += f"> **Caution: not a method of longsynth.** {caution[0].upper()}{caution[1:]}\n\n"
    mark += f"> **Warning.** {warning}\n\n" if warning else ""
    return f"""# Privacy statement

{mark}Everything in this folder, and every synthetic dataset sampled from it, is differentially \
private for each patient, with

**ε = {as_typed(budget.epsilon)}, δ = {as_typed(budget.delta)}**, accounting `{budget.accounting}`.

- **Cohort**, in the words of its data steward:
  > {markdown(schema.name)}

- **Unit of protection**: one patient's complete record: every measurement, when and whether it \
was taken, {protected_facts(schema)}{codes_of(schema)}.
- **Adjacency**: that record is replaced by any other. The number of patients, \
{ledger.patients:,}, is public.
- **Method**: `{bundle.method}`, {method_code(bundle.origin)}. Only {
        sum(e.statistic.dimension for e in ledger.entries):,} numbers were released, each with {
        ledger.noise
    } noise added. \
Everything else is computed from them and from the public schema.
{chosen(bundle)}{people(provenance)}
## What this ε means

Consider the strongest possible attacker, who knows every other patient's full record, two \
candidate records for one patient, and this software. The attacker guesses from this folder which \
of the two records was used. No method can do better than this:

| the attacker's | limit | pure chance |
|---|---|---|
| area under the ROC curve | {auc} | 0.5 |
| detection rate at 1 % false alarms | {detected} | 1 % |
| factor on the odds, except with probability δ | {odds_in_words(budget.epsilon)} | 1 |

The ε of the same noise under each accounting, at δ = {as_typed(budget.delta)}:

| accounting | ε |
|---|---|
{chr(10).join(epsilons)}

All three describe the same noise. The claimed one is the guarantee. `paper` is a looser formula, \
and `gaussian` is exact.

## What was released

| statistic | meaning | numbers | ρ | share |
|---|---|---|---|---|
{chr(10).join(lines)}
| **total** | | | **{float(ledger.spent):.6g}** | **{
        float(100 * sum(e.share for e in ledger.entries)):g} %** |

{book_section(provenance)}## What is not covered

- Facts about the population. That a treatment is associated with an outcome is learned whether or \
not any one patient took part.
- Groups. For k patients together, such as a family, ε grows about k-fold.
{cumulative(provenance)}
- Facts about a whole site, the number of patients, and the choice of the public schema.
- The `internal/` folder of the run, which has no protection and must not be shared.
- Clinical validity. Nothing here shows that a finding in synthetic data holds for patients.

## How to check it

`longsynth verify` recomputes the ledger, the hashes and the model of this folder without the \
data. `ledger.json` lists every released statistic with its sensitivity, noise and cost. This \
shows that the folder is consistent. It cannot show who made it, or that the noise was drawn as \
stated. If the folder is signed, `longsynth verify` with the signer's public key shows who vouches \
for it. In any case, compare this fingerprint with the one that the data steward gives you through \
another channel:

`{bundle.fingerprint}`
"""
