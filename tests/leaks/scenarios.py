"""Every command, on a cohort with planted sentinels, in the order in which people use them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from longsynth.commands.app import app
from longsynth_lab.commands import app as lab

PROMISE = ("--epsilon", "4", "--delta", "1e-4")
NO_DATA = {  # commands that take nothing about patients, and why
    "simulate": "draws patients that never lived",
    "demo": "works on simulated patients",
    "bench paper": "works on simulated patients",
    "bench population": "works on simulated patients",
    "bench membership": "works on simulated patients",
    "attack game": "makes up both cohorts; of a run it reads the public settings alone",
    "methods": "prints a list that is part of the package",
    "keygen": "makes keys; reads no patient and no release",
    "governance json-schema": "prints what is part of the package",
}


@dataclass(frozen=True, slots=True)
class Step:
    command: str
    arguments: tuple[object, ...]
    exit_code: int = 0
    raw_output: str = ""  # a folder that it writes, and that may hold patients' values

    @property
    def argv(self) -> list[str]:
        return [*self.command.split(), *map(str, self.arguments)]


ACCEPTED = ("--accept-problems", "they were planted")


def steps(cohort: Path, work: Path) -> list[Step]:
    """Return what to run, in this order; every output goes below `work`."""
    run, raw, drawn, book = work / "run", work / "raw", work / "drawn", work / "book"
    schema, key, form = cohort / "schema.yaml", work / "key", work / "form.yaml"
    draw = ("--patients", 30, "--seed", 7, "--out")
    train, held = work / "parts" / "train", work / "parts" / "holdout"
    real = ("--train", train, "--test", held, "--bootstrap", 0)
    charged = ("--method", "trust", "--book", book, "--dataset", "ward")
    fhir = cohort.parent / "fhir"
    return [
        Step("map new", ("fhir", fhir, "--out", work / "map.yaml")),
        Step("import", ("fhir", fhir, "--schema", work / "map.yaml", "--out", work / "taken fhir")),
        Step("check", (cohort, *ACCEPTED, "--html", work / "check.html")),
        Step("check", (cohort, "--json", *ACCEPTED)),
        Step("split", (cohort, "--holdout", 0.5, "--out", work / "parts")),
        Step("check", (train, *ACCEPTED)),
        Step("recipe new", (cohort / "observations.parquet", "--out", work / "recipe.yaml")),
        Step("schema new", ("--cohort", cohort, "--out", work / "new.yaml")),
        Step("schema check", (schema, "--cohort", cohort)),
        Step("import", ("events", cohort, "--schema", schema, "--out", work / "taken")),
        Step("plan", (schema, "--patients", 40, *PROMISE)),
        Step("governance new", ("--schema", schema, "--out", form)),
        Step("governance check", (form, "--schema", schema), 2),  # not filled in yet
        Step("governance page", (form, "--out", work / "form.html"), 2),
        Step("budget init", (book,)),
        Step("budget grant", (book, "--dataset", "ward", *PROMISE)),
        Step("fit", (train, *PROMISE, *charged, "--out", run)),
        Step("fit", (cohort, *PROMISE, "--out", work / "default")),
        Step("fit", (cohort, *PROMISE, "--out", work / "more", "--book", book), 2),
        Step("fit", (cohort, *PROMISE, "--method", "dp-markov", "--out", work / "markov")),
        Step("fit", (cohort, "--method", "bootstrap", "--out", raw), 0, "raw/internal"),
        Step("budget show", (book,)),
        Step("budget verify", (book,)),
        Step("sample", (run / "release", *draw, drawn)),
        Step("sample", (work / "default" / "release", *draw, work / "drawn default")),
        Step("sample", (raw / "internal", *draw, work / "redrawn"), 0, "redrawn"),
        Step("status", (cohort,)),
        Step("status", (run,)),
        Step("status", (run, "--json")),
        Step("status", (raw,)),
        Step("status", (drawn, "--json")),
        Step("ledger", (run / "release",)),
        Step("ledger", (run / "release", "--json")),
        Step("sign", (run / "release", "--key", key, "--by", "A. Signer")),
        Step("verify", (run / "release", drawn, "--key", f"{key}.pub")),
        Step("verify", (raw / "internal",), 1),
        Step(
            "audit",
            (*real, "--synthetic", drawn, "--canary", run / "release", "--out", work / "audit"),
        ),
        Step("dossier", (run, "--out", work / "public.html", "--redraws", 2)),
        Step(
            "dossier",
            (run, "--audit", work / "audit", "--out", work / "internal.html", "--redraws", 0),
        ),
    ]


def every_command() -> set[str]:
    """Ask the app itself, so that no one has to remember to add a command here."""

    def below(command: Any, path: tuple[str, ...]) -> set[str]:
        if path == ("bench",):  # it hands its arguments on to the lab
            command = typer.main.get_command(lab)
        inner = getattr(command, "commands", None)
        if inner is None:
            return {" ".join(path)}
        return {found for name, c in inner.items() for found in below(c, (*path, name))}

    return below(typer.main.get_command(app), ())
