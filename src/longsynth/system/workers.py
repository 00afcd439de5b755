"""Pieces of work in this thread, in others or in other processes, and a bar that shows progress.

Results come back in the order of the pieces.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import ThreadpoolController, threadpool_limits

from longsynth.system.errors import Code, Refused, is_interrupt

if TYPE_CHECKING:
    from rich.progress import Progress

Result = TypeVar("Result")
Material = TypeVar("Material")
Piece = Callable[[], Result]
Watch = Callable[[int, int], None]  # pieces done, pieces in all


def work_through(pieces: Sequence[Piece[Result]], processes: int, watch: Watch) -> list[Result]:
    """Return the result of every piece; 0 processes: in this one. An error stops the others."""
    watch(0, len(pieces))
    if not processes:
        return _here(pieces, watch)
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with _without_signals():
        resource_tracker.ensure_running()
    with ProcessPoolExecutor(processes, context, _prepare) as pool:
        try:
            waiting = _submitted(pool, pieces)
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                watch(done, len(pieces))
            return [future.result() for future in waiting]
        except BrokenProcessPool:
            raise Refused(
                Code.PROCESS_KILLED,
                "a process was killed, perhaps for lack of memory.",
                "Use fewer processes (jobs).",
            ) from None
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if is_interrupt(error):  # a piece can take minutes
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
            raise


def in_threads(
    work: Callable[[Material], Result], pieces: Iterable[Material], jobs: int
) -> Iterator[Result]:
    """Yield the result of each piece, in order. Pieces are requested as threads become free, so
    that few are in memory. One job: in this thread."""
    if jobs < 2:
        yield from map(work, pieces)
        return
    with one_thread(), ThreadPoolExecutor(jobs) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                if len(waiting) > jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit numpy's and scipy's linear algebra to one thread, in every thread of this process: more
    would change the last bits, and short products would only wait."""
    with _linear_algebra().limit(limits=1):
        yield


@cache
def _linear_algebra() -> ThreadpoolController:
    """Cached: looking for the libraries takes longer than adding up a few patients."""
    import scipy.linalg.blas  # noqa: F401 - what is not loaded yet would not be found

    return ThreadpoolController()


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit every library that is loaded now to one thread, scikit-learn's included: an audit's
    matrices are small, and several audits run side by side."""
    with threadpool_limits(1):
        yield


def _here(pieces: Sequence[Piece[Result]], watch: Watch) -> list[Result]:
    results = []
    with threadpool_limits(limits=1):
        for done, piece in enumerate(pieces, start=1):
            results.append(piece())
            watch(done, len(pieces))
    return results


def _submitted(pool: ProcessPoolExecutor, pieces: Sequence[Piece[Result]]) -> list[Future[Result]]:
    with _without_signals():
        return [pool.submit(piece) for piece in pieces]


@contextmanager
def _without_signals() -> Iterator[None]:
    """Processes started here ignore a terminal's signals: the parent decides what they mean.
    Otherwise SIGHUP would end Python's tracker of shared resources, with many lines of output."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare() -> None:
    """Make a process ready: one thread for linear algebra, and an end when its parent ends."""
    os.environ.update(OMP_NUM_THREADS="1")  # for libraries that are not loaded yet
    threadpool_limits(limits=1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed outright cannot tell its children, but what it held open closes."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def progress_bar(counted: str | None = None) -> Iterator["Progress"]:
    """A bar on standard error, on a terminal only. `counted` names what it counts: patients, which
    are public, but never rows, which are not. Without it, the bar shows the time."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeElapsedColumn as Elapsed
    from rich.progress import TimeRemainingColumn as Remaining

    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), Elapsed()]
    if counted:
        columns[2:] = [MofNCompleteColumn(), TextColumn(counted), Remaining()]
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        yield bar


def counted_by(
    progress: "Progress", label: str, total: int
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function that passes chunks on and moves a bar by their patients."""
    task = progress.add_task(label, total=total)

    def watch(chunks: Iterator[Any]) -> Iterator[Any]:
        progress.reset(task)
        for chunk in chunks:
            yield chunk
            progress.advance(task, chunk.patients)

    return watch
