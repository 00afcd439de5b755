"""The form as a page that a board reads, prints and signs: Markdown or HTML, from one outline."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import BaseModel

from longsynth.govern.form import ApprovedVariable, Form, Governance
from longsynth.show.form_page_style import STYLE
from longsynth.system.text import as_typed, html, markdown

_SIGNS = ("For the data owner", "For the body that approved it", "For those who fit and sign")
_PROMISE = (
    "This form fixes what may be done with the patients' data before anyone touches them. Each "
    "release names its hash, and longsynth refuses a fit that departs from it."
)
_WORDS = {
    "patient": "one patient's complete record",
    "replacement": "that record is replaced by any other; the number of patients is public",
}
_SHORT = 60  # letters of a list that stands in one line


@dataclass(frozen=True, slots=True)
class Part:
    title: str
    answers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # question, and one or more answers
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def markdown_page(form: Form) -> str:
    lines = [f"# Governance form: {markdown(form.says.study.title)}", "", _PROMISE, ""]
    for part in outline(form.says):
        lines += [f"## {part.title}", ""]
        for question, answers in part.answers:
            if len(answers) == 1:
                lines.append(f"- **{question}**: {markdown(answers[0])}")
            else:
                lines += [f"- **{question}**:", *(f"    - {markdown(a)}" for a in answers)]
        lines += [""] if part.answers else []
        if part.rows:
            lines += [_row(part.columns), "|" + "---|" * len(part.columns)]
            lines += [*(_row(tuple(map(markdown, row))) for row in part.rows), ""]
    lines += ["## Signatures", "", _row(("", "name", "date", "signature")), "|---|---|---|---|"]
    lines += [_row((who, "", "", "")) for who in _SIGNS]
    return "\n".join([*lines, "", f"SHA-256 of the form: `{form.sha256}`", ""])


def html_page(form: Form) -> str:
    """A whole page in one file: no script, nothing fetched."""
    says = form.says
    facts = (
        ("ε of one fit, at most", as_typed(says.budget.epsilon)),
        ("δ, at most", as_typed(says.budget.delta)),
        (
            "patients",
            f"{says.protection.patients_at_least:,} – {says.protection.patients_at_most:,}",
        ),
        ("approved until", str(says.data.valid_until)),
    )
    cards = "".join(f"<div><b>{html(v)}</b><span>{html(k)}</span></div>" for k, v in facts)
    signs = "".join(f"<div><span>{html(who)}</span></div>" for who in _SIGNS)
    title = html(says.study.title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Governance form: {title}</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="kind">Governance form</p>
<h1>{title}</h1>
<p>{html(_PROMISE)}</p>
</header>
<div class="facts">{cards}</div>
{"".join(map(_section, outline(says)))}
<section class="last">
<h2>Signatures</h2>
<div class="signs">{signs}</div>
</section>
<footer>SHA-256 of the form<br><code>{form.sha256}</code></footer>
</body>
</html>
"""


def _section(part: Part) -> str:
    pairs = "".join(
        f"<dt>{html(question)}</dt><dd>{_html_answers(answers)}</dd>"
        for question, answers in part.answers
    )
    heads = "".join(f"<th>{html(name)}</th>" for name in part.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html(cell)}</td>" for cell in row) + "</tr>" for row in part.rows
    )
    return (
        f"<section>\n<h2>{html(part.title)}</h2>\n"
        + (f"<dl>{pairs}</dl>\n" if pairs else "")
        + (f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>\n" if rows else "")
        + "</section>\n"
    )


def _html_answers(answers: tuple[str, ...]) -> str:
    if len(answers) == 1:
        hashed = re.fullmatch("[0-9a-f]{64}", answers[0])
        return f"<code>{answers[0]}</code>" if hashed else html(answers[0])
    return "<ul>" + "".join(f"<li>{html(answer)}</li>" for answer in answers) + "</ul>"


def outline(says: Governance) -> Iterator[Part]:
    for name, field in Governance.model_fields.items():
        answer, title = getattr(says, name), field.title or name
        if isinstance(answer, BaseModel):
            yield _part(title, answer)
        elif isinstance(answer, tuple):
            columns = tuple(f.title or n for n, f in type(answer[0]).model_fields.items())
            yield Part(title, columns=columns, rows=tuple(map(_cells, answer)))


def _part(title: str, section: BaseModel) -> Part:
    answers = []
    rows: tuple[tuple[str, ...], ...] = ()
    for name, field in type(section).model_fields.items():
        answer = getattr(section, name)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], ApprovedVariable):
            rows = tuple(map(_variable, answer))
        else:
            answers.append((field.title or name, _answers(answer)))
    columns = ("Variable", "Kind", "Bounds", "Where they come from") if rows else ()
    return Part(title, tuple(answers), columns, rows)


def _variable(variable: ApprovedVariable) -> tuple[str, ...]:
    low, high = variable.bounds
    bounds = f"{as_typed(low)} – {as_typed(high)} {variable.unit}".strip()
    source = variable.bounds_from or ("0 or 1" if variable.kind == "binary" else "")
    return (variable.name, variable.kind, bounds, source)


def _cells(item: BaseModel) -> tuple[str, ...]:
    return tuple(_answers(getattr(item, name))[0] for name in type(item).model_fields)


def _answers(answer: Any) -> tuple[str, ...]:
    if isinstance(answer, tuple):
        parts = tuple(_answers(part)[0] for part in answer) or ("none",)
        return (", ".join(parts),) if sum(map(len, parts)) <= _SHORT else parts
    if isinstance(answer, float):
        return (as_typed(answer),)
    if isinstance(answer, int):
        return (f"{answer:,}",)
    return (answer.isoformat() if isinstance(answer, date) else _WORDS.get(answer, answer),)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
