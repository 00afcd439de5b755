"""The commands as a newcomer uses them, in processes of their own, wrong flags included."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import preloaded
from longsynth.methods import DEFAULT

PROMISE = ["--epsilon", "12", "--delta", "1e-5", "--method", "trust", "--accounting", "zcdp"]


def longsynth(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return preloaded.longsynth(*arguments, cwd=cwd, environment=environment())


def longsynth_alone(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As a newcomer starts it, with nothing loaded."""
    command = [sys.executable, "-W", "error", "-m", "longsynth.commands", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment())


def environment() -> dict[str, str]:
    return os.environ | {"NO_COLOR": "1", "COLUMNS": "120"}


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cohort, a run and a synthetic cohort; the cohort is deleted once it is fitted."""
    folder = tmp_path_factory.mktemp("work")
    steps = [
        ["simulate", "--seed", 11, "--patients", 150, "--out", folder / "cohort"],
        ["fit", folder / "cohort", *PROMISE, "--out", folder / "run"],
    ]
    for step in steps:
        done = longsynth(*step)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
    shutil.copytree(folder / "cohort", folder / "kept")
    shutil.rmtree(folder / "cohort")
    done = longsynth(
        "sample", folder / "run/release", "--patients", 90, "--seed", 7, "--out", folder / "drawn"
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_a_cohort_folder_has_the_documented_columns(work: Path) -> None:
    variables = [
        "heart_rate",
        "respiratory_rate",
        "oxygen_saturation",
        "crp",
        "medication_intensity",
        "oxygen_support",
    ]
    for folder, more in ((work / "kept", []), (work / "drawn", ["weight"])):
        rows = pq.read_table(folder / "observations.parquet")
        people = pq.read_table(folder / "patients.parquet")
        assert rows.column_names == ["patient_id", "time", *variables]
        assert people.column_names == ["patient_id", "group", "event", "site", *more]
        assert rows.sort_by([("patient_id", "ascending"), ("time", "ascending")]) == rows
        assert (folder / "schema.yaml").is_file()


def test_sampling_and_verifying_need_no_data(work: Path) -> None:
    assert not (work / "cohort").exists()
    done = longsynth("verify", work / "run/release", work / "drawn")
    assert done.returncode == 0, done.stdout
    assert "bit for bit the same" in done.stdout
    assert "FAIL" not in done.stdout


def test_a_synthetic_cohort_can_be_fitted_again(work: Path, tmp_path: Path) -> None:
    synthetic = shutil.copytree(work / "drawn", tmp_path / "drawn")
    assert longsynth("check", synthetic).returncode == 0
    done = longsynth("fit", synthetic, *PROMISE, "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr


def test_a_run_holds_what_it_says_and_nothing_else(work: Path) -> None:
    run = work / "run"
    assert sorted(p.name for p in run.iterdir()) == ["internal", "release"]
    assert sorted(p.name for p in (run / "release").iterdir()) == [
        "STATEMENT.md",
        "ledger.json",
        "manifest.json",
        "schema.yaml",
        "statistics.json",
    ]
    assert "without any protection" in (run / "internal/NOT_FOR_RELEASE.md").read_text()
    assert json.loads((run / "internal/cohort.json").read_text())["patients"] == 150


def test_the_statement_says_what_a_board_must_know(work: Path) -> None:
    text = (work / "run/release/STATEMENT.md").read_text()
    for phrase in (
        "ε = 12, δ = 1e-05",
        "complete record",
        "150, is public",
        "0.940",
        "44.7 %",
        "| paper |",
        "| gaussian |",
        "not added up",
        "What is not covered",
    ):
        assert phrase in text


@pytest.mark.parametrize(
    ("accounting", "rho"), [("paper", 2.11977), ("zcdp", 2.40206), ("gaussian", 2.68361)]
)
def test_a_plan_totals_the_rho_of_its_accounting(work: Path, accounting: str, rho: float) -> None:
    done = longsynth(
        "plan",
        work / "kept/schema.yaml",
        "--patients",
        503,
        *PROMISE,
        "--accounting",
        accounting,
        "--json",
    )
    plan = json.loads(done.stdout)
    assert plan["total_rho"] == pytest.approx(rho, abs=1e-5)
    assert list(plan) == [
        "method",
        "patients",
        "epsilon",
        "delta",
        "accounting",
        "total_rho",
        "entries",
    ]
    assert sum(e["rho"] for e in plan["entries"]) == pytest.approx(plan["total_rho"])
    assert sum(e["share"] for e in plan["entries"]) == pytest.approx(1)
    for entry in plan["entries"]:
        assert list(entry) == ["statistic", "sensitivity", "sigma", "rho", "share"]
        assert entry["rho"] == pytest.approx(entry["sensitivity"] ** 2 / entry["sigma"] ** 2 / 2)


def test_a_plan_reads_as_a_table_with_noise_in_own_units(work: Path) -> None:
    done = longsynth("plan", work / "kept/schema.yaml", "--patients", 503, *PROMISE)
    assert done.returncode == 0
    for phrase in (
        "patients in each stratum",
        "bpm",
        "percentage points",
        "2.402056",
        "AUC 0.940",
        "clip_radius",
    ):
        assert phrase in done.stdout


def test_a_large_delta_is_called_out(work: Path) -> None:
    done = longsynth("plan", work / "kept/schema.yaml", "--patients", 10**6, *PROMISE)
    text = " ".join(done.stdout.split())
    assert "above 1/(10·N) = 1e-07" in text
    assert "use 1e-07 or less" in text


def test_the_papers_own_ledger_can_be_planned(work: Path, tmp_path: Path) -> None:
    text = (work / "kept/schema.yaml").read_text() + "constants: {condition_gram: released}\n"
    (tmp_path / "schema.yaml").write_text(text)
    done = longsynth("plan", tmp_path / "schema.yaml", "--patients", 503, *PROMISE, "--json")
    names = [e["statistic"] for e in json.loads(done.stdout)["entries"]]
    assert names == ["strata", "values", "second", "masks", "gaps", "gap squares", "conditions"]


def test_the_ledger_is_shown_and_exported(work: Path) -> None:
    shown = longsynth("ledger", work / "run/release")
    assert shown.returncode == 0
    assert "150 patients" in shown.stdout
    exported = json.loads(longsynth("ledger", work / "run/release", "--json").stdout)
    assert exported == json.loads((work / "run/release/ledger.json").read_text())
    assert exported["epsilon_under"]["zcdp"] == pytest.approx(12)


def test_a_misread_cohort_can_be_seen_before_the_budget_is_spent(
    work: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    schema = (work / "kept/schema.yaml").read_text()
    (folder / "schema.yaml").write_text(
        schema.replace("'0', '1'", "'no', 'yes'", 1).replace("group: '1'", "group: 'yes'")
    )
    (folder / "patients.parquet").write_bytes((work / "kept/patients.parquet").read_bytes())
    rows = pq.read_table(work / "kept/observations.parquet").slice(0, 2)
    place = rows.schema.get_field_index("time")
    rows = rows.set_column(place, "time", pa.array([None, 2.0]))
    pq.write_table(rows, folder / "observations.parquet")
    found = json.loads(longsynth("check", folder, "--json").stdout)
    assert found["patients"] == 150
    assert found["rows_without_usable_time"] == 1
    assert found["labels_set_to_the_first_level"]["group"] == 150
    shown = longsynth("check", folder)
    assert "do not share" in shown.stdout
    assert "longsynth plan" not in shown.stdout
    assert shown.returncode == 1


def test_conditions_reach_the_files(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "events"
    done = longsynth(
        "sample",
        work / "run/release",
        "--patients",
        30,
        "--seed",
        1,
        "--out",
        out,
        "--where",
        "event=1",
        "--where",
        "site=B",
    )
    assert done.returncode == 0, done.stderr
    people = pq.read_table(out / "patients.parquet").to_pydict()
    assert set(people["event"]) == {1}
    assert set(people["site"]) == {"B"}
    assert longsynth("verify", work / "run/release", out).returncode == 0


def refusals(work: Path, tmp: Path) -> dict[str, tuple[list[object], str]]:
    release, cohort, out = work / "run/release", work / "kept", tmp / "out"
    sample = ["sample", release, "--patients", 5, "--seed", 1, "--out", out]
    fit = ["fit", cohort, "--out", out]
    bad_yaml = tmp / "bad.yaml"
    bad_yaml.write_text("longsynth: 1\nslots: 0\n")
    return {
        "no such cohort": (["fit", tmp / "nowhere", *PROMISE, "--out", out], "is not a folder"),
        "existing target": ([*fit[:-1], work, *PROMISE], "[output-exists]"),
        "epsilon zero": ([*fit, "--epsilon", 0, "--delta", "1e-5"], "[budget-unusable]"),
        "delta one": ([*fit, "--epsilon", 1, "--delta", 1], "[budget-unusable]"),
        "delta nan": ([*fit, "--epsilon", 1, "--delta", "nan"], "[budget-unusable]"),
        "unknown method": ([*fit, *PROMISE, "--method", "magic"], "bootstrap"),
        "unknown accounting": ([*fit, *PROMISE, "--accounting", "rdp"], "accounting"),
        "missing option": (fit, "epsilon"),
        "unknown command": (["fitt"], "fit"),
        "bad schema": (["plan", bad_yaml, "--patients", 5, *PROMISE], "[schema-invalid]"),
        "no schema": (["plan", tmp / "none.yaml", "--patients", 5, *PROMISE], "[file-missing]"),
        "no patients": (
            ["plan", cohort / "schema.yaml", "--patients", 0, *PROMISE],
            "[no-patients]",
        ),
        "bad condition": ([*sample, "--where", "event"], "[condition-unknown]"),
        "unknown level": ([*sample, "--where", "site=Z"], "A, B, C"),
        "conditions that exclude each other": (
            [*sample, "--where", "site=A", "--where", "site=B"],
            "[condition-rare]",
        ),
        "not a release": (["ledger", cohort], "[not-a-release]"),
        "sample from a run": (["sample", work / "run", *sample[2:]], "[not-a-release]"),
    }


def test_refusals_exit_with_two_name_the_remedy_and_write_nothing(
    work: Path, tmp_path: Path
) -> None:
    for name, (arguments, remedy) in refusals(work, tmp_path).items():
        done = longsynth(*arguments)
        assert done.returncode == 2, (name, done.stderr)
        assert remedy in done.stderr, (name, done.stderr)
        assert "Traceback" not in done.stderr, name
        assert done.stdout == "", name
    assert [p.name for p in tmp_path.iterdir()] == ["bad.yaml"], "nothing half-written stays"


def test_a_method_without_a_guarantee_stays_internal(work: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "drawn"
    done = longsynth("fit", work / "kept", "--method", "bootstrap", "--out", run)
    assert done.returncode == 0, done.stderr
    assert "NOT PRIVATE" in done.stdout
    assert [p.name for p in run.iterdir()] == ["internal"]
    facts = json.loads((run / "internal/not_private.json").read_text())
    assert {line["noise"] for line in facts["ledger"]} == {"NOT PRIVATE"}
    done = longsynth("sample", run / "internal", "--patients", 20, "--seed", 1, "--out", out)
    assert done.returncode == 0, done.stderr
    assert "do not share" in done.stdout
    assert "without any" in (out / "NOT_FOR_RELEASE.md").read_text()
    assert longsynth("verify", run / "internal").returncode == 1
    assert longsynth("verify", work / "run/release", out).returncode == 1
    refused = longsynth("fit", work / "kept", *PROMISE, "--method", "bootstrap", "--out", out)
    assert refused.returncode == 2
    assert "[not-private]" in refused.stderr


def test_methods_are_listed_with_their_guarantee() -> None:
    lines = longsynth("methods").stdout.splitlines()
    for name in ("bootstrap", "independent", "temporal-pca", "scorediff"):
        assert any(name in line and "NOT PRIVATE" in line for line in lines)
    for name in ("dp-markov", "dp-score", "trust", "copula-score"):
        assert any(name in line and "(ε, δ) per patient" in line for line in lines)
    assert lines[-1] == f"`longsynth fit` uses {DEFAULT} unless you give --method."


def test_help_starts_light_and_names_every_command() -> None:
    done = longsynth("--help")
    assert done.returncode == 0
    for command in ("simulate", "plan", "fit", "sample", "ledger", "verify", "demo"):
        assert command in done.stdout
    heavy = "import sys, longsynth.commands.app; print([m for m in ('pyarrow', 'duckdb', 'opendp', "
    heavy += "'scipy', 'matplotlib', 'rich.table') if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"


def test_the_version_is_printed() -> None:
    from importlib.metadata import version

    assert longsynth("--version").stdout.strip() == f"longsynth {version('longsynth')}"


def test_no_option_or_variable_can_choose_or_seed_the_noise() -> None:
    text = longsynth("fit", "--help").stdout
    assert "seed" not in text.lower()
    assert "noise" not in text.lower()
    source = Path(__file__).parents[2] / "src" / "longsynth"
    reads = ("environ.get", "environ[", "getenv")
    assert not [p for p in source.rglob("*.py") if any(word in p.read_text() for word in reads)]


def test_the_demo_runs_end_to_end(tmp_path: Path) -> None:
    done = longsynth_alone("demo", "--out", tmp_path / "demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "checks passed" in done.stdout
    assert "heart_rate" in done.stdout
    internal = tmp_path / "demo/run/internal"
    assert (internal / "distributions.png").stat().st_size > 10_000
    assert (internal / "trajectories.png").stat().st_size > 10_000
    assert len(list((tmp_path / "demo/run/release").iterdir())) == 5
