"""What an audit found, in sentences a board can quote. None says more than the numbers do."""

from dataclasses import dataclass
from typing import Literal

from longsynth.show.dossier.audited.audit_file import (
    ON_REAL,
    ON_SYNTHETIC,
    SYNTHETIC,
    TRAINING,
    Audit,
    Score,
)
from longsynth.show.dossier.audited.tables import FIDELITY, words

Tone = Literal["good", "open", "poor"]


@dataclass(frozen=True, slots=True)
class Verdict:
    about: str
    says: str
    tone: Tone


def verdicts(audit: Audit, auc_limit: str) -> tuple[Verdict, ...]:
    """`auc_limit` is what the ledger allows the best possible attacker."""
    found = (
        _use(audit),
        _likeness(audit),
        _fairness(audit),
        *_membership(audit, auc_limit),
        _attribute(audit),
        _canary(audit),
    )
    return tuple(v for v in found if v is not None)


def _use(audit: Audit) -> Verdict:
    about = "Use for prediction"
    ours = audit.of("utility", ON_SYNTHETIC, "logistic").get("auroc")
    real = audit.of("utility", ON_REAL, "logistic").get("auroc")
    if ours is None or real is None or ours.value is None or real.value is None:
        return Verdict(about, _unknown(ours), "open")
    facts = (
        f"A logistic model trained on synthetic patients ranks {audit.panels.patients['test']:,} "
        f"real test patients with an AUROC of {ours.shown(2)}; trained on real patients, "
        f"{real.shown(2)}; guessing, 0.50."
    )
    if ours.note:
        return Verdict(about, f"{facts} But: {ours.note}.", "open")
    if ours.lower is None or real.lower is None or ours.upper is None:
        return Verdict(about, f"{facts} Without intervals nothing more can be said.", "open")
    if ours.lower <= 0.5:
        return Verdict(about, f"{facts} It is not shown to be better than guessing.", "poor")
    if ours.upper < real.value:
        return Verdict(
            about, f"{facts} It is better than guessing and worse than training on real.", "poor"
        )
    return Verdict(
        about,
        f"{facts} It is better than guessing; on so many patients a loss against training on real "
        "is not established, nor ruled out.",
        "good",
    )


APART = "real_vs_synthetic_auc"


def _likeness(audit: Audit) -> Verdict:
    about = "Likeness"
    ours, real = (audit.of("fidelity", row) for row in (SYNTHETIC, TRAINING))
    judged = [
        m
        for m in FIDELITY
        if m in ours and m in real and ours[m].value is not None and real[m].value is not None
    ]
    near = [m for m in judged if _at_most(ours[m], real[m])]
    far = [m for m in judged if m not in near]
    says = (
        f"{len(judged)} distances from held-out real patients were measured. {len(near)} are not "
        "shown to be larger than between two real cohorts: their intervals overlap."
    )
    if named := [words(m) for m in far if m != APART]:
        says += f" Larger: {'; '.join(named)}."
    apart = ours.get(APART)
    if apart is not None and apart.value is not None:
        says += f" A classifier tells synthetic from real patients with an AUC of {apart.shown(2)}"
        says += f", two real cohorts with {real[APART].shown(2)}" if APART in far else ""
        says += "; 0.50 would be not at all, 1 always."
    tone: Tone = "good" if not far else "open" if 2 * len(near) >= len(judged) else "poor"
    return Verdict(about, says, tone)


def _fairness(audit: Audit) -> Verdict | None:
    ours = audit.of("subgroups", ON_SYNTHETIC, "logistic")
    real = audit.of("subgroups", ON_REAL, "logistic")
    worst = ours.get("worst_group_auprc")
    if worst is None or "worst_group_auprc" not in real:
        return None
    if worst.value is None:
        return Verdict("Groups", _unknown(worst), "open")
    says = (
        f"In the group served worse, average precision is {worst.shown(2)} after training on "
        f"synthetic patients and {real['worst_group_auprc'].shown(2)} after training on real ones."
    )
    few = [s for m, s in ours.items() if m.startswith("group") and _is_part(m) and s.note]
    if few:
        says += f" {len(few)} of the groups and sites below have too few events to say anything."
    there = real["worst_group_auprc"].value
    lost = there is not None and worst.upper is not None and worst.upper < there
    return Verdict("Groups", says, "poor" if lost else "open" if few else "good")


