"""The HTML templates of all pages. Whatever fills them is escaped."""

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(name: str, **content: object) -> str:
    """Return a whole page in one file."""
    environment = Environment(
        loader=PackageLoader("longsynth.show.templates", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name).render(content) + "\n"


def asset(name: str) -> bytes:
    return (files("longsynth.show.templates") / name).read_bytes()
