"""A simulated deterioration cohort (tab:dataset): a latent severity and what a ward sees of it.

The seed draws the patients and nothing else. Every constant below is a literal, calibrated once on
a large population, so two seeds are two samples of one law and no number is solved from a sample.
The stressors are deliberate; none of them is an epidemiological estimate.
"""

from importlib.resources import files

import numpy as np
from numpy.random import Generator

from longsynth.reading.records import Cohort
from longsynth.schema.file import parse_text
from longsynth.schema.schema import Schema
from longsynth.system.arrays import Bools, Floats, Ints

SLOTS = 14  # observation times of every patient
VARIABLES = (  # the order of the last axis of values
    "heart_rate",
    "respiratory_rate",
    "oxygen_saturation",
    "crp",
    "medication_intensity",
    "oxygen_support",
)

# Who is in the cohort.
SITE_SHARE = np.array([0.45, 0.33, 0.22])  # share of each of the three cohorts
GROUP_SHARE = np.array([0.21, 0.23, 0.262])  # protected share in each cohort, .228 overall

# Severity: 0 is the ordinary inpatient, 1 about one spread sicker.
PERSISTENCE = 0.82  # weight of the preceding slot
SITE_SEVERITY = np.array([-0.1, 0.0, 0.2])  # level a cohort's patients return to
PATIENT_SD = 0.5  # spread of that level between patients
STEP_SD = 0.38  # change from slot to slot that nothing explains
SHOCK_RATE = 0.05  # chance that a slot brings an acute shock
SHOCK_MEAN = 1.3  # mean rise of severity in a shock
CRISIS = 1.0  # severity above which treatment acts
RECOVERY_MAX = 0.35  # share of the excess treated away per slot: uniform on 0 to this

# Readings on their linear scale; columns follow VARIABLES, crp is in log mg/L, the last two latent.
LEVEL = np.array([84.0, 18.0, 96.3, 3.1, 0.0, 0.0])  # at severity 0
LOADING = np.array([7.0, 2.2, -1.3, 0.50, 0.75, 0.8])  # change per unit of severity
SIGNAL = np.array([1.0, 0.8])  # how much of the loading each group shows
TRAIT_SD = np.array([9.0, 2.2, 1.1, 0.70, 0.7, 0.8])  # lasting differences between patients
NOISE_SD = np.array([7.0, 2.4, 1.3, 0.40, 0.8, 0.9])  # differences between readings
SITE_READING = np.array(  # shift of each cohort's devices, laboratory and habits
    [
        [0.0, 0.0, 0.0, 0.00, 0.0, 0.0],
        [2.5, 0.6, -0.3, 0.20, 0.2, -0.1],
        [-2.0, -0.5, -0.6, -0.15, -0.2, 0.3],
    ]
)
DOSE_CUTS = np.array([-0.6, 0.3, 1.2, 2.1])  # latent need at which medication goes up a step
SUPPORT_CUT = 1.0  # latent need at which oxygen is given
LOWEST = np.array([35.0, 6.0, 65.0, 0.2, 0.0, 0.0])  # physiologic range that readings keep to
HIGHEST = np.array([200.0, 50.0, 100.0, 400.0, 4.0, 1.0])

# Gaps in hours: logit-normal below the public maximum.
MAX_GAP = 72.0  # the schema's max_gap
GAP_LOGIT = -1.832  # typical gap at severity 0 in the first cohort
GAP_SITE = np.array([0.0, 0.12, -0.15])  # cohorts round more or less often
GAP_SEVERITY = -0.12  # the sicker are seen sooner
GAP_SD = 0.65  # irregularity

# Missing cells: logit of the chance that a cell is not observed.
MISSING = np.array([-2.40, -2.20, -2.30, -0.99, -2.00, -2.48])  # by variable; crp most
MISSING_GROUP = np.array([0.0, 0.45])  # protected patients are charted less
MISSING_SITE = np.array([0.0, 0.20, -0.15])  # by cohort
MISSING_SEVERITY = 0.25  # charting gives way in a crisis
MISSING_GAP = 0.30  # per unit of log(gap / 10 h): a late round is a hurried one

# Deterioration: logit of the chance of the event.
EVENT = -4.524  # at severity 0 throughout
EVENT_LATE = 1.3  # per unit of mean severity over the last slots
EVENT_PEAK = 0.6  # per unit of peak severity
EVENT_GROUP = np.array([0.0, 0.25])  # protected patients fare a little worse
EVENT_SITE = np.array([0.0, 0.10, 0.20])  # by cohort
LATE = 4  # how many slots count as late

# A law for stress tests: a second course of its own that some variables follow instead.
SECOND = np.array([False, True, True, False, False, True])  # which; columns follow VARIABLES
SECOND_PART = 0.5  # of the event's risk


def simulated_schema() -> Schema:
    """Return the public schema of the simulated population.

    >>> import longsynth
    >>> longsynth.simulated_schema().name
    'simulated deterioration cohort'
    """
    text = files("longsynth.reading").joinpath("simulated.yaml").read_text(encoding="utf-8")
    return parse_text(text, "schema.yaml of the simulated population")


