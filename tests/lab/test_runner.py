"""The runner: killed half-way and resumed, it keeps what was finished and gives whole tables."""

import fcntl
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from lab.miniature import miniature
from longsynth.system.errors import Refused
from longsynth_lab.paper.artefacts import expected_files
from longsynth_lab.paper.section_v import PRINTED, paper_study
from longsynth_lab.results import read_results
from longsynth_lab.runner import run_experiments
from longsynth_lab.studies import population_study, run_population
from longsynth_lab.trial import trials

KILLED = """
import sys
from pathlib import Path
from longsynth_lab.runner import run_experiments
from longsynth_lab.studies import population_study
if __name__ == "__main__":
    study = population_study(("independent", "trust"), (1.0, 12.0), range(1, 30), 60, 120)
    run_experiments(study, Path(sys.argv[1]), jobs=2)
"""


def digests(folder: Path, pattern: str) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in folder.glob(pattern)}


def test_a_killed_run_keeps_its_cells_and_resumes_to_whole_tables(tmp_path: Path) -> None:
    script, out = tmp_path / "study.py", tmp_path / "out"
    script.write_text(KILLED)
    run = subprocess.Popen([sys.executable, str(script), str(out)])
    end = time.monotonic() + 60
    while len(digests(out / "cells", "*.parquet")) < 3 and time.monotonic() < end:
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.wait()
    time.sleep(1.5)  # workers notice that their parent is gone
    before = digests(out / "cells", "*.parquet")
    study = population_study(("independent", "trust"), (1.0, 12.0), range(1, 30), 60, 120)
    assert 3 <= len(before) < len(trials(study))
    assert not (out / "results.parquet").exists()

    shorter = [replace(one, seeds=one.seeds[:4]) for one in study]
    run_experiments(shorter, out, resume=True)
    after = digests(out / "cells", "*.parquet")
    assert {name: after[name] for name in before} == before
    rows = read_results(out / "results.parquet")
    assert rows.seeds("population") == [1, 2, 3, 4]
    table = (out / "results.parquet").read_bytes()
    run_experiments(shorter, out, resume=True)
    assert (out / "results.parquet").read_bytes() == table


def test_a_resumed_study_gives_the_same_tables(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    for name in ("results.parquet", "predictions.parquet", "study.json"):
        (copy / name).unlink()
    (copy / "cells" / ".half.parquet.1.partial").write_bytes(b"PAR1 half of a")
    run_experiments(miniature(), copy, resume=True)
    for name in ("results.parquet", "predictions.parquet"):
        assert (copy / name).read_bytes() == (study / name).read_bytes(), name
    for name, text in expected_files(copy).items():
        assert text == (study / name).read_text(encoding="utf-8"), name


def test_a_cell_that_is_gone_is_run_again_and_only_that_one(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    gone = sorted((copy / "cells").glob("*.parquet"))[0]
    gone.unlink()
    before = digests(copy / "cells", "*.parquet")
    run_experiments(miniature(), copy, resume=True)
    after = digests(copy / "cells", "*.parquet")
    assert gone.name in after
    assert {name: after[name] for name in before} == before


def test_an_existing_folder_is_refused_without_resume(study: Path) -> None:
    with pytest.raises(Refused, match="--resume"):
        run_experiments(miniature(), study)


def test_two_runs_cannot_work_in_one_folder(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(study, copy)
    with (copy / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="Another run"):
            run_experiments(miniature(), copy, resume=True)
    run_experiments(miniature(), copy, resume=True)


def test_equal_settings_of_several_experiments_are_run_once() -> None:
    found = trials(paper_study((11,)))
    shared = [t for t in found if t.method == "trust" and t.setting == PRINTED and not t.alone]
    (one,) = (trial for trial in shared if trial.seed == 11)
    used = {use.experiment for use in one.uses}
    sweeps = {"epsilon", "scarcity", "missingness", "ablation", "departures"}
    assert used == {"comparison", "membership", "canary"} | sweeps
    assert [t.seed for t in shared] == [11, 1011, 2011, 3011]  # membership has populations more
    assert len({trial.name for trial in found}) == len(found)


def test_what_knows_no_budget_is_run_once_for_all_budgets() -> None:
    found = trials(population_study(("bootstrap", "trust"), (1.0, 12.0), (11,)))
    assert sorted(t.method for t in found) == [
        "base rate",
        "bootstrap",
        "train on real",
        "trust",
        "trust",
    ]


def test_the_population_table_has_every_method_and_reference(tmp_path: Path) -> None:
    wanted = {"methods": ("bootstrap", "trust"), "epsilons": (1.0, 12.0), "seeds": (11, 22)}
    text = run_population(tmp_path / "p", train_patients=60, fresh=200, **wanted)  # type: ignore
    table = text.partition("## Utility")[2].partition("## ")[0]
    assert table.count("TRUST-LONGSYNTH") == 2
    assert table.count("Bootstrap") == table.count("Train on real") == table.count("Base rate") == 1
    assert (tmp_path / "p/POPULATION.md").read_text(encoding="utf-8") == text


def test_unknown_methods_and_repeated_seeds_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(Refused, match="unknown"):
        run_population(tmp_path / "p", methods=("no-such",), seeds=(11,))
    with pytest.raises(Refused, match="different"):
        run_population(tmp_path / "p", seeds=(11, 11))
    assert not (tmp_path / "p").exists()


def test_without_scikit_learn_a_study_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(Refused, match="pip install"):
        run_experiments(paper_study((11,)), tmp_path / "study")
    assert not (tmp_path / "study").exists()
