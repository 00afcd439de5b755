"""A study that was stopped: finished cells are kept, damaged ones are run again."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from atomic.outputs import SMALL, main_here, start
from longsynth.system.errors import Refused, notes
from longsynth_lab import studies
from longsynth_lab.commands import paper as bench_paper
from longsynth_lab.results import Row, is_whole, read_results
from longsynth_lab.runner import run_experiments
from longsynth_lab.studies import population_study

STUDY = population_study(("independent",), (12.0,), (1, 2), 40, 60)


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.parquet")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "study"
    run_experiments(STUDY, out)
    return out


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def silently(path: Path) -> None:
    """A byte that changed on the disk, where Parquet's reader would not notice by itself."""
    content, shown = path.read_bytes(), str(pq.read_table(path).to_pydict())
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with suppress(OSError, pa.ArrowException):
            if str(pq.read_table(path).to_pydict()) != shown:
                return
    pytest.fail("every change is noticed")


def another(path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), path)


@pytest.mark.parametrize("damage", [cut, empty, silently, another])
def test_a_damaged_cell_is_run_again_and_only_that_one(
    finished: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    copy = tmp_path / "study"
    shutil.copytree(finished, copy)
    before = digests(copy / "cells")
    damaged = copy / "cells" / sorted(before)[0]
    damage(damaged)
    assert not is_whole(damaged, Row)
    run_experiments(STUDY, copy, resume=True)
    after = digests(copy / "cells")
    assert is_whole(damaged, Row)
    assert {n: d for n, d in after.items() if n != damaged.name} == {
        n: d for n, d in before.items() if n != damaged.name
    }
    assert len(read_results(copy / "results.parquet").rows) == len(
        read_results(finished / "results.parquet").rows
    )


def test_what_says_that_a_study_is_whole_is_gone_until_it_is_so_again(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "study"
    shutil.copytree(finished, copy)
    (copy / "validation.json").write_text("{}")
    (copy / "cells" / ".half.parquet.1.partial").write_text("x")
    (copy / "cells" / sorted(digests(copy / "cells"))[0]).unlink()

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("longsynth_lab.runner.run_cell", stopped)
    with pytest.raises(KeyboardInterrupt) as stop:
        run_experiments(STUDY, copy, resume=True)
    assert notes(stop.value) == [f"Finished cells are kept in {copy}: go on with --resume."]
    assert not (copy / "validation.json").exists()
    assert not list(copy.rglob("*.partial"))


def test_a_refusal_before_the_start_does_not_speak_of_cells(finished: Path) -> None:
    with pytest.raises(Refused) as refusal:
        run_experiments(STUDY, finished)
    assert notes(refusal.value) == []


def workers(parent: int) -> list[Path]:
    """The processes of a study, in /proc, but for the one that tracks its semaphores."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = [Path("/proc", child) for child in children]
    return [path for path in found if b"spawn_main" in (path / "cmdline").read_bytes()]


def blocked(process: Path) -> set[int]:
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    bits = int(status["SigBlk"], 16)
    return {number for number in signal.valid_signals() if bits >> (number - 1) & 1}


def test_a_stopped_study_ends_its_processes_keeps_its_cells_and_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    wanted = ["population", "--methods", "independent", "--train-patients", "40", "--out", out]
    seeds = ",".join(map(str, range(1, 60)))
    child = start(*wanted, "--seeds", seeds, "--jobs", 2, script=SMALL)
    end = time.monotonic() + 120
    while len(digests(out / "cells")) < 1 and child.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    deaf = [blocked(process) for process in workers(child.pid)]
    assert deaf == [{signal.SIGINT, signal.SIGHUP}] * 2  # the parent alone hears a terminal
    before = time.monotonic()
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=60)  # standard error is closed once all processes ended
    assert time.monotonic() - before < 10
    assert child.returncode == -signal.SIGINT
    assert said == (
        f"longsynth: interrupted (SIGINT). Finished cells are kept in {out}: go on with --resume.\n"
    )
    assert not list(out.rglob("*.partial"))
    kept = digests(out / "cells")
    assert kept
    monkeypatch.setattr(studies, "run_population", partial(studies.run_population, fresh=60))
    code, _, said = main_here("bench", *wanted, "--seeds", "1", "--jobs", 1, "--resume")
    assert code == 0, said
    assert {name: digests(out / "cells")[name] for name in kept} == kept


@pytest.mark.parametrize("error", [OSError(28, "x"), KeyboardInterrupt()])
def test_what_ends_tables_and_plots_says_how_to_go_on_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def ending(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(studies, "run_paper", ending)
    with pytest.raises((Refused, KeyboardInterrupt)) as stop:
        bench_paper(tmp_path, seeds=None, jobs=1, resume=True)
    said = " ".join([str(stop.value), *notes(stop.value)])
    assert f"Finished cells are kept in {tmp_path}: go on with --resume." in said
    assert ("No space left on device" in said) == isinstance(error, OSError)
