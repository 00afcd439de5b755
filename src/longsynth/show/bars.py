"""A share as a bar of text, which needs neither colour nor a wide screen."""

EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int = 10, rest: str = " ") -> str:
    """`width` cells, filled from the left to an eighth of a cell; beyond one it is full."""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    whole, part = divmod(eighths, 8)
    return ("█" * whole + (EIGHTHS[part] if part else "")).ljust(width, rest)
