"""Refit: a run's mechanism, applied again to other patients, with canaries planted among them.
Nothing of it leaves: it is for attacks.

No budget is charged for it: the result of an audit is computed without noise anyway and stays
internal.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from longsynth.audit.attacks.canary import REFITS, canary_attack
from longsynth.audit.metric import Score
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.privacy.budget import Budget
from longsynth.reading.records import Cohort
from longsynth.release.folder import load_release
from longsynth.release.internal import holds_disclosed, read_disclosed
from longsynth.release.statement import promised
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.sample import sample
from longsynth.sampling.model import Synthetic
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.system.errors import Code, Refused


@dataclass(frozen=True, slots=True)
class Refit:
    """A finished run's mechanism, to be applied to other patients."""

    draw: Callable[[Cohort, int], Trajectories]  # fit these patients, generate as many by a seed
    budget: Budget | None = None  # None: no guarantee
    name: str = ""  # method and budget, in words
    patients: int | None = None  # N of the run, which is public; None: any


def canary_record(schema: Schema) -> Cohort:
    """One patient at the public bounds in every slot, high and low in turn by variable (the last or
    first of unordered levels), always observed, with the longest gaps: no real patient is like
    that. It has every code in every slot."""
    bounds = [v.bounds[1 - i % 2] for i, v in enumerate(schema.variables)]
    shape = (1, schema.slots, len(bounds))
    return Cohort(
        values=np.broadcast_to(np.array(bounds, dtype=np.float64), shape).copy(),
        observed=np.broadcast_to(schema.layout.exists, shape).copy(),
        gaps=np.full(shape[:2], float(schema.max_gap)),
        length=np.array([schema.slots]),
        group=np.array([1]),
        event=np.array([1]),
        site=np.array([len(schema.sites) - 1]),
        codes=np.packbits(np.ones((1, schema.slots, len(schema.code_names)), bool), axis=-1),
    )


def with_canary(train: Trajectories, canary: Cohort, copies: int) -> Cohort:
    """Return the cohort with its first patients replaced, so that N, which is public, stays."""
    if not 0 <= copies <= train.patients:
        raise ValueError(f"{copies} copies do not fit into {train.patients} patients")
    repeated = canary.take(np.zeros(copies, dtype=np.int64))
    return Cohort(
        *(
            np.concatenate([getattr(repeated, f.name), getattr(train, f.name)[copies:]])
            for f in fields(Cohort)
        )
    )


def canary_scores(
    schema: Schema,
    train: Trajectories,
    reference: Trajectories,
    refit: Refit,
    *,
    refits: int = REFITS,
    watch: Callable[[], None] = lambda: None,
    bootstrap: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Plant canaries among the training patients and attack the fits; see `canary_attack`."""
    canary = canary_record(schema)
    return canary_attack(
        schema,
        canary,
        reference,
        lambda copies, draw: refit.draw(with_canary(train, canary, copies), draw),
        refit.budget,
        refits=refits,
        watch=watch,
        bootstrap=bootstrap,
        seed=seed,
    )


def refit_like(run: Path, synthetic: Path) -> Refit:
    """Return the method, schema and budget of RUN as a mechanism for any cohort.

    RUN holds release/, or internal/ for a method that is not private; either may be given itself.
    The synthetic folder must not name another release: the audited mechanism is the released one.
    Each use draws fresh noise.
    """
    folder = next((f for f in (run / "release", run / "internal") if f.is_dir()), run)
    raw = holds_disclosed(folder)
    before = read_disclosed(folder) if raw else load_release(folder)
    if (synthetic / RECIPE).exists() and read_recipe(synthetic).fingerprint != before.fingerprint:
        raise Refused(
            Code.COHORTS_DISAGREE,
            f"the patients in {synthetic} were not generated from {folder}.",
            "Name the run that they come from, or audit without canaries.",
        )
    budget = None if raw else promised(before.ledger)

    def again(cohort: Cohort, seed: int) -> Synthetic:
        if budget is None:
            bundle = fit_without_privacy(cohort, before.schema, before.method)
        else:
            planned = plan(
                before.schema,
                cohort.patients,
                epsilon=budget.epsilon,
                delta=budget.delta,
                method=before.method,
                accounting=budget.accounting,
            )
            bundle = fit(cohort, planned)
        return sample(model_of(bundle), cohort.patients, seed=seed)

    described = f"ε = {budget.epsilon:g}, δ = {budget.delta:g}" if budget else "NOT PRIVATE"
    return Refit(again, budget, f"{before.method}, {described}", before.patients)
