"""Progress bars on standard error. They count patients, which are public; rows are not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def counted_by(
    progress: Progress, label: str, total: int
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a way to pass chunks on that moves a bar. Rows are private, so it counts patients."""
    task = progress.add_task(label, total=total)

    def watch(chunks: Iterator[Any]) -> Iterator[Any]:
        progress.reset(task)
        for chunk in chunks:
            yield chunk
            progress.advance(task, chunk.patients)

    return watch


@contextmanager
def progress_bar(counted: str = "patients") -> Iterator[Progress]:
    """A bar on standard error, on a terminal only."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(counted),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        yield bar
