"""What the internal edition's template asks for."""

from typing import Any

from longsynth.schema.schema import Schema
from longsynth.show.dossier.audited.audit_file import Audit
from longsynth.show.dossier.audited.panels import compared
from longsynth.show.dossier.audited.predictions import predicted
from longsynth.show.dossier.audited.tables import (
    FIDELITY,
    attack_figure,
    beside,
    canaries,
    group_figure,
    subgroups,
    utility,
)
from longsynth.show.dossier.audited.verdicts import verdicts

CONTENTS = (
    ("verdicts", "What the audit found"),
    ("compared", "Real against synthetic"),
    ("along", "Along the record"),
    ("rhythm", "Missing, gaps, visits"),
    ("dependence", "Correlations"),
    ("prediction", "Prediction"),
    ("subgroups", "Groups and sites"),
    ("attacks", "Attacks"),
)


def internal_content(schema: Schema, audit: Audit, auc_limit: str) -> dict[str, Any]:
    patients = audit.panels.patients
    return {
        "verdicts": verdicts(audit, auc_limit),
        "sizes": {name: f"{count:,}" for name, count in patients.items()},
        "bootstrap": audit.panels.bootstrap,
        "compared": compared(schema, audit),
        "parts": {
            "all": "everybody",
            "event": "by event",
            "group": "by group",
        },
        "predicted": predicted(audit),
        "utility": utility(audit),
        "fidelity": beside(
            audit, "fidelity", "Distance from held-out real patients; lower is nearer", FIDELITY
        ),
        "groups": group_figure(audit),
        "subgroups": subgroups(schema, audit),
        "attack_figure": attack_figure(audit),
        "attacks": beside(audit, "attacks", "Every attack, its control and its baseline"),
        "canaries": canaries(audit),
    }
