"""A command that was typed wrongly shows one that was typed rightly."""

from typing import Any

from typer.core import TyperCommand


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
