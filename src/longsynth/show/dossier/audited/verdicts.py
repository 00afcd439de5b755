"""What an audit found, in sentences that a review board can quote. None claims more than the
numbers show."""

from dataclasses import dataclass
from typing import Literal

from longsynth.audit.registry import label_of, shown_in
from longsynth.audit.result import ON_REAL, ON_SYNTHETIC, SYNTHETIC, TRAINING
from longsynth.show.dossier.audited.audit_file import Audit, ScoreRecord
from longsynth.show.dossier.audited.tables import ATTACKS, canary_scores

Tone = Literal["good", "open", "poor"]
APART = "real_vs_synthetic_auc"  # quoted on its own, not as one of the distances
WORST = "worst_group_auprc"


@dataclass(frozen=True, slots=True)
class Verdict:
    about: str
    says: str
    tone: Tone


def verdicts(audit: Audit, auc_limit: str) -> tuple[Verdict, ...]:
    """`auc_limit` is what the ledger allows the strongest possible attacker."""
    all_ = (
        _use(audit),
        _likeness(audit),
        _fairness(audit),
        *(_membership(audit, metric, auc_limit) for metric in ATTACKS),
        _attribute(audit),
        _canary(audit),
    )
    return tuple(verdict for verdict in all_ if verdict is not None)


def _use(audit: Audit) -> Verdict:
    about = "Use for prediction"
    ours = audit.of("utility", ON_SYNTHETIC, "logistic").get("auroc")
    real = audit.of("utility", ON_REAL, "logistic").get("auroc")
    if ours is None or real is None or ours.value is None or real.value is None:
        return Verdict(about, _unknown(ours), "open")
    facts = (
        f"A logistic model trained on synthetic patients ranks {audit.panels.patients['test']:,} "
        f"real test patients with an AUROC of {ours.shown(2)}. Trained on real patients, it "
        f"reaches {real.shown(2)}; guessing reaches 0.50."
    )
    if ours.note:
        return Verdict(about, f"{facts} But: {ours.note}.", "open")
    if ours.lower is None or real.lower is None or ours.upper is None:
        return Verdict(about, f"{facts} Without intervals, no conclusion is possible.", "open")
    if ours.lower <= 0.5:
        return Verdict(about, f"{facts} It is not shown to be better than guessing.", "poor")
    if ours.upper < real.value:
        says = f"{facts} It is better than guessing and worse than training on real patients."
        return Verdict(about, says, "poor")
    says = (
        f"{facts} It is better than guessing. With this number of patients, a loss compared with "
        "training on real patients is neither shown nor ruled out."
    )
    return Verdict(about, says, "good")


def _likeness(audit: Audit) -> Verdict:
    ours, real = (audit.of("fidelity", row) for row in (SYNTHETIC, TRAINING))
    compared = [
        m
        for m in shown_in("dossier", "fidelity")
        if m in ours and m in real and ours[m].value is not None and real[m].value is not None
    ]
    near = [m for m in compared if _at_most(ours[m], real[m])]
    far = [m for m in compared if m not in near]
    says = (
        f"{len(compared)} distances from held-out real patients were measured. {len(near)} are not "
        "shown to be larger than between two real cohorts: their intervals overlap."
    )
    if named := [label_of(m) for m in far if m != APART]:
        says += f" Larger: {'; '.join(named)}."
    apart = ours.get(APART)
    if apart is not None and apart.value is not None:
        says += (
            f" A classifier distinguishes synthetic from real patients with an AUC of "
            f"{apart.shown(2)}"
        )
        says += f", and two real cohorts with {real[APART].shown(2)}" if APART in far else ""
        says += ". 0.50 means not at all, 1 means always."
    tone: Tone = "good" if not far else "open" if 2 * len(near) >= len(compared) else "poor"
    return Verdict("Likeness", says, tone)


