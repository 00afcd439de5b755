"""Results as words, tables and charts. Nothing here computes a number that counts as evidence.

`templates/` holds the HTML of all pages. Whatever fills them is escaped.
"""

from importlib.resources import files


def render(template: str, **content: object) -> str:
    """Return a whole page in one file."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__name__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(content) + "\n"


def asset(file: str) -> bytes:
    return (files(__name__) / "templates" / file).read_bytes()
