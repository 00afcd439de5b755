"""Facts about simulated patients: how many stand in each stratum, and whose row was clipped.

Of real patients such counts are raw statistics and never leave `internal/`.
"""

from longsynth.reading.records import Cohort
from longsynth.release.run import raw_facts
from longsynth.schema.schema import Schema

GROUPS = (0, 1)


def support_metric(site: str, group: int, counted: str) -> str:
    """Return the name of a count in the results, without its part: train, test."""
    return f"support_{site}_group{group}_{counted}"


def support_facts(cohort: Cohort, schema: Schema) -> dict[str, float]:
    """Return patients and events of every site and group: the strata of eq:fair."""
    found = {}
    for position, site in enumerate(schema.sites):
        for group in GROUPS:
            chosen = (cohort.site == position) & (cohort.group == group)
            found[support_metric(site, group, "patients")] = float(chosen.sum())
            found[support_metric(site, group, "events")] = float(cohort.event[chosen].sum())
    return found


def clipping_facts(cohort: Cohort, schema: Schema) -> dict[str, float]:
    """Return what public bounds and the clip radius L cut off (eq:encoding)."""
    resolved = schema.resolved(cohort.patients)
    facts = raw_facts(cohort, resolved)
    observed = facts["cells"].sum() - facts["missing"].sum()
    return {
        "clip_radius": float(resolved.resolved_constants.clip_radius),
        "clipped_patients_share": float(facts["long"].sum() / max(cohort.patients, 1)),
        "clipped_values_share": float(facts["clipped"].sum() / max(observed, 1)),
        "clipped_gaps_share": float((cohort.gaps > schema.max_gap).mean()),
    }
