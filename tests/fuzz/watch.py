"""One input under watch: what came of it, what was said, and what stayed behind."""

import io
import shutil
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fuzz.kind import Kind
from leaks.capture import everything_said, private_tmp
from leaks.sentinels import NEEDLES, SHORT, error_texts, found_in
from longsynth.system.errors import Refused

GOOD = ("accepted", "refused")
BAD = ("traceback", "sentinel", "hang", "crash", "left behind", "not made")


@dataclass(frozen=True, slots=True)
class Outcome:
    number: int
    kind: str
    what: str  # one of GOOD or BAD
    seconds: float
    detail: str = ""


def try_input(kind: Kind, seed: int, number: int, folder: Path) -> Outcome:
    """Make one input in a new folder, read it, and remove it."""
    folder.mkdir()
    try:
        kind.make(folder, np.random.default_rng([seed, number]))
    except Exception as error:  # noqa: BLE001  the fuzzer's own fault, and counted as one
        shutil.rmtree(folder)
        return Outcome(
            number, kind.name, "not made", 0.0, "".join(traceback.format_exception(error))
        )
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    started = time.perf_counter()
    with private_tmp(scratch), everything_said() as said:
        what, detail = _read(kind, folder, np.random.default_rng([seed, number, 1]), said)
    seconds = time.perf_counter() - started
    hits = found_in(said.getvalue(), NEEDLES + SHORT)
    if hits:
        what, detail = "sentinel", f"{', '.join(hits)} in: {said.getvalue()[:2000]}"
    elif left := sorted(p.name for p in scratch.iterdir()):
        what, detail = "left behind", f"{', '.join(left)}; {detail}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return Outcome(number, kind.name, what, seconds, detail)


def _read(kind: Kind, folder: Path, rng: np.random.Generator, said: io.StringIO) -> tuple[str, str]:
    try:
        for text in kind.read(folder, rng):
            said.write(text)
    except Refused as refusal:
        said.write("\n".join(error_texts(refusal)))
        return "refused", str(refusal)[:300]
    except Exception as error:  # noqa: BLE001  that is what is looked for
        said.write("\n".join(error_texts(error)))
        places = traceback.extract_tb(error.__traceback__)
        ours = [p for p in places if "longsynth" in p.filename] or list(places)
        place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
        return "traceback", f"{type(error).__name__} at {place}: {str(error)[:300]}"
    return "accepted", ""
