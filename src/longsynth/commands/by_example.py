"""How commands are typed: arguments are plain text, and a mistake shows a right example."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from longsynth.privacy.errors import Refused
from longsynth.system.text import shell, text_problem


class ByExample(TyperCommand):
    """Its epilog is an example, which `--help` shows and so does every usage error."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # Typer's own exceptions moved between its releases: known by what they carry
            if isinstance(said := getattr(error, "message", None), str) and self.epilog:
                error.message = f"{said}\n{self.epilog}".lstrip()  # type: ignore[attr-defined]
            raise


class OneLineArguments(TyperGroup):
    """Refuses an argument that is not one printable line, before any message can repeat it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for argument in args:
            if found := text_problem(argument):
                raise Refused(
                    f"the argument {shell(argument)} {found}. If it names a file or a folder, "
                    "rename that first."
                )
        return super().parse_args(ctx, args)


def command(
    app: typer.Typer, example: str, name: str | None = None, panel: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command with an example, which its help and its usage errors show."""
    shown = f"For example: longsynth {example}"
    return app.command(name, cls=ByExample, epilog=shown, rich_help_panel=panel)
