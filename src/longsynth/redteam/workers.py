"""Pieces of work in this process or in others; results come back in the order of the pieces."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from threadpoolctl import threadpool_limits

from longsynth.errors import Refused

Result = TypeVar("Result")
Piece = Callable[[], Result]
Watch = Callable[[int, int], None]  # pieces done, pieces in all


def work_through(pieces: Sequence[Piece[Result]], jobs: int, watch: Watch) -> list[Result]:
    """Return what every piece returns. Each piece has its own seed, so jobs change no result."""
    watch(0, len(pieces))
    if jobs <= 1:
        found = []
        for done, piece in enumerate(pieces, start=1):
            found.append(piece())
            watch(done, len(pieces))
        return found
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _prepare, (os.getpid(),)) as pool:
        try:
            waiting = _submitted(pool, pieces)
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                watch(done, len(pieces))
            return [future.result() for future in waiting]
        except BrokenProcessPool:
            raise Refused(
                "a process of the game was killed, perhaps for want of memory: take fewer --jobs."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # a piece takes a second or two
            raise


def _submitted(pool: ProcessPoolExecutor, pieces: Sequence[Piece[Result]]) -> list[Future[Result]]:
    """Start the processes deaf to a terminal's signals: the parent decides what they mean."""
    heard = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        return [pool.submit(piece) for piece in pieces]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, heard)


def _prepare(parent: int) -> None:
    """Make a process ready: one thread for linear algebra, and an end when its parent ends."""
    os.environ.update(OMP_NUM_THREADS="1")  # for libraries that are not loaded yet
    threadpool_limits(limits=1)
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
