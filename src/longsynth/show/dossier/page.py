"""The page: one HTML file that fetches nothing. All text is escaped by the templates."""

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from longsynth.show.dossier.audited.audit_file import Audit
from longsynth.show.dossier.audited.content import CONTENTS, internal_content
from longsynth.show.dossier.charts.tradeoff import FRAME, found_at
from longsynth.show.dossier.facts import Facts
from longsynth.show.dossier.noise import PATIENTS, SEED, Drawn
from longsynth.show.dossier.public.account import account
from longsynth.show.dossier.public.examples import examples
from longsynth.show.dossier.public.promise import promise, up
from longsynth.show.dossier.public.released import plain, told

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
ALARMS = sorted({k / 1000 for k in range(1, 20)} | {k / 100 for k in range(2, 100)})
START = ALARMS.index(0.01)


def public_page(facts: Facts, drawn: Drawn) -> str:
    """The public edition, from a release alone."""
    return render(public_content(facts, drawn))


def internal_page(facts: Facts, drawn: Drawn, audit: Audit) -> str:
    """The same, after what an audit found among real patients. It may not leave."""
    public = public_content(facts, drawn)
    found = internal_content(facts.bundle.schema, audit, public["promise"].auc)
    return render({**public, "internal": found, "contents": (*CONTENTS, *PUBLIC)})


def public_content(facts: Facts, drawn: Drawn) -> dict[str, Any]:
    """What the templates of the public sections ask for."""
    bundle, schema = facts.bundle, facts.bundle.schema
    promised = promise(facts)
    return {
        "internal": None,
        "title": schema.name[:1].upper() + schema.name[1:],
        "patients": f"{bundle.patients:,}",
        "method": bundle.method,
        "origin": bundle.origin,
        "summary": facts.summary,
        "version": facts.version,
        "fingerprint": bundle.fingerprint,
        "fitted_by": facts.provenance.fitted_by,
        "governance": facts.provenance.governance,
        "form": facts.form,
        "signed": facts.signed,
        "files": facts.files,
        "variables": schema.variables,
        "names": [plain(v.name) for v in schema.variables],
        "slots": schema.slots,
        "passes": max(facts.passes.values()),
        "promise": promised,
        "account": account(facts),
        "told": told(schema, drawn),
        "examples": examples(schema, drawn.patients),
        "redraws": drawn.redraws,
        "drawn_patients": f"{PATIENTS:,}",
        "seed": SEED,
        "contents": PUBLIC,
        "points": _points(promised.mu),
        "point_count": len(ALARMS),
        "point_start": START,
    }


def render(content: dict[str, Any]) -> str:
    """Fill the templates. A script runs only if it is ours: the page names its hash."""
    environment = Environment(
        loader=PackageLoader("longsynth.show.dossier", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _asset("script.js").decode()
    policy = b64encode(sha256(script.encode()).digest()).decode()
    whole = {
        **content,
        "style": Markup(_asset("style.css").decode()),
        "script": Markup(script),
        "script_hash": policy,
        "fonts": _fonts(),
    }
    return environment.get_template("dossier.html").render(whole) + "\n"


def _asset(name: str) -> bytes:
    return (files("longsynth.show.dossier") / "templates" / name).read_bytes()


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
    return b64encode(_asset(f"fonts/{name}-{script}-{weight}-normal.woff2")).decode()


def _points(mu: float) -> Markup:
    """The curve as the slider needs it: numbers alone, rounded up."""
    points = [
        {
            "alarms": f"{100 * a:g}",
            "found": up(found_at(mu, a), 1),
            "x": round(FRAME.px(a), 1),
            "y": round(FRAME.py(found_at(mu, a)), 1),
        }
        for a in ALARMS
    ]
    return Markup(json.dumps(points, separators=(",", ":")))
