"""The dossier's page: one HTML file that fetches nothing."""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Any

from markupsafe import Markup

from longsynth.show.dossier.audited.audit_file import Audit
from longsynth.show.dossier.audited.content import CONTENTS, internal_content
from longsynth.show.dossier.charts.svg import spaced
from longsynth.show.dossier.public.facts import PATIENTS, SEED, Facts, Population
from longsynth.show.dossier.public.guarantee import START, guarantee
from longsynth.show.dossier.public.ledger import ledger_table
from longsynth.show.dossier.public.patients import example_patients
from longsynth.show.dossier.public.population import population_figures
from longsynth.show.templates import asset, render

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
    public = _public_content(facts, population)
    internal = internal_content(facts.bundle.schema, audit, public["guarantee"].auc)
    internal["accepted"] = accepted
    return _page({**public, "internal": internal, "contents": (*CONTENTS, *PUBLIC)})


def _public_content(facts: Facts, population: Population) -> dict[str, Any]:
    bundle, schema = facts.bundle, facts.bundle.schema
    stated = guarantee(bundle.ledger)
    return {
        "internal": None,
        "title": schema.name[:1].upper() + schema.name[1:],
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
        "ledger": ledger_table(facts),
        "population": population_figures(schema, population),
        "examples": example_patients(schema, population.patients),
        "redraws": population.redraws,
        "generated": f"{PATIENTS:,}",
        "seed": SEED,
        "contents": PUBLIC,
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
