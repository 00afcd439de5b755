"""The governance form as a page that a board reads, prints and signs: Markdown or HTML."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from pydantic import BaseModel

from longsynth.govern.form import ApprovedVariable, Form, Governance
from longsynth.show.dossier.facts import FormSection
from longsynth.show.templates import render
from longsynth.system.text import as_typed, markdown, markdown_table

SIGNERS = ("For the data owner", "For the body that approved it", "For those who fit and sign")
PURPOSE = (
    "This form fixes what may be done with the patients' data before anyone uses them. Each "
    "release names the form's hash, and longsynth refuses a fit that departs from the form."
)
WORDS = {
    "patient": "one patient's complete record",
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
        elif isinstance(answer, tuple):
            columns = tuple(f.title or n for n, f in type(answer[0]).model_fields.items())
            yield FormSection(title, columns=columns, rows=tuple(map(_cells, answer)))


def _section(title: str, section: BaseModel) -> FormSection:
    answers = []
    rows: tuple[tuple[str, ...], ...] = ()
    for name, field in type(section).model_fields.items():
        answer = getattr(section, name)
        if isinstance(answer, tuple) and answer and isinstance(answer[0], ApprovedVariable):
            rows = tuple(map(_variable, answer))
        else:
            answers.append((field.title or name, _answers(answer)))
    columns = ("Variable", "Kind", "Bounds", "Where they come from") if rows else ()
    return FormSection(title, tuple(answers), columns, rows)


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
        return (", ".join(parts),) if sum(map(len, parts)) <= ONE_LINE else parts
    if isinstance(answer, float):
        return (as_typed(answer),)
    if isinstance(answer, int):
        return (f"{answer:,}",)
    return (answer.isoformat() if isinstance(answer, date) else WORDS.get(answer, answer),)
