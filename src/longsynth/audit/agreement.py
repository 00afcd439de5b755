"""Agreement: cohorts can be compared only if their schemas describe the same record."""

from longsynth.schema.schema import Schema
from longsynth.system.errors import Refused


def require_agreement(schemas: dict[str, Schema]) -> Schema:
    """Return the first schema, or refuse and say in which public fact another one differs."""
    (first_name, first), *others = schemas.items()
    for name, schema in others:
        for fact, value in _facts(first).items():
            other = _facts(schema)[fact]
            if other != value:
                raise Refused(
                    f"the {name} cohort has {fact} {_text(other)}, but the {first_name} cohort has "
                    f"{_text(value)}: describe both with one schema.yaml, or sample the synthetic "
                    "patients again from a fit of this cohort."
                )
    return first


def _facts(schema: Schema) -> dict[str, object]:
    """What a record means. Levels of group and event may be spelled in two ways: order counts."""
    names = [v.name for v in schema.variables]
    return {
        "variables": names,
        **{f"{v.name} of kind": v.kind for v in schema.variables},
        **{f"{v.name} with bounds": list(v.bounds) for v in schema.variables},
        **{f"{v.name} with transform": v.transform for v in schema.variables},
        **{f"{v.name} with levels": list(v.levels or ("none",)) for v in schema.variables},
        **{f"{v.name} measured": _measured(v.static) for v in schema.variables},
        "sites": list(schema.sites),
        "slots": schema.slots,
        "max_gap": schema.max_gap,
    }


def _measured(static: bool) -> str:
    return "once" if static else "over time"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