def _is_part(metric: str) -> bool:
    return metric.endswith("_auprc") and not metric.startswith("group_gap")


def _membership(audit: Audit, auc_limit: str) -> list[Verdict]:
    found = []
    ours, real = (audit.of("attacks", row) for row in (SYNTHETIC, TRAINING))
    for metric, name in (("mia_auc", "distance"), ("mia_density_auc", "density")):
        score, control = ours.get(metric), ours.get(f"{metric}_control")
        about = f"Membership attack by {name}"
        if score is None or control is None or score.value is None:
            found.append(Verdict(about, _unknown(score), "open"))
            continue
        success = real[metric].shown(2) if metric in real else "–"
        facts = (
            f"AUC {score.shown()}; among outsiders only {control.shown()}; on the fitted "
            f"patients themselves, where it must succeed, {success}."
        )
        if _holds(score, 0.5):
            says = f"{facts} This attack was not shown to beat guessing."
            tone: Tone = "good"
        elif _holds(control, score.value):
            says = (
                f"{facts} Its interval excludes guessing, though chance alone carries the control "
                "as far: neither shown nor ruled out."
            )
            tone = "open"
        else:
            says = f"{facts} This attack did better than guessing: look into it before release."
            tone = "poor"
        says += (
            f" That is no proof about other attacks; the ledger bounds the best possible one at "
            f"{auc_limit}."
        )
        found.append(Verdict(about, says, tone))
    return found


def _attribute(audit: Audit) -> Verdict | None:
    ours = audit.of("attacks", SYNTHETIC)
    gain = ours.get("attribute_advantage")
    if gain is None or gain.value is None:
        return None
    accuracy = {
        name: ours[key].shown(2)
        for name, key in (
            ("fitted", "attribute_accuracy"),
            ("outsiders", "attribute_accuracy_control"),
            ("majority", "attribute_baseline"),
        )
        if key in ours
    }
    facts = (
        f"A hidden attribute is guessed right for {accuracy.get('fitted', '–')} of fitted patients "
        f"and {accuracy.get('outsiders', '–')} of outsiders; a majority guess reaches "
        f"{accuracy.get('majority', '–')}."
    )
    if _holds(gain, 0.0):
        return Verdict(
            "Attribute attack",
            f"{facts} Having been fitted was not shown to matter; what is guessed comes from the "
            "population.",
            "good",
        )
    return Verdict(
        "Attribute attack", f"{facts} Fitted and other patients differ: look into it.", "poor"
    )


def _canary(audit: Audit) -> Verdict:
    about = "Canaries"
    others = [row for row, _, _ in audit.rows("attacks") if row not in (SYNTHETIC, TRAINING)]
    scores = {m: s for row in others for m, s in audit.of("attacks", row).items()}
    gain, exposed = scores.get("canary_advantage_1"), scores.get("canary_exposure_1")
    if gain is None or exposed is None or gain.value is None:
        return Verdict(about, "None were planted: this audit says nothing of them.", "open")
    facts = (
        f"One extreme patient, planted before fits, exposed {exposed.shown(3)} of the synthetic "
        f"patients; {gain.shown(3)} more than where none was planted."
    )
    if _holds(gain, 0.0):
        return Verdict(about, f"{facts} These fits do not show that it was learnt.", "good")
    return Verdict(about, f"{facts} It left a trace; ε allows some, not any.", "open")


def _holds(score: Score, nothing: float) -> bool:
    """Whether the interval does not exclude it; without an interval only the value itself can."""
    if score.value is None:
        return True
    if score.lower is None or score.upper is None:
        return abs(score.value - nothing) < 0.02
    return score.lower <= nothing <= score.upper


def _at_most(ours: Score, real: Score) -> bool:
    """Whether the intervals leave it open that ours is no larger."""
    low = ours.lower if ours.lower is not None else ours.value
    high = real.upper if real.upper is not None else real.value
    return low is not None and high is not None and low <= high


def _unknown(score: Score | None) -> str:
    why = f": {score.note}" if score is not None and score.note else ""
    return f"Cannot be judged from this audit{why}."
