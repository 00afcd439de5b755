"""Two pages: the governance form, which a board reads, prints and signs, as Markdown or HTML; and
the findings of a check, with histograms against the public bounds, which is internal."""

from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from pydantic import BaseModel

from longsynth.govern.form import ApprovedVariable, Form, Governance
from longsynth.reading.quality import Quality
from longsynth.reading.quality.counts import edges
from longsynth.schema.schema import Schema
from longsynth.schema.variable import Variable
from longsynth.show import asset, render
from longsynth.show.dossier.bars import bars
from longsynth.show.dossier.facts import FormSection
from longsynth.show.dossier.svg import Figure, Frame, Series, percent_ticks, svg
from longsynth.show.dossier.words import number, percent, spaced
from longsynth.system.folders import whole_file
from longsynth.system.text import as_typed, markdown, markdown_table

SIGNERS = ("For the data owner", "For the body that approved it", "For those who fit and sign")
PURPOSE = (
    "This form fixes what may be done with the patients' data before anyone uses them. Each "
    "release names the form's hash, and longsynth refuses a fit that departs from the form."
)
WORDS = {
    "patient": "one patient's complete record",
    "time_to_event": "time to event",
    "replacement": "that record is replaced by any other; the number of patients is public",
}
ONE_LINE = 60  # letters of a list that is shown on one line


def markdown_page(form: Form) -> str:
    lines = [f"# Governance form: {markdown(form.says.study.title)}", "", PURPOSE, ""]
    for section in sections(form.says):
        lines += [f"## {section.title}", ""]
        for question, answers in section.answers:
            if len(answers) == 1:
                lines.append(f"- **{question}**: {markdown(answers[0])}")
            else:
                lines += [f"- **{question}**:", *(f"    - {markdown(a)}" for a in answers)]
        lines += [""] if section.answers else []
        if section.rows:
            lines += [markdown_table(section.columns, (map(markdown, r) for r in section.rows)), ""]
    blanks = markdown_table(("", "name", "date", "signature"), ((s, "", "", "") for s in SIGNERS))
    lines += ["## Signatures", "", blanks]
    return "\n".join([*lines, "", f"SHA-256 of the form: `{form.sha256}`", ""])


def html_page(form: Form) -> str:
    """A whole page in one file, without scripts, that fetches nothing."""
    says = form.says
    low, high = says.protection.patients_at_least, says.protection.patients_at_most
    figures = {
        "ε per fit, at most": as_typed(says.budget.epsilon),
        "δ, at most": as_typed(says.budget.delta),
        "patients": f"{low:,} – {high:,}",
        "approved until": str(says.data.valid_until),
    }
    return render(
        "form.html",
        title=says.study.title,
        purpose=PURPOSE,
        figures=figures,
        sections=list(sections(says)),
        signers=SIGNERS,
        sha256=form.sha256,
    )


def sections(says: Governance) -> Iterator[FormSection]:
    for name, field in Governance.model_fields.items():
        answer, title = getattr(says, name), field.title or name
        if isinstance(answer, BaseModel):
            yield _section(title, answer)
        elif isinstance(answer, tuple) and answer:
            fields = type(answer[0]).model_fields.items()
            columns = {n: f.title or n for n, f in fields if any(getattr(a, n) for a in answer)}
            answered = tuple(tuple(_cell(getattr(a, name)) for name in columns) for a in answer)
            yield FormSection(title, columns=tuple(columns.values()), rows=answered)
        elif isinstance(answer, tuple):
            yield FormSection(title, answers=((title, ("none",)),))


def _section(title: str, section: BaseModel) -> FormSection:
    answers = []
    variables: tuple[tuple[str, ...], ...] = ()
    for name, field in type(section).model_fields.items():
        answer = getattr(section, name)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], ApprovedVariable):
            variables = tuple(map(_variable, answer))
        else:
            answers.append((field.title or name, _answers(answer)))
    columns = ("Variable", "Kind", "Bounds or levels", "Where they come from") if variables else ()
    return FormSection(title, tuple(answers), columns, variables)


