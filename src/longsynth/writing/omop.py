"""OMOP CDM 5.4: the tables of the data model with all their columns, without a vocabulary.

Concepts come from the catalogue; what it does not know has concept 0 and its name as source value.
Every record starts at midnight of one public day, and `cdm_source` says that dates are invented.
schema.yaml says how `longsynth import omop` reads it back. A slot without observations leaves no
trace.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from longsynth.schema.columns import LABELS, time_unit
from longsynth.schema.file import dump
from longsynth.schema.mapping import Dataset, End, Moment, Source
from longsynth.schema.record import Trajectories
from longsynth.schema.schema import Schema
from longsynth.schema.units import omop_unit
from longsynth.system.arrays import Ints
from longsynth.system.origin import VERSION
from longsynth.writing import Writer
from longsynth.writing.clinical import FEMALE, MALE, Clinical, start_of
from longsynth.writing.cohort import parquet_writer

RECORDED = 32817  # type concept "EHR"
INPATIENT, OUTPATIENT = 9201, 9202
SEX = {0: 0, MALE: 8507, FEMALE: 8532}
CDM_5_4, AGE = 756265, 4265453  # concepts
SOURCE, TEXT = 50, 60  # characters of a source value and of a text in the model
_KINDS = {"i": "INTEGER", "d": "DATE", "t": "TIMESTAMP", "n": "NUMERIC", "x": "TEXT"}
_ARROW = {
    "i": pa.int32(),
    "d": pa.date32(),
    "t": pa.timestamp("us"),
    "n": pa.float64(),
    "x": pa.string(),
}
ONCE = ("care_site", "cdm_source")  # tables that do not depend on patients
# Columns of the model with their kinds: integer, date, time stamp, number, text; ! is NOT NULL.
COLUMNS = {
    "care_site": "care_site_id:i! care_site_name:x place_of_service_concept_id:i location_id:i "
    "care_site_source_value:x place_of_service_source_value:x",
    "person": "person_id:i! gender_concept_id:i! year_of_birth:i! month_of_birth:i day_of_birth:i "
    "birth_datetime:t race_concept_id:i! ethnicity_concept_id:i! location_id:i provider_id:i "
    "care_site_id:i person_source_value:x gender_source_value:x gender_source_concept_id:i "
    "race_source_value:x race_source_concept_id:i ethnicity_source_value:x "
    "ethnicity_source_concept_id:i",
    "observation_period": "observation_period_id:i! person_id:i! observation_period_start_date:d! "
    "observation_period_end_date:d! period_type_concept_id:i!",
    "visit_occurrence": "visit_occurrence_id:i! person_id:i! visit_concept_id:i! "
    "visit_start_date:d! visit_start_datetime:t visit_end_date:d! visit_end_datetime:t "
    "visit_type_concept_id:i! provider_id:i care_site_id:i visit_source_value:x "
    "visit_source_concept_id:i admitted_from_concept_id:i admitted_from_source_value:x "
    "discharged_to_concept_id:i discharged_to_source_value:x preceding_visit_occurrence_id:i",
    "condition_occurrence": "condition_occurrence_id:i! person_id:i! condition_concept_id:i! "
    "condition_start_date:d! condition_start_datetime:t condition_end_date:d "
    "condition_end_datetime:t condition_type_concept_id:i! condition_status_concept_id:i "
    "stop_reason:x provider_id:i visit_occurrence_id:i visit_detail_id:i "
    "condition_source_value:x condition_source_concept_id:i condition_status_source_value:x",
    "measurement": "measurement_id:i! person_id:i! measurement_concept_id:i! measurement_date:d! "
    "measurement_datetime:t measurement_time:x measurement_type_concept_id:i! "
    "operator_concept_id:i value_as_number:n value_as_concept_id:i unit_concept_id:i range_low:n "
    "range_high:n provider_id:i visit_occurrence_id:i visit_detail_id:i "
    "measurement_source_value:x measurement_source_concept_id:i unit_source_value:x "
    "unit_source_concept_id:i value_source_value:x measurement_event_id:i "
    "meas_event_field_concept_id:i",
    "observation": "observation_id:i! person_id:i! observation_concept_id:i! observation_date:d! "
    "observation_datetime:t observation_type_concept_id:i! value_as_number:n value_as_string:x "
    "value_as_concept_id:i qualifier_concept_id:i unit_concept_id:i provider_id:i "
    "visit_occurrence_id:i visit_detail_id:i observation_source_value:x "
    "observation_source_concept_id:i unit_source_value:x qualifier_source_value:x "
    "value_source_value:x observation_event_id:i obs_event_field_concept_id:i",
    "death": "person_id:i! death_date:d! death_datetime:t death_type_concept_id:i "
    "cause_concept_id:i cause_source_value:x cause_source_concept_id:i",
    "cdm_source": "cdm_source_name:x! cdm_source_abbreviation:x! cdm_holder:x! "
    "source_description:x source_documentation_reference:x cdm_etl_reference:x "
    "source_release_date:d! cdm_release_date:d! cdm_version:x cdm_version_concept_id:i! "
    "vocabulary_version:x!",
}
COUNTED = {  # tables with an id of their own
    "observation_period": "observation_period_id",
    "visit_occurrence": "visit_occurrence_id",
    "condition_occurrence": "condition_occurrence_id",
    "measurement": "measurement_id",
    "observation": "observation_id",
}
Columns = Mapping[str, Any]


def _spec(table: str) -> Iterator[tuple[str, str, bool]]:
    for column in COLUMNS[table].split():
        name, _, kind = column.partition(":")
        yield name, kind[0], kind.endswith("!")


def arrow_schema(table: str) -> pa.Schema:
    return pa.schema([pa.field(n, _ARROW[k], nullable=not needed) for n, k, needed in _spec(table)])


def omop_schema(schema: Schema) -> Schema:
    """The canonical schema, with where each variable and label is found in the tables."""
    canonical = schema.canonical()
    variables = [
        v.model_copy(
            update={"source": Source(codes=(v.name[:SOURCE],), table=_table(v.static, v.kind))}
        )
        for v in canonical.variables
    ]
    lists = tuple(
        listed.model_copy(
            update={"source": Source(codes=(listed.name[:SOURCE],), table="observation")}
        )
        for listed in canonical.codes
    )
    labels: dict[str, Any] = {
        what: label.model_copy(update={"source": source})
        for what, source in _label_sources(Clinical(schema, start_of(""))).items()
        if (label := getattr(canonical, what)) is not None
    }
    labels.setdefault("site", None)
    period = "observation_period.observation_period_{}_date"
    layout = Dataset(
        start=Moment(column=period.format("start")), end=End(column=period.format("end"))
    )
    changed = {"variables": tuple(variables), "codes": lists, "source": layout}
    return canonical.model_copy(update=changed | labels)


def _label_sources(clinical: Clinical) -> dict[str, Source]:
    """Where the labels are: in the model's own tables if these have room for them, else among
    the observations. A single site is nowhere."""
    places = {
        what: Source(codes=(f"longsynth {what}",), table="observation")
        for what in LABELS
        if getattr(clinical.schema, what) is not None
    }
    if sexes := clinical.group_sexes:
        values = {str(SEX[sex]): str(code) for code, sex in enumerate(sexes)}
        places["group"] = Source(column="person.gender_concept_id", values=values)
    if (site := clinical.schema.canonical().site) is not None:
        values = {str(number): str(level) for number, level in enumerate(site.levels, 1)}
        places["site"] = Source(column="person.care_site_id", values=values)
    if clinical.deadly:
        places["event"] = Source(fact="death")
    return places


def _table(static: bool, kind: str) -> Any:
    return "observation" if static or kind != "continuous" else "measurement"


class _Tables:
    """Turns chunks of patients into rows of the model, and numbers them from 1."""

    def __init__(self, schema: Schema, start: date) -> None:
        self.schema, self.start = schema, start
        self.clinical = Clinical(schema, start)
        self._next = dict.fromkeys(COUNTED, 1)
        self._patients = 1
        self._zero = np.datetime64(start, "s")

    def of(self, chunk: Trajectories) -> dict[str, pa.Table]:
        ids = np.arange(self._patients, self._patients + chunk.patients)
        self._patients += chunk.patients
        last = self.clinical.last_second(chunk)
        visits, visit_of = self._visits(chunk, ids, last)
        parts: dict[str, list[Columns]] = {name: [] for name in COLUMNS if name not in ONCE}
        parts["person"] = [self._person(chunk, ids)]
        parts["observation_period"] = [
            {
                "person_id": ids,
                "observation_period_start_date": self._at("", 0 * last)["_date"],
                "observation_period_end_date": self._at("", last)["_date"],
                "period_type_concept_id": RECORDED,
            }
        ]
        parts["visit_occurrence"] = [visits]
        for table, entries in self._observed(chunk, ids, visit_of):
            parts[table].append(entries)
        happened = np.flatnonzero(chunk.event > 0)
        ends = {"person_id": ids[happened]}
        if self.clinical.deadly:
            parts["death"] = [
                ends | self._at("death", last[happened]) | {"death_type_concept_id": RECORDED}
            ]
        elif self.schema.event is not None:
            levels = [self.schema.event.levels[code][:SOURCE] for code in chunk.event[happened]]
            parts["condition_occurrence"] = [
                ends
                | self._at("condition_start", last[happened])
                | {
                    "condition_concept_id": 0,
                    "condition_type_concept_id": RECORDED,
                    "condition_source_value": levels,
                    "visit_occurrence_id": visit_of(happened, last[happened]),
                }
            ]
        return {name: self._table(name, entries) for name, entries in parts.items()}

    def once(self) -> dict[str, pa.Table]:
        """The tables that do not depend on patients: the sites, and the row about the source."""
        site = self.schema.canonical().site
        levels = [str(level) for level in site.levels] if site else []
        sites: Columns = {
            "care_site_id": np.arange(1, len(levels) + 1),
            "care_site_name": levels,
            "care_site_source_value": [level[:SOURCE] for level in levels],
        }
        row = {
            "cdm_source_name": f"{self.schema.name}, synthetic"[:255],
            "cdm_source_abbreviation": "longsynth synthetic",
            "cdm_holder": "longsynth",
            "source_description": "Synthetic patients, sampled from a differentially private "
            f"release. All dates are invented: every record starts on {self.start}.",
            "cdm_etl_reference": f"longsynth {VERSION}",
            "source_release_date": self.start,
            "cdm_release_date": self.start,
            "cdm_version": "5.4",
            "cdm_version_concept_id": CDM_5_4,
            "vocabulary_version": "none",
        }
        source: Columns = {name: [value] for name, value in row.items()}
        tables = {"care_site": sites, "cdm_source": source}
        return {name: self._table(name, [entries]) for name, entries in tables.items()}

    def _person(self, chunk: Trajectories, ids: Ints) -> Columns:
        days, sex = self.clinical.birth(chunk).astype("datetime64[D]"), self.clinical.sex(chunk)
        months, years = days.astype("datetime64[M]"), days.astype("datetime64[Y]")
        return {
            "person_id": ids,
            "gender_concept_id": np.array([SEX[int(code)] for code in sex]),
            "year_of_birth": years.astype(np.int64) + 1970,
            "month_of_birth": months.astype(np.int64) % 12 + 1,
            "day_of_birth": (days - months).astype(np.int64) + 1,
            "birth_datetime": days.astype("datetime64[us]"),
            "race_concept_id": 0,
            "ethnicity_concept_id": 0,
            **self._care_site(chunk.site),
        }

    def _visits(self, chunk: Trajectories, ids: Ints, last: Ints) -> tuple[Columns, Any]:
        """One stay per record if its slots are hours apart, else one outpatient visit per day on
        which something was observed. Also a function from patients and seconds to visits."""
        stays = time_unit(self.schema.max_gap, self.schema.slot_rule.horizon).name == "hours"
        days = np.zeros((2, 0), np.int64)
        for events in self.clinical.events(chunk):
            days = np.concatenate([days, [events.patient, events.second // 86_400]], axis=1)
        visits = np.unique(days, axis=1)
        if stays:
            visits = np.stack([np.arange(chunk.patients), 0 * last])
        first = self._next["visit_occurrence"]
        key = visits[0] * 10**6 + visits[1]

        def visit_of(patient: Ints, second: Ints) -> Ints:
            wanted = patient * 10**6 + (0 if stays else second // 86_400)
            return first + np.clip(np.searchsorted(key, wanted, "right") - 1, 0, None)

        begin = visits[1] * 86_400
        until = last if stays else begin + 86_399
        entries = {
            "person_id": ids[visits[0]],
            "visit_concept_id": INPATIENT if stays else OUTPATIENT,
            "visit_type_concept_id": RECORDED,
            **self._at("visit_start", begin),
            **self._at("visit_end", until),
            **self._care_site(chunk.site[visits[0]]),
        }
        return entries, visit_of

    def _care_site(self, site: Ints) -> Columns:
        return {} if self.schema.site is None else {"care_site_id": site + 1}

    def _observed(
        self, chunk: Trajectories, ids: Ints, visit_of: Any
    ) -> Iterator[tuple[str, Columns]]:
        """Yield rows of `measurement` and `observation`."""
        for events in self.clinical.events(chunk):
            match, table = events.known, "measurement" if events.measured else "observation"
            value: Columns = {"value_as_number": events.value}
            if events.level is not None:
                value = {"value_as_string": [text[:TEXT] for text in events.level]}
            elif events.unit:
                named = {"unit_source_value": events.unit[:SOURCE]}
                value = {**value, "unit_concept_id": omop_unit(events.unit) or 0, **named}
            concept = match.omop if match and events.measured else None
            concept = AGE if match and match.variable.name == "age" else concept
            yield (
                table,
                {
                    "person_id": ids[events.patient],
                    f"{table}_concept_id": concept or 0,
                    f"{table}_type_concept_id": RECORDED,
                    f"{table}_source_value": events.name[:SOURCE],
                    "visit_occurrence_id": visit_of(events.patient, events.second),
                    **self._at(table, events.second),
                    **value,
                },
            )
        labels = self.schema.canonical()
        for what, source in _label_sources(self.clinical).items():
            if source.codes:
                levels = getattr(labels, what).levels
                yield (
                    "observation",
                    {
                        "person_id": ids,
                        "observation_concept_id": 0,
                        "observation_type_concept_id": RECORDED,
                        "observation_source_value": f"longsynth {what}",
                        "value_as_string": [levels[code][:TEXT] for code in getattr(chunk, what)],
                        **self._at("observation", np.zeros(chunk.patients, np.int64)),
                    },
                )

    def _at(self, name: str, seconds: Ints) -> dict[str, Any]:
        stamps = self._zero + seconds.astype("timedelta64[s]")
        return {
            f"{name}_date": stamps.astype("datetime64[D]"),
            f"{name}_datetime": stamps.astype("datetime64[us]"),
        }

    def _table(self, name: str, parts: list[Columns]) -> pa.Table:
        """One table of the model from rows that have some of its columns."""
        schema = arrow_schema(name)
        tables = []
        for part in parts:
            entries = len(next(iter(part.values())))
            own = dict(part)
            if name in COUNTED:
                own[COUNTED[name]] = np.arange(self._next[name], self._next[name] + entries)
                self._next[name] += entries
            arrays = [_array(own.get(f.name), f.type, entries) for f in schema]
            tables.append(pa.table(arrays, schema=schema))
        return pa.concat_tables(tables) if tables else schema.empty_table()


def _array(cells: Any, kind: pa.DataType, entries: int) -> pa.Array:
    if cells is None:
        return pa.nulls(entries, kind)
    if isinstance(cells, int | str):
        return pa.repeat(pa.scalar(cells, kind), entries)
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return pa.array(cells).cast(kind)
    return pa.array(cells, kind, from_pandas=True)


def _parquet(start: date, folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    tables = _Tables(schema, start)
    with ExitStack() as files:
        writers = {
            name: files.enter_context(
                parquet_writer(folder / f"{name}.parquet", arrow_schema(name))
            )
            for name in COLUMNS
        }
        for chunk in chunks:
            for name, table in tables.of(chunk).items():
                writers[name].write_table(table)
        for name, table in tables.once().items():
            writers[name].write_table(table)
    (folder / "duckdb.sql").write_text("".join(map(_loading, COLUMNS)), encoding="utf-8")
    (folder / "schema.yaml").write_text(dump(omop_schema(schema)), encoding="utf-8")


def _loading(table: str) -> str:
    """SQL for DuckDB that makes a table of the Parquet file beside it, in the model's types."""
    columns = ",\n  ".join(
        f"{name} {_KINDS[kind]}{' NOT NULL' * needed}" for name, kind, needed in _spec(table)
    )
    return (
        f"CREATE TABLE IF NOT EXISTS {table} (\n  {columns});\n"
        f"INSERT INTO {table} SELECT * FROM '{table}.parquet';\n"
    )


