"""Versions: results may stand on one page only if one version of the code made them all."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from longsynth.system.errors import Refused
from longsynth_lab.experiments import REFERENCES
from longsynth_lab.fingerprints import judged_by, made_by
from longsynth_lab.results import Results, Row

REMEDY = "make evidence"


Of = Callable[[Row], object]
VERSIONS: dict[str, tuple[Of, Of]] = {  # what must be the same for all rows that share a key
    "version of the method": (lambda r: r.method, lambda r: r.made_by),
    "version of the metrics": (lambda r: (), lambda r: r.judged_by),
    "set of patients": (lambda r: (r.experiment, r.setting, r.seed), lambda r: r.patients_hash),
}
BUDGET: dict[str, tuple[Of, Of]] = {
    "accounting": (lambda r: r.accounting == "", lambda r: r.accounting),
    "δ": (lambda r: r.accounting == "", lambda r: f"{r.delta:g}"),
}


def require_one_version(results: Results, remedy: str = REMEDY) -> None:
    """Refuse results of several versions of a method or of the metrics, or of other patients for
    some methods than for others. The first row that does not belong is named."""
    _require_one(results, VERSIONS, remedy)


def require_one_budget(results: Results) -> None:
    """Refuse results of several accountings or δ."""
    _require_one(results, BUDGET, REMEDY)


def _require_one(results: Results, rules: Mapping[str, tuple[Of, Of]], remedy: str) -> None:
    for what, (key, value) in rules.items():
        first: dict[object, Row] = {}
        for row in results.rows:
            before = first.setdefault(key(row), row)
            if value(row) != value(before):
                raise Refused(
                    f"{_place(row)} comes from another {what} ({value(row) or 'unknown'}) than "
                    f"{_place(before)} ({value(before) or 'unknown'}). A page shows one: make all "
                    f"of it anew with '{remedy}'."
                )


def stale(results: Results) -> list[str]:
    """Say which rows today's code did not make, one line per experiment and method."""
    found = dict.fromkeys(
        (row.experiment, row.method, row.made_by, row.judged_by) for row in results.rows
    )
    said = []
    for experiment, method, made, judged in found:
        if method not in REFERENCES and made != made_by(method):
            said.append(f"{experiment}: {method} has changed since it was measured")
        elif judged != judged_by():
            said.append(f"{experiment}: the metrics have changed since {method} was measured")
    return said


def only(results: Results, experiments: Iterable[str]) -> Results:
    """The rows of some experiments, if one version made them under one budget."""
    wanted: Sequence[str] = tuple(experiments)
    kept = Results(row for row in results.rows if row.experiment in wanted)
    require_one_version(kept)
    require_one_budget(kept)
    return kept


def _place(row: Row) -> str:
    return (
        f"the row '{row.method}' of '{row.experiment}' at {row.setting}, seed {row.seed}, "
        f"draw {row.draw}, {row.metric}"
    )