def _variable(variable: ApprovedVariable) -> tuple[str, ...]:
    low, high = variable.bounds
    bounds = f"{as_typed(low)} – {as_typed(high)} {variable.unit}".strip()
    bounds = _cell(variable.levels) if variable.levels else bounds
    source = variable.bounds_from or ("0 or 1" if variable.kind == "binary" else "")
    return (variable.name, variable.kind, bounds, source)


def _cell(answer: Any) -> str:
    return "–" if answer is None else ", ".join(_answers(answer))


def _answers(answer: Any) -> tuple[str, ...]:
    if answer is None:
        return ("as the schema's default",)
    if isinstance(answer, tuple):
        parts = tuple(_answers(part)[0] for part in answer) or ("none",)
        return (", ".join(parts),) if sum(map(len, parts)) <= ONE_LINE else parts
    if isinstance(answer, float):
        return (as_typed(answer),)
    if isinstance(answer, int):
        return (f"{answer:,}",)
    return (answer.isoformat() if isinstance(answer, date) else WORDS.get(answer, answer),)


COHORT = Series("this cohort", "real")


def write_check_page(path: Path, schema: Schema, quality: Quality, accepted: str | None) -> None:
    """Write one file that fetches nothing, readable for its owner only."""
    page = render(
        "check.html",
        title=schema.name,
        quality=quality,
        accepted=accepted,
        figures=[
            figure
            for i, v in enumerate(schema.variables)
            for figure in _figures(i, v, quality.histograms[v.name])
        ],
        style=Markup(asset("style.css").decode()),
    )
    with whole_file(path) as beside:
        beside.touch(mode=0o600)
        beside.write_bytes(page.encode())


def _figures(place: int, variable: Variable, counts: Sequence[int]) -> tuple[Figure, ...]:
    total = sum(counts) or 1
    shares = [count / total for count in counts]
    id_, title = f"v{place}", spaced(variable.name)
    if variable.levels is not None:
        names = [*variable.levels][: len(shares) - 2]
        about = f"{sum(counts):,} values with a known level."
        return bars(id_, title, about, about, names, {COHORT: shares[1:-1]}, v=place)
    low, high = variable.bounds
    about = (
        f"{percent(shares[0], 1)} below and {percent(shares[-1], 1)} above the public bounds, "
        f"{number(low)} to {number(high)} {variable.unit}".strip()
        + "."
    )
    return (Figure(id_, title, _histogram(id_, title, about, variable, shares), about, place),)


def _histogram(
    id_: str, title: str, about: str, variable: Variable, shares: Sequence[float]
) -> Markup:
    """The whole public range, its bounds as dotted lines, and one bin beyond each of them."""
    limits = edges(variable)
    places = [float(np.log10(e)) for e in limits] if variable.transform == "log" else limits
    wide = places[1] - places[0]
    places = [places[0] - wide, *places, places[-1] + wide]
    frame = Frame((places[0], places[-1]), (0.0, max(max(shares) * 1.05, 1e-6)))
    middle = len(limits) // 2
    ticks = [(places[i + 1], number(limits[i])) for i in (0, middle, len(limits) - 1)]
    xs, ys = np.repeat(places, 2)[1:-1].tolist(), np.repeat(shares, 2).tolist()
    spans = [
        "below the bounds",
        *(f"{number(a)}–{number(b)}" for a, b in pairwise(limits)),
        "above the bounds",
    ]
    parts = [
        frame.axes(ticks, percent_ticks(frame.y[1]), variable.unit),
        frame.area(xs, [0.0] * len(xs), ys, "fill real"),
        frame.line(xs, ys, "line real"),
        frame.upright(places[1], frame.top, "chance"),
        frame.upright(places[-2], frame.top, "chance"),
        *(
            frame.hover(places[i], places[i + 1], f"{span}: {percent(shares[i], 1)}")
            for i, span in enumerate(spans)
        ),
    ]
    return svg(id_, title, about, frame.width, frame.height, *parts)