def _sql(start: date, folder: Path, schema: Schema, chunks: Iterable[Trajectories]) -> None:
    """INSERT statements for tables that the official script has created."""
    tables = _Tables(schema, start)
    with ExitStack() as files:
        opened = {
            name: files.enter_context((folder / f"{name}.sql").open("w", encoding="utf-8"))
            for name in COLUMNS
        }
        for chunk in chunks:
            for name, table in tables.of(chunk).items():
                opened[name].writelines(_inserts(name, table))
        for name, table in tables.once().items():
            opened[name].writelines(_inserts(name, table))
    (folder / "schema.yaml").write_text(dump(omop_schema(schema)), encoding="utf-8")


def _inserts(name: str, table: pa.Table) -> Iterator[str]:
    there = [c for c in table.column_names if table[c].null_count < len(table)]
    for batch in table.select(there).to_batches(1000):
        entries = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        lines = ",\n".join(f"({', '.join(map(_literal, row))})" for row in entries)
        yield f"INSERT INTO {name} ({', '.join(there)}) VALUES\n{lines};\n"


def _literal(cell: object) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, str | date | datetime):
        return "'" + str(cell).replace("'", "''") + "'"
    return repr(cell)


def _lines(path: Path) -> int:
    """Count the rows of a file of INSERT statements."""
    with path.open("rb") as file:
        return sum(line.startswith(b"(") for line in file)


def parquet(start_date: str) -> Writer:
    return Writer(
        partial(_parquet, start_of(start_date)),
        people_files=lambda _: ["person.parquet"],
        other_files=lambda _: [
            "duckdb.sql",
            *(f"{name}.parquet" for name in COLUMNS if name != "person"),
        ],
    )


def sql(start_date: str) -> Writer:
    return Writer(
        partial(_sql, start_of(start_date)),
        people_files=lambda _: ["person.sql"],
        other_files=lambda _: [f"{name}.sql" for name in COLUMNS if name != "person"],
        rows=_lines,
    )
