"""One governed run of a ward whose public texts are hostile, its audit, and both editions."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from longsynth.commands.audit import audit
from longsynth.govern.book import init_book
from longsynth.methods.registry import model_of
from longsynth.privacy.budget import Budget
from longsynth.reading.quality import write_receipt
from longsynth.release.folder import load_release
from longsynth.release.run import run_fit
from longsynth.release.synthetic_folder import Recipe, write_synthetic
from longsynth.schema.schema import Schema
from longsynth.show.dossier.build import write_dossier
from support import write_checked
from ward import VARIABLES, ward_cohort, ward_schema

SCRIPT = "<script>alert('x')</script>"
BREAKS = "\"'></title></style><img src=x onerror=alert(1)>"


def hostile_schema() -> Schema:
    """Every text that a schema lets anyone choose tries to leave its place in the page."""
    variables = [dict(v) for v in VARIABLES]
    variables[2]["levels"] = ["A", SCRIPT, "AB & <b>", "O"]
    variables[3]["unit"] = f"/min {BREAKS}"
    labels = {"levels": ["0", f"1 {SCRIPT}"], "meaning": f"worse {BREAKS}"}
    return ward_schema(
        name=f"ward {SCRIPT} & {BREAKS}",
        variables=variables,
        event={"column": "event", **labels},
        group={"column": "group", **labels},
        site={"column": "site", "levels": ["A", SCRIPT, "C"], "meaning": BREAKS},
    )


@dataclass(frozen=True, slots=True)
class World:
    work: Path

    @property
    def release(self) -> Path:
        return self.work / "run/release"

    @property
    def audit(self) -> Path:
        return self.work / "audit"

    @property
    def public(self) -> Path:
        return self.work / "public.html"

    @property
    def internal(self) -> Path:
        return self.work / "internal.html"


ACCEPTED = "<i>the ward</i> measures in Fahrenheit"  # why a red verdict was accepted


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    work = tmp_path_factory.mktemp("dossier")
    schema = hostile_schema()
    for name, patients, seed in (("train", 160, 1), ("test", 120, 2)):
        (work / name).mkdir()
        write_checked(work / name, schema, [ward_cohort(patients, seed)], first=1000 * seed + 1)
    write_receipt(work / "train", {"red": 1}, by="A. Steward", accepted=ACCEPTED)
    book = init_book(work / "book.db")
    book.grant("ward", Budget(8.0, 1e-5))
    fit(work, "run", book=work / "book.db", dataset="ward", fitted_by="A. Fitter")
    draw(work, "run", "drawn")
    audit_of(work, "drawn", "audit")
    write_dossier(work / "run", work / "public.html", redraws=2)
    write_dossier(work / "run", work / "internal.html", audit=work / "audit", redraws=2)
    return World(work)


def fit(work: Path, name: str, **governed: object) -> None:
    run_fit(work / "train", work / name, epsilon=4.0, delta=1e-5, **governed)  # type: ignore[arg-type]


def draw(work: Path, run: str, name: str) -> None:
    bundle = load_release(work / run / "release")
    (work / name).mkdir()
    write_synthetic(work / name, model_of(bundle), Recipe(bundle.fingerprint, 150, 7))


def audit_of(work: Path, drawn: str, name: str) -> None:
    audit(
        train=work / "train",
        test=work / "test",
        synthetic=work / drawn,
        out=work / name,
        bootstrap=20,
    )
