"""What an audit found, in sentences that a review board can quote. None claims more than is shown:
without an interval there is no verdict, and a difference counts only in its bad direction."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from longsynth.audit.registry import shown_in
from longsynth.audit.result import BASE_RATE, ON_REAL, ON_SYNTHETIC, SYNTHETIC, TRAINING
from longsynth.schema.schema import Schema
from longsynth.show.dossier.audit_file import Audit, ScoreRecord
from longsynth.show.dossier.scores import ATTACKS, OF_PARTS, canary_scores, parts_scored
from longsynth.show.dossier.words import capital, listed, metric_label, part_name, target_name

Tone = Literal["good", "open", "poor"]
TONES: dict[Tone, tuple[str, str]] = {
    "good": ("no problem found", "neither a loss that matters nor a successful attack was shown"),
    "open": ("undecided", "the audit cannot tell"),
    "poor": ("needs attention", "a loss that matters, or a successful attack, was shown"),
}
KEPT = 0.8  # of the gain over guessing that real patients give: a fifth is what may be lost
SLIGHT = 0.05  # of a distance's scale, beyond two real cohorts: less changes no description
ALIKE, CLEAR = 0.6, 0.9  # AUC of telling apart: six pairs in ten is close to guessing, nine is not
APART = "real_vs_synthetic_auc"
BY_CHANCE = (
    "Its interval excludes guessing, but the control deviates as much by chance: success is "
    "neither shown nor ruled out."
)
NO_INTERVAL = "There is no interval, so no conclusion is possible."


@dataclass(frozen=True, slots=True)
class Verdict:
    about: str
    tone: Tone
    says: str
    board: str = ""  # the same for the first page, in one sentence
    avoid: str = ""  # what the data should not be used for, as far as this verdict goes
    attack: bool = False


def verdicts(schema: Schema, audit: Audit, auc_limit: str) -> tuple[Verdict, ...]:
    """`auc_limit` is what the ledger allows the strongest possible attacker."""
    return (
        *(_prediction(schema, audit, o) for o in audit.outcomes or _first_names(schema)),
        *(v for outcome in audit.outcomes if (v := _groups(schema, audit, outcome))),
        _description(schema, audit),
        _told_apart(audit),
        *(_membership(audit, metric, auc_limit) for metric in ATTACKS),
        _attribute(audit),
        _canary(audit),
    )


# What speaks for the prediction of an outcome: the score, its name in a sentence, and the model. Of
# each, higher is better.
SPEAKS = {
    "auprc": ("average precision", "A logistic model"),
    "r2": ("R²", "A linear model"),
    "concordance": ("concordance", "A Cox model"),
}


def _prediction(schema: Schema, audit: Audit, outcome: str) -> Verdict:
    computed = audit.of("utility", BASE_RATE, "", True, outcome)
    metric = next((m for m in SPEAKS if m in computed), "auprc")
    ours, real, base = _scores(audit, "utility", metric, outcome)
    (measure, model), name = SPEAKS[metric], target_name(schema, outcome)
    tone, found = kept(ours, real, base)
    says = (
        f"{model} predicts “{name}” for {audit.panels.patients['test']:,} real test patients. Its "
        f"{measure} is {_shown(ours)} after training on synthetic patients, {_shown(real)} after "
        f"training on real ones, and {_shown(base)} at the base rate. {found}"
    )
    board = (
        f"Prediction of “{name}”, {TONES[tone][0]}: {measure} {_value(ours)}, against "
        f"{_value(real)} with real patients and {_value(base)} by guessing."
    )
    avoid = f"prediction models of “{name}”" if tone == "poor" else ""
    about = "Prediction" if len(audit.outcomes) < 2 else f"Prediction of {name}"
    return Verdict(about, tone, says, board if outcome in audit.outcomes[:1] else "", avoid)


def _first_names(schema: Schema) -> list[str]:
    """The primary outcome, if the schema has one."""
    return [outcome.name for outcome in schema.outcomes[:1]]


def _groups(schema: Schema, audit: Audit, outcome: str) -> Verdict | None:
    """The part of the patients that is served worst decides. An absolute error has no share that
    is kept, so numbers have no verdict here."""
    tones: dict[str, Tone] = {}
    parts, measure = [], ""
    for part, metric in parts_scored(audit, outcome).items():
        if metric.endswith("_mae"):
            continue
        measure, level = OF_PARTS[metric.rpartition("_")[2]], part_name(schema, part)
        ours, real, base = _scores(audit, "subgroups", metric, outcome)
        tones[level], found = kept(ours, real, base)
        each = f"{_shown(ours)} (real {_shown(real)}, base rate {_shown(base)})"
        parts.append(f"“{level}”: {each}. {found}")
    if not tones:
        return None
    tone = max(tones.values(), key=list(TONES).index)
    worse = [f"“{level}”" for level, each in tones.items() if each != "good"]
    board = f"Groups, {TONES[tone][0]}"
    board += f": {listed(worse)}." if worse else ": each is served like everybody."
    says = f"{capital(measure)} by group. {' '.join(parts)}"
    lost = [f"“{level}”" for level, each in tones.items() if each == "poor"]
    about = "Groups" if len(audit.outcomes) == 1 else f"Groups, {target_name(schema, outcome)}"
    avoid = f"conclusions about groups ({', '.join(lost)})" if lost else ""
    return Verdict(about, tone, says, board if outcome == audit.outcomes[0] else "", avoid)


def kept(
    ours: ScoreRecord | None, real: ScoreRecord | None, base: ScoreRecord | None
) -> tuple[Tone, str]:
    """How much of what real patients gain over guessing synthetic patients keep."""
    if ours is None or ours.value is None or not real or real.value is None:
        return "open", _unknown(ours)
    if base is None or base.value is None:
        return "open", _unknown(base)
    if ours.note:
        return "open", f"But: {ours.note}."
    if ours.lower is None or ours.upper is None or real.lower is None:
        return "open", NO_INTERVAL
    if real.lower <= base.value:
        return "open", "Not even real patients are shown to predict better than the base rate."
    low, high = ((x - base.value) / (real.value - base.value) for x in (ours.lower, ours.upper))
    if high < KEPT and low <= 0:
        return "poor", "It is not shown to be better than guessing, and worse than real patients."
    if high < KEPT:
        return "poor", "More than a fifth of the gain over guessing is lost."
    if low >= KEPT:
        return "good", "At least four fifths of the gain over guessing are kept."
    better = "It is better than guessing. " if low > 0 else ""
    return "open", f"{better}A loss of more than a fifth is neither shown nor ruled out."


def _description(schema: Schema, audit: Audit) -> Verdict:
    about, (ours, real) = "Description", (audit.of("fidelity", r) for r in (SYNTHETIC, TRAINING))
    named = [m for m in shown_in("dossier", "fidelity") if m != APART and m in ours and m in real]
    pairs = {m: (ours[m], real[m]) for m in named if ours[m].lower is not None}
    pairs = {m: pair for m, pair in pairs.items() if pair[1].upper is not None}
    if not pairs:
        says = NO_INTERVAL if named else _unknown(None)
        return Verdict(about, "open", says, f"Description, undecided: {says}")
    larger = {m: pair for m, pair in pairs.items() if _further(schema, m, *pair)}
    far = [m for m, (a, b) in larger.items() if a.lower is not None and a.lower > (b.upper or 0.0)]
    labels = "; ".join(metric_label(schema, m) for m in far)
    unclear = "; ".join(metric_label(schema, m) for m in larger if m not in far)
    says = (
        f"{len(pairs)} kinds of distance from held-out real patients were measured. "
        f"{len(pairs) - len(larger)} are at most slightly larger than between two real cohorts."
    )
    says += f" Clearly larger: {labels}." if far else ""
    says += f" Perhaps larger: {unclear}." if unclear else ""
    tone: Tone = "poor" if far else "open" if unclear else "good"
    board = f"Description, {TONES[tone][0]}: {len(far) or 'none'} of {len(pairs)} summaries "
    board += "differs" if len(far) == 1 else "differ"
    board += f" clearly from real patients{f' ({labels})' if far else ''}."
    return Verdict(
        about, tone, says, board, f"results that rest on {labels.replace(';', ',')}" if far else ""
    )


def _further(schema: Schema, metric: str, ours: ScoreRecord, real: ScoreRecord) -> bool:
    """Whether a distance is larger than between real cohorts by so much that it matters: a share of
    1, or of the longest gap or record where it is in hours or slots."""
    longest = min(schema.max_gap, schema.slot_rule.horizon or schema.max_gap)
    scales = {"gap_wasserstein": longest, "visit_count_error": schema.slots}
    return (ours.value or 0.0) - (real.value or 0.0) > SLIGHT * scales.get(metric, 1.0)


def _told_apart(audit: Audit) -> Verdict:
    about = "Synthetic or real"
    ours, real = (audit.of("fidelity", row).get(APART) for row in (SYNTHETIC, TRAINING))
    if ours is None or ours.value is None:
        return Verdict(about, "open", _unknown(ours))
    facts = (
        f"A classifier tells synthetic from real patients with an AUC of {_shown(ours)}; two real "
        f"cohorts with {_shown(real)}. 0.50 means not at all, 1 means always."
    )
    if ours.lower is None or ours.upper is None:
        return Verdict(about, "open", f"{facts} {NO_INTERVAL}")
    if ours.upper <= ALIKE:
        return Verdict(
            about, "good", f"{facts} Synthetic patients can hardly be told from real ones."
        )
    if ours.lower <= ALIKE:
        return Verdict(about, "open", f"{facts} Whether they can be told apart is not clear.")
    clearly = "clearly" if ours.value >= CLEAR else "often"
    says = (
        f"{facts} Synthetic patients can {clearly} be told from real ones. So single "
        "records do not look real in every detail. This says nothing about privacy. One small "
        "regularity is enough for it, so it does not mean that summaries or predictions are wrong."
    )
    board = f"Single synthetic records can {clearly} be told from real ones."
    avoid = "the fine detail of single records, or a mix of synthetic and real patients"
    return Verdict(about, "poor", says, board, avoid)


def _membership(audit: Audit, metric: str, auc_limit: str) -> Verdict:
    ours, real = (audit.of("attacks", row) for row in (SYNTHETIC, TRAINING))
    score, control = ours.get(metric), ours.get(f"{metric}_control")
    about = f"Membership attack by {ATTACKS[metric]}"
    if score is None or control is None or score.value is None:
        return Verdict(about, "open", _unknown(score), attack=True)
    facts = (
        f"AUC {score.shown()}. Among outsiders only: {control.shown()}. On the fitted patients "
        f"themselves, where it must succeed: {_shown(real.get(metric))}."
    )
    limit = (
        f"This is no proof about other attacks; the ledger bounds the strongest possible one at "
        f"{auc_limit}."
    )
    tone: Tone = "poor"
    if score.lower is None or score.upper is None:
        tone, found = "open", NO_INTERVAL
    elif score.lower <= 0.5 <= score.upper:
        tone, found = "good", "This attack was not shown to beat guessing."
    elif _covers(control, score.value):
        tone, found = "open", BY_CHANCE
    elif max(score.lower, 1 - score.upper) > float(auc_limit):  # a ranking can be inverted
        found = "This is more than the ledger allows: do not release, and have the fit examined."
    else:
        found = "This attack beat guessing, within what the ledger allows: weigh it before release."
    return Verdict(about, tone, f"{facts} {found} {limit}", attack=True)


def _attribute(audit: Audit) -> Verdict:
    about, ours = "Attribute attack", audit.of("attacks", SYNTHETIC)
    gain = ours.get("attribute_advantage")
    if gain is None or gain.value is None:
        return Verdict(about, "open", _unknown(gain), attack=True)
    names = ("attribute_accuracy", "attribute_accuracy_control", "attribute_baseline")
    fitted, outsiders, majority = (_shown(ours.get(m)) for m in names)
    facts = (
        f"The share of correct guesses of a hidden attribute is {fitted} for fitted patients and "
        f"{outsiders} for outsiders. Guessing the majority's answer reaches {majority}."
    )
    tone, found = _above_zero(
        gain,
        "Fitted patients are guessed better than outsiders: weigh it before release.",
        "Having been fitted did not make a patient easier to guess: the guesses rest on the "
        "population.",
    )
    return Verdict(about, tone, f"{facts} {found}", attack=True)


def _canary(audit: Audit) -> Verdict:
    about, scores = "Canaries", canary_scores(audit)
    gain, exposed = scores.get("canary_advantage_1"), scores.get("canary_exposure_1")
    if gain is None or exposed is None or gain.value is None:
        says = "None were planted, so this audit says nothing about them."
        return Verdict(about, "open", says, attack=True)
    facts = (
        f"One extreme patient was planted before fits. {exposed.shown(3)} of the synthetic "
        f"patients were close to it: {gain.shown(3)} more than where none was planted."
    )
    tone, found = _above_zero(
        gain,
        "It left a trace. ε allows a small one: compare the bound below.",
        "These fits do not show that it was learnt.",
    )
    return Verdict(about, tone, f"{facts} {found}", attack=True)


def _above_zero(gain: ScoreRecord, above: str, otherwise: str) -> tuple[Tone, str]:
    """Only a gain counts: an attack that does worse on fitted patients than on others is none."""
    if gain.lower is None:
        return "open", NO_INTERVAL
    return ("poor", above) if gain.lower > 0 else ("good", otherwise)


def _scores(audit: Audit, section: str, metric: str, outcome: str) -> Iterator[ScoreRecord | None]:
    """Of the simplest model after training on synthetic and on real patients, and by guessing."""
    model = audit.first_model(outcome)
    for row, of in ((ON_SYNTHETIC, model), (ON_REAL, model), (BASE_RATE, "")):
        yield audit.of(section, row, of, True, outcome).get(metric)


def _covers(score: ScoreRecord, value: float) -> bool:
    return (
        score.lower is not None and score.upper is not None and score.lower <= value <= score.upper
    )


def _shown(score: ScoreRecord | None) -> str:
    return "–" if score is None else score.shown(2)


def _value(score: ScoreRecord | None) -> str:
    return "–" if score is None or score.value is None else f"{score.value:.2f}"


def _unknown(score: ScoreRecord | None) -> str:
    why = f": {score.note}" if score is not None and score.note else ""
    return f"Cannot be evaluated from this audit{why}."
