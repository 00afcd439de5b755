"""Refit: what a run did, done again to other patients. Nothing of it leaves: it is for attacks.

No budget is charged for it: what an audit says of real patients stays inside without noise anyway.
"""

from pathlib import Path

from longsynth.audit.attacks.canary import Refit
from longsynth.fit import fit, fit_without_privacy
from longsynth.methods.registry import model_of
from longsynth.plan import plan
from longsynth.reading.records import Cohort
from longsynth.release.disclosed import holds_disclosed, read_disclosed
from longsynth.release.folder import load_release
from longsynth.release.statement import promised
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.sample import sample
from longsynth.sampling.synthetic import Synthetic
from longsynth.system.errors import Refused


def refit_like(run: Path, synthetic: Path) -> Refit:
    """Return the method, schema and budget of RUN as something that can be applied to any cohort.

    RUN holds release/, or for a method that is not private internal/; either may be named itself.
    The synthetic folder must not name another release: the audited mechanism is the released one.
    Each use draws fresh noise.
    """
    folder = next((f for f in (run / "release", run / "internal") if f.is_dir()), run)
    raw = holds_disclosed(folder)
    before = read_disclosed(folder) if raw else load_release(folder)
    if (synthetic / RECIPE).exists() and read_recipe(synthetic).fingerprint != before.fingerprint:
        raise Refused(
            f"{synthetic} was not drawn from {folder}: name the run that its patients come from, "
            "or audit without --canary."
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

    said = f"ε = {budget.epsilon:g}, δ = {budget.delta:g}" if budget else "NOT PRIVATE"
    return Refit(again, budget, f"{before.method}, {said}", before.patients)
