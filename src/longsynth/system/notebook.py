"""Tables for notebooks. Text from a schema is escaped; nothing here is given a patient's value."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with a caption, for `_repr_html_`."""
    lines = [_line("th", head), *(_line("td", row) for row in rows)]
    return Markup("<table><caption>{}</caption>{}</table>").format(caption, Markup().join(lines))


def _line(tag: str, cells: Sequence[object]) -> Markup:
    parts = (Markup(f"<{tag}>{{}}</{tag}>").format(cell) for cell in map(escape, map(str, cells)))
    return Markup("<tr>{}</tr>").format(Markup().join(parts))
