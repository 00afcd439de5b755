"""The dossier's page: one HTML file that fetches nothing."""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

from markupsafe import Markup

from longsynth.audit.registry import shown_in
from longsynth.schema.schema import Schema
from longsynth.show import asset, render
from longsynth.show.dossier.audit_file import Audit
from longsynth.show.dossier.compared import compared
from longsynth.show.dossier.facts import PATIENTS, SEED, Facts, Population
from longsynth.show.dossier.guarantee import START, guarantee, ledger_table
from longsynth.show.dossier.population import example_patients, population_figures
from longsynth.show.dossier.scores import (
    attack_figure,
    beside,
    canaries,
    group_figures,
    predicted,
    subgroups,
    utility,
)
from longsynth.show.dossier.summary import summary
from longsynth.show.dossier.verdicts import TONES, Verdict, verdicts
from longsynth.show.dossier.words import capital, meaning_of, spaced

INTERNAL = (
    ("verdicts", "What the audit found"),
    ("compared", "Real against synthetic"),
    ("along", "Along the record"),
    ("rhythm", "Missing, gaps, visits"),
    ("dependence", "Correlations"),
    ("prediction", "Prediction"),
    ("subgroups", "Groups and sites"),
    ("attacks", "Attacks"),
)
PUBLIC = (
    ("protected", "What is protected"),
    ("epsilon", "What ε means"),
    ("pipeline", "How it was made"),
    ("ledger", "Where the budget went"),
    ("spending", "All fits together"),
    ("released", "The population"),
    ("examples", "Synthetic patients"),
    ("limits", "Limits and use"),
    ("verify", "Check it yourself"),
    ("fingerprints", "Fingerprints"),
    ("governance", "Governance"),
)
RANGES = {
    "latin": "U+0000-00FF,U+0131,U+0152-0153,U+02C6,U+02DA,U+02DC,U+2000-206F,U+20AC,U+2122,U+2191,"
    "U+2193,U+2212,U+2215",
    "greek": "U+0370-0377,U+037A-037F,U+0384-038A,U+038C,U+038E-03A1,U+03A3-03FF",
}
FONTS = {"Dossier Sans": "source-sans-3", "Dossier Serif": "source-serif-4"}


def public_page(facts: Facts, population: Population) -> str:
    """The public edition, from a release alone."""
    return _page(_public_content(facts, population))


def internal_page(facts: Facts, population: Population, audit: Audit, accepted: str | None) -> str:
    """The public edition after the findings of an audit, and why problems of the cohort were
    accepted. It must not be shared."""
    public, schema = _public_content(facts, population), facts.bundle.schema
    stated, ledger = public["guarantee"], public["ledger"]
    found = verdicts(schema, audit, stated.auc)
    return _page(
        public
        | {
            "internal": internal_content(schema, audit, found) | {"accepted": accepted},
            "summary": summary(facts, stated, ledger, found),
            "contents": (*INTERNAL, *public["contents"]),
        }
    )


def internal_content(schema: Schema, audit: Audit, found: tuple[Verdict, ...]) -> dict[str, Any]:
    distance = "Distance from held-out real patients; lower is closer"
    every = "Every attack, its control and its baseline"
    parts = {what: f"by {meaning_of(schema, what)}" for what in ("event", "group")}
    return {
        "verdicts": found,
        "tones": TONES,
        "sizes": {name: f"{count:,}" for name, count in audit.panels.patients.items()},
        "bootstrap": audit.panels.bootstrap,
        "compared": compared(schema, audit),
        "parts": {"all": "all patients"} | parts,
        "predicted": predicted(schema, audit),
        "utility": utility(schema, audit),
        "fidelity": beside(schema, audit, "fidelity", distance, shown_in("dossier", "fidelity")),
        "groups": group_figures(schema, audit),
        "subgroups": subgroups(schema, audit),
        "attack_figure": attack_figure(audit),
        "attacks": beside(schema, audit, "attacks", every),
        "canaries": canaries(schema, audit),
    }


def _public_content(facts: Facts, population: Population) -> dict[str, Any]:
    bundle, schema = facts.bundle, facts.bundle.schema
    stated, ledger = guarantee(bundle.ledger), ledger_table(facts)
    return {
        "internal": None,
        "title": capital(schema.name),
        "summary": summary(facts, stated, ledger),
        "facts": facts,
        "patients": f"{bundle.patients:,}",
        "method": bundle.method,
        "origin": bundle.origin,
        "fingerprint": bundle.fingerprint,
        "fitted_by": facts.provenance.fitted_by,
        "governance": facts.provenance.governance,
        "names": [spaced(v.name) for v in schema.variables],
        "slots": schema.slots,
        "passes": max(facts.passes.values()),
        "guarantee": stated,
        "ledger": ledger,
        "population": population_figures(schema, population),
        "examples": example_patients(schema, population.patients),
        "redraws": population.redraws,
        "generated": f"{PATIENTS:,}",
        "seed": SEED,
        "contents": PUBLIC if facts.form else PUBLIC[:-1],  # the form is printed last
        "points": Markup(json.dumps(stated.points, separators=(",", ":"))),
        "start": START,
    }


def _page(content: dict[str, Any]) -> str:
    """Fill the templates. Only our own script can run: the page names its hash."""
    script = asset("script.js").decode()
    return render(
        "dossier.html",
        **content,
        style=Markup(asset("style.css").decode()),
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        fonts=_fonts(),
    )


def _fonts() -> Markup:
    faces = [
        f'@font-face{{font-family:"{family}";font-weight:{weight};unicode-range:{span};'
        f"src:url(data:font/woff2;base64,{_font(name, script, weight)})format('woff2')}}"
        for family, name in FONTS.items()
        for script, span in RANGES.items()
        for weight in (400, 600)
    ]
    return Markup("\n".join(faces))


def _font(name: str, script: str, weight: int) -> str:
    return b64encode(asset(f"fonts/{name}-{script}-{weight}-normal.woff2")).decode()
