"""A format is one file and one line: both are added here, used, and taken away again."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longsynth import Refused, Schema, import_cohort, read_cohort
from longsynth.commands import __main__ as cli
from longsynth.reading import formats
from longsynth.reading.adapter import Prepared, Request
from longsynth.reading.formats import InputFormat
from longsynth.schema.file import dump
from longsynth.schema.record import Trajectories
from longsynth.system.errors import Code
from longsynth.writing import FORMATS as OUTPUT
from longsynth.writing import OutputFormat, Writer
from support import small_schema

# The adapter: the whole file of a format that reads one JSON file.


def prepare(request: Request) -> Prepared:
    request.step("reading the file")
    content = json.loads(Path(request.source).read_text("utf-8"))
    number = {target.name: target.number for target in request.targets}
    people = pa.table(
        {
            "id": [row["id"] for row in content["patients"]],
            "start": [0.0 for _ in content["patients"]],
        }
        | {
            f"c{number[name]}": [row[name] for row in content["patients"]]
            for name in ("group", "event", "site")
        }
    )
    rows = pa.table(
        {
            "id": [row["id"] for row in content["rows"]],
            "clock": [row["at"] for row in content["rows"]],
        }
        | {
            f"w{target.number}": [row.get(target.name) for row in content["rows"]]
            for target in request.targets
            if not target.once
        }
    )
    request.session.connection.register("raw_people", people)
    request.session.connection.register("wide", rows)
    request.session.run("""
        CREATE TEMP TABLE people AS SELECT *, NULL::DOUBLE AS stop, NULL::DOUBLE AS age,
        NULL::DOUBLE AS death FROM raw_people""")
    return Prepared(from_events=lambda _: False, wide=True)


# The writer: the whole file of a format that writes the length of each record.


def write(folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    lengths = [length for chunk in chunks for length in chunk.length.tolist()]
    pq.write_table(pa.table({"length": lengths}), folder / "lengths.parquet")
    (folder / "schema.yaml").write_text(dump(schema.canonical()), "utf-8")


LENGTHS = Writer(write, people_files=lambda _: ["lengths.parquet"], other_files=lambda _: [])

# The two lines of registration.
READS = InputFormat("one JSON file", "readers.test_add_a_format:prepare", "a file")
WRITES = OutputFormat("the length of each record", "readers.test_add_a_format:LENGTHS")
ADDED = (
    "import sys; sys.path[:0] = ['tests']\n"
    "from readers.test_add_a_format import READS, WRITES, OUTPUT, formats\n"
    "formats.FORMATS['json'], OUTPUT['lengths'] = READS, WRITES\n"
    "from longsynth.commands.app import app\n"
)


def source(folder: Path) -> tuple[Path, Path]:
    """One patient with two rows and one with none, and a schema."""
    patients = [
        {"id": 1, "group": "1", "event": "0", "site": "A"},
        {"id": 2, "group": "0", "event": "1", "site": "B"},
    ]
    rows = [{"id": 1, "at": 1.0, "pulse": 80.0}, {"id": 1, "at": 3.0, "pulse": 90.0}]
    (folder / "in.json").write_text(json.dumps({"patients": patients, "rows": rows}))
    (folder / "schema.yaml").write_text(dump(small_schema()), "utf-8")
    return folder / "in.json", folder / "schema.yaml"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["longsynth", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(str(ended.value.code or 0))


def test_an_input_format_is_added_used_and_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, schema = source(tmp_path)
    with monkeypatch.context() as added:
        added.setitem(formats.FORMATS, "json", READS)
        assert import_cohort("json", given, schema, tmp_path / "by_function").patients == 2
        order = ["import", "json", given, "--schema", schema, "--out", tmp_path / "by_command"]
        assert run(added, *order) == 0
    for out in ("by_function", "by_command"):
        _, cohort = read_cohort(tmp_path / out)
        assert cohort.length.tolist() == [2, 0]
        assert cohort.values[0, :2, 0].tolist() == [80.0, 90.0]
        assert (cohort.group.tolist(), cohort.event.tolist()) == ([1, 0], [0, 1])
    with pytest.raises(Refused) as refused:
        import_cohort("json", given, schema, tmp_path / "again")
    assert refused.value.code == Code.FORMAT_UNKNOWN
    assert all(name in refused.value.remedy for name in formats.FORMATS)


def test_an_output_format_is_added_used_and_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch, "simulate", "--patients", 60, "--out", tmp_path / "cohort") == 0
    promise = ("--epsilon", 8, "--delta", "1e-4", "--method", "dp-score")
    assert run(monkeypatch, "fit", tmp_path / "cohort", *promise, "--out", tmp_path / "run") == 0
    order = [
        "sample",
        tmp_path / "run/release",
        "--patients",
        9,
        "--seed",
        1,
        "--format",
        "lengths",
    ]
    with monkeypatch.context() as added:
        added.setitem(OUTPUT, "lengths", WRITES)
        assert run(added, *order, "--out", tmp_path / "out") == 0
        assert run(added, "verify", tmp_path / "run/release", tmp_path / "out") == 0
    assert len(pq.read_table(tmp_path / "out/lengths.parquet")) == 9
    assert run(monkeypatch, *order, "--out", tmp_path / "again") == 2


@pytest.mark.parametrize(
    ("command", "expected"),
    [("import", ("json", "one JSON file")), ("sample", ("lengths", "the length of each record"))],
)
def test_the_help_lists_an_added_format(command: str, expected: tuple[str, ...]) -> None:
    code = f"{ADDED}app([{command!r}, '--help'])"
    root = Path(__file__).parents[2]
    wide = {"COLUMNS": "400", "PATH": "", "PYTHONPATH": f"{root}/src:{root}/lab"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env=wide
    )
    assert all(words in done.stdout for words in expected), done.stdout + done.stderr
    assert ("events" in done.stdout) and ("meds" in done.stdout)
