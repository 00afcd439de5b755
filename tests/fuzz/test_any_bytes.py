"""Whatever stands in a file, a reader answers or refuses, and quotes no patient."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzz.cohorts import PEOPLE, ROWS, csv_text, write_csv, write_typed
from leaks.sentinels import MARK, found_in_error
from longsynth.govern.provenance import read_provenance
from longsynth.reading.cohort_folder import CohortFolder
from longsynth.reading.importing import import_cohort
from longsynth.release.folder import read_release
from longsynth.release.internal import FACTS, read_disclosed
from longsynth.release.synthetic_folder import RECIPE, read_recipe
from longsynth.schema.file import parse_text
from longsynth.system.errors import Refused

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=150, deadline=None)

signs = st.sampled_from(['"', ",", "\n", "\r", "\x00", "\x1e", MARK, "1", ".", "é", "\u2028", " "])
pieces = st.lists(signs, max_size=30).map("".join).map(str.encode) | st.binary(max_size=60)
words = st.text(max_size=12) | st.sampled_from(["trust", "zcdp", "1/0", "nan", "\ud800", "9" * 300])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | words
trees = st.recursive(
    leaves, lambda t: st.lists(t, max_size=4) | st.dictionaries(words, t, max_size=4), max_leaves=8
)


def answers_or_refuses(reader: Callable[[], object]) -> None:
    try:
        reader()
    except Refused as refusal:
        assert not found_in_error(refusal)
        str(refusal).encode()  # it can be printed


def _import(folder: Path) -> None:
    import_cohort("events", folder, folder / "schema.yaml", folder / "cohort")
    _read(folder / "cohort")


def _read(folder: Path) -> None:
    with CohortFolder(folder) as source:
        list(source.batches())


@few
@given(rows=pieces, people=pieces, header=st.booleans())
@example(rows=b"\x1e", people=b"", header=True)
def test_any_bytes_as_csv(rows: bytes, people: bytes, header: bool) -> None:
    starts = [csv_text(table).partition("\n")[0].encode() for table in (ROWS, PEOPLE)]
    tables = [start * header + cells for start, cells in zip(starts, (rows, people), strict=True)]
    with TemporaryDirectory() as place:
        write_csv(Path(place), observations=tables[0], patients=tables[1])
        answers_or_refuses(lambda: _import(Path(place)))


@few
@given(pages=st.binary(max_size=40), footer=st.binary(max_size=80), size=st.none() | st.integers(0))
def test_any_bytes_as_parquet(pages: bytes, footer: bytes, size: int | None) -> None:
    length = (len(footer) if size is None else size % 2**32).to_bytes(4, "little")
    with TemporaryDirectory() as place:
        write_typed(Path(place))
        content = b"PAR1" + pages + MARK.encode() + footer + length + b"PAR1"
        (Path(place) / "observations.parquet").write_bytes(content)
        answers_or_refuses(lambda: _read(Path(place)))


@many
@given(
    text=st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                "!!int ",
                "!!float ",
                "''",
                "a",
                ": ",
                "- ",
                "[",
                "]",
                "{",
                "}",
                "&a ",
                "*a ",
                "\n",
                "  ",
                "? ",
                "<<",
                "|",
                ">",
                "#",
                "%",
                "1",
                ".",
                "'",
                '"',
                "\\ud800",
                "name",
                "slots",
                "variables",
                ",",
            ]
        ),
        max_size=25,
    ).map("".join)
)
@example(text="slots: !!int ''")
@example(text='"\\ud800": 1')
def test_any_text_as_a_schema(text: str) -> None:
    answers_or_refuses(lambda: parse_text(text, "schema.yaml"))


@many
@given(tree=trees)
@example(tree={"patients": float("inf"), "seed": 1, "fingerprint": "", "where": {}})
def test_any_json_as_a_recipe_as_facts_or_as_provenance(tree: Any) -> None:
    answers_or_refuses(lambda: read_provenance(tree))
    with TemporaryDirectory() as place:
        for name, reader in ((RECIPE, read_recipe), (FACTS, read_disclosed)):
            (Path(place) / name).write_text(json.dumps(tree))
            answers_or_refuses(lambda reader=reader: reader(Path(place)))


@many
@given(ledger=trees, manifest=trees, numbers=trees, schema=st.text(max_size=20))
def test_any_json_as_a_release(ledger: Any, manifest: Any, numbers: Any, schema: str) -> None:
    files = {"ledger.json": ledger, "manifest.json": manifest, "statistics.json": numbers}
    with TemporaryDirectory() as place:
        for name, tree in files.items():
            (Path(place) / name).write_text(json.dumps(tree))
        (Path(place) / "schema.yaml").write_text(schema, "utf-8", "replace")
        answers_or_refuses(lambda: read_release(Path(place)))
