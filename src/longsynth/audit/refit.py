"""Refit: what a run did, done again to other patients. Nothing of it leaves: it is for attacks."""

from pathlib import Path

from longsynth.audit.attacks.canary import Refit
from longsynth.fit import fit, fit_without_privacy
from longsynth.govern.disclosed import holds_disclosed, read_disclosed
from longsynth.govern.ledger_file import promised
from longsynth.govern.release import load_release
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.records import Cohort
from longsynth.sample import sample
from longsynth.synthetic import Synthetic


def refit_like(run: Path) -> Refit:
    """Return the method, schema and budget of RUN/release, or of RUN/internal for a method that is
    not private, as something that can be applied to any cohort. Each use draws fresh noise."""
    raw = holds_disclosed(run)
    before = read_disclosed(run) if raw else load_release(run)

    def again(cohort: Cohort, seed: int) -> Synthetic:
        if raw:
            bundle = fit_without_privacy(cohort, before.schema, before.method)
        else:
            budget = promised(before.ledger)
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

    return again
