"""Versions: results may stand on one page only if one version of the code made them all."""

from collections.abc import Iterable, Sequence

from longsynth.benchmark.experiments import REFERENCES
from longsynth.benchmark.fingerprints import judged_by, made_by
from longsynth.benchmark.results import Results, Row
from longsynth.errors import Refused

REMEDY = "make evidence"


def require_one_version(results: Results) -> None:
    """Refuse results of several versions of a method or of the metrics, of several accountings or
    δ, or of other patients for some methods than for others. The first odd row is named."""
    for what, key, value in (
        ("version of the method", lambda r: (r.experiment, r.method), lambda r: r.made_by),
        ("version of the metrics", lambda r: (), lambda r: r.judged_by),
        ("accounting", lambda r: r.accounting == "", lambda r: r.accounting),
        ("δ", lambda r: r.accounting == "", lambda r: f"{r.delta:g}"),
        ("set of patients", lambda r: (r.experiment, r.seed), lambda r: r.patients_hash),
    ):
        first: dict[object, Row] = {}
        for row in results.rows:
            before = first.setdefault(key(row), row)
            if value(row) != value(before):
                raise Refused(
                    f"{_place(row)} comes from another {what} ({value(row) or 'unknown'}) than "
                    f"{_place(before)} ({value(before) or 'unknown'}). A page shows one: make all "
                    f"of it anew with '{REMEDY}'."
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
    """The rows of some experiments, if one version made them."""
    wanted: Sequence[str] = tuple(experiments)
    kept = Results(row for row in results.rows if row.experiment in wanted)
    require_one_version(kept)
    return kept


def _place(row: Row) -> str:
    return (
        f"the row '{row.method}' of '{row.experiment}' at {row.setting}, seed {row.seed}, "
        f"draw {row.draw}, {row.metric}"
    )