def _fairness(audit: Audit) -> Verdict | None:
    ours = audit.of("subgroups", ON_SYNTHETIC, "logistic")
    real = audit.of("subgroups", ON_REAL, "logistic")
    worst = ours.get(WORST)
    if worst is None or WORST not in real:
        return None
    if worst.value is None:
        return Verdict("Groups", _unknown(worst), "open")
    says = (
        f"In the worse-served group, average precision is {worst.shown(2)} after training on "
        f"synthetic patients and {real[WORST].shown(2)} after training on real ones."
    )
    few = [s for m, s in ours.items() if m.startswith("group") and _is_part(m) and s.note]
    if few:
        says += f" {len(few)} of the groups and sites below have too few events for a conclusion."
    there = real[WORST].value
    lost = there is not None and worst.upper is not None and worst.upper < there
    return Verdict("Groups", says, "poor" if lost else "open" if few else "good")


def _is_part(metric: str) -> bool:
    return metric.endswith("_auprc") and not metric.startswith("group_gap")


def _membership(audit: Audit, metric: str, auc_limit: str) -> Verdict:
    ours, real = (audit.of("attacks", row) for row in (SYNTHETIC, TRAINING))
    score, control = ours.get(metric), ours.get(f"{metric}_control")
    about = f"Membership attack by {ATTACKS[metric]}"
    if score is None or control is None or score.value is None:
        return Verdict(about, _unknown(score), "open")
    success = real[metric].shown(2) if metric in real else "–"
    facts = (
        f"AUC {score.shown()}. Among outsiders only: {control.shown()}. On the fitted patients "
        f"themselves, where it must succeed: {success}."
    )
    tone: Tone = "poor"
    says = "This attack beat guessing: investigate before release."
    if _covers(score, 0.5):
        tone, says = "good", "This attack was not shown to beat guessing."
    elif _covers(control, score.value):
        tone = "open"
        says = (
            "Its interval excludes guessing, but the control deviates as much by chance: success "
            "is neither shown nor ruled out."
        )
    says = (
        f"{facts} {says} This is no proof about other attacks; the ledger bounds the strongest "
        f"possible one at {auc_limit}."
    )
    return Verdict(about, says, tone)


def _attribute(audit: Audit) -> Verdict | None:
    ours = audit.of("attacks", SYNTHETIC)
    gain = ours.get("attribute_advantage")
    if gain is None or gain.value is None:
        return None
    names = ("attribute_accuracy", "attribute_accuracy_control", "attribute_baseline")
    fitted, outsiders, majority = (ours[m].shown(2) if m in ours else "–" for m in names)
    facts = (
        f"The share of correct guesses of a hidden attribute is {fitted} for fitted patients and "
        f"{outsiders} for outsiders. Guessing the majority's answer reaches {majority}."
    )
    about = "Attribute attack"
    if _covers(gain, 0.0):
        says = (
            f"{facts} No difference due to having been fitted was shown; the guesses rest on the "
            "population."
        )
        return Verdict(about, says, "good")
    return Verdict(about, f"{facts} Fitted patients and outsiders differ: investigate.", "poor")


def _canary(audit: Audit) -> Verdict:
    about = "Canaries"
    scores = canary_scores(audit)
    gain, exposed = scores.get("canary_advantage_1"), scores.get("canary_exposure_1")
    if gain is None or exposed is None or gain.value is None:
        says = "None were planted, so this audit says nothing about them."
        return Verdict(about, says, "open")
    facts = (
        f"One extreme patient was planted before fits. {exposed.shown(3)} of the synthetic "
        f"patients were close to it: {gain.shown(3)} more than where none was planted."
    )
    if _covers(gain, 0.0):
        return Verdict(about, f"{facts} These fits do not show that it was learnt.", "good")
    return Verdict(about, f"{facts} It left a trace; ε allows a small one.", "open")


def _covers(score: ScoreRecord, value: float) -> bool:
    """Whether the interval includes a value; without an interval, whether it is near."""
    if score.value is None:
        return True
    if score.lower is None or score.upper is None:
        return abs(score.value - value) < 0.02
    return score.lower <= value <= score.upper


def _at_most(ours: ScoreRecord, real: ScoreRecord) -> bool:
    """Whether the intervals leave open that ours is no larger."""
    low = ours.lower if ours.lower is not None else ours.value
    high = real.upper if real.upper is not None else real.value
    return low is not None and high is not None and low <= high


def _unknown(score: ScoreRecord | None) -> str:
    why = f": {score.note}" if score is not None and score.note else ""
    return f"Cannot be evaluated from this audit{why}."