def simulate(patients: int, *, seed: int, factors: int = 1) -> Cohort:
    """Draw patients from the one law; a smaller population is the start of a larger one.

    Each part has its own stream, filled patient by patient, so patient i is the same person
    whatever the number drawn. All slots are in use, and values are nan where not observed. With two
    factors, breathing follows a second severity of its own and the event follows both.

    >>> import longsynth
    >>> longsynth.simulate(720, seed=11)
    Cohort(720 patients, 14 slots, 6 variables)
    """
    who, course, reading, timing, charting, outcome, other = np.random.default_rng(seed).spawn(7)
    group, site = _membership(who, patients)
    severity = _severity(course, site)
    shown = np.repeat(severity[:, :, None], len(VARIABLES), axis=2)
    at_risk = severity
    if factors == 2:
        second = _severity(other, site)
        shown = np.where(SECOND, second[:, :, None], shown)
        at_risk = (1 - SECOND_PART) * severity + SECOND_PART * second
        at_risk = at_risk / np.hypot(1 - SECOND_PART, SECOND_PART)  # as widely spread as one
    gaps = _gaps(timing, severity, site)
    observed = _observed(charting, severity, gaps, group, site)
    return Cohort(
        values=np.where(observed, _measurements(reading, shown, group, site), np.nan),
        observed=observed,
        gaps=gaps,
        length=np.full(patients, SLOTS, dtype=np.int64),
        group=group,
        event=_event(outcome, at_risk, group, site),
        site=site,
    )


def _membership(rng: Generator, patients: int) -> tuple[Ints, Ints]:
    """Group and site; the protected share differs by site, so the two are not independent."""
    for_site, for_group = rng.random((patients, 2)).T
    site = np.searchsorted(SITE_SHARE.cumsum()[:-1], for_site, side="right").astype(np.int64)
    return (for_group < GROUP_SHARE[site]).astype(np.int64), site


def _severity(rng: Generator, site: Ints) -> Floats:
    """Latent course (N, T): an autoregression, pushed up by shocks and pulled down by treatment.

    Patients differ in how well treatment works, so equal shocks end differently.
    """
    shape = (len(site), SLOTS)
    for_level, for_start, for_step, for_shock, for_rise, for_recovery = rng.spawn(6)
    level = SITE_SEVERITY[site] + PATIENT_SD * for_level.standard_normal(len(site))
    recovery = RECOVERY_MAX * for_recovery.random(len(site))
    push = STEP_SD * for_step.standard_normal(shape)
    shocked = for_shock.random(shape) < SHOCK_RATE
    push += np.where(shocked, SHOCK_MEAN * for_rise.standard_exponential(shape), 0.0)

    severity = np.empty(shape)
    now = level + STEP_SD * for_start.standard_normal(len(site))
    for slot in range(SLOTS):
        excess = np.maximum(now - CRISIS, 0.0)
        now = level + PERSISTENCE * (now - level) - recovery * excess + push[:, slot]
        severity[:, slot] = now
    return severity


def _measurements(rng: Generator, severity: Floats, group: Ints, site: Ints) -> Floats:
    """What would be read in every cell (N, T, V), were every cell observed, of the severity that
    each variable follows (N, T, V)."""
    patients, slots, _ = severity.shape
    for_trait, for_noise = rng.spawn(2)
    trait = TRAIT_SD * for_trait.standard_normal((patients, len(VARIABLES)))
    noise = NOISE_SD * for_noise.standard_normal((patients, slots, len(VARIABLES)))
    shown = SIGNAL[group][:, None, None] * severity
    linear = (LEVEL + SITE_READING[site] + trait)[:, None, :] + LOADING * shown + noise
    values = linear.copy()
    values[:, :, 3] = np.exp(linear[:, :, 3])
    values[:, :, 4] = np.searchsorted(DOSE_CUTS, linear[:, :, 4])
    values[:, :, 5] = linear[:, :, 5] > SUPPORT_CUT
    kept: Floats = np.clip(values, LOWEST, HIGHEST)
    return kept


def _gaps(rng: Generator, severity: Floats, site: Ints) -> Floats:
    """Hours before each slot (N, T), right-skewed, strictly between 0 and MAX_GAP."""
    centre = GAP_LOGIT + GAP_SITE[site][:, None] + GAP_SEVERITY * severity
    return MAX_GAP * _logistic(centre + GAP_SD * rng.standard_normal(severity.shape))


def _observed(rng: Generator, severity: Floats, gaps: Floats, group: Ints, site: Ints) -> Bools:
    """Which cells are charted (N, T, V). Severity acts directly: the absence is informative."""
    by_patient = (MISSING_GROUP[group] + MISSING_SITE[site])[:, None]
    by_slot = by_patient + MISSING_SEVERITY * severity + MISSING_GAP * np.log(gaps / 10.0)
    missing = _logistic(by_slot[:, :, None] + MISSING)
    return rng.random(missing.shape) >= missing


def _event(rng: Generator, severity: Floats, group: Ints, site: Ints) -> Ints:
    """Deterioration after the last slot, from where the course ended and how bad it became."""
    course = EVENT_LATE * severity[:, -LATE:].mean(axis=1) + EVENT_PEAK * severity.max(axis=1)
    chance = _logistic(EVENT + course + EVENT_GROUP[group] + EVENT_SITE[site])
    return (rng.random(len(chance)) < chance).astype(np.int64)


def _logistic(logit: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-logit))
