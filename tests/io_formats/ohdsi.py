"""OHDSI's own checks without R: DataQualityDashboard and Achilles, translated to DuckDB.

Nothing of theirs is in this repository. LONGSYNTH_OHDSI names a folder with clones of
DataQualityDashboard, Achilles, CommonDataModel and SqlRender.
"""

import base64
import csv
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

FOLDER = Path(os.environ.get("LONGSYNTH_OHDSI", ""))
REASON = "set LONGSYNTH_OHDSI to a folder with OHDSI's repositories"
VOCABULARY = re.compile(r"\bcdm\.(concept|concept_\w+|domain|vocabulary|relationship)\b", re.I)
_JAVA = """
import java.nio.charset.StandardCharsets; import java.util.*; import java.io.*;
import org.ohdsi.sql.*;
public class Render { public static void main(String[] a) throws Exception {
  BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
  String line; Base64.Decoder d = Base64.getDecoder(); Base64.Encoder e = Base64.getEncoder();
  while ((line = in.readLine()) != null) {
    String[] f = line.split("\\t", -1); int n = (f.length - 1) / 2;
    String[] k = new String[n], v = new String[n];
    for (int i = 0; i < n; i++) { k[i] = f[1 + 2 * i];
      v[i] = new String(d.decode(f[2 + 2 * i]), StandardCharsets.UTF_8); }
    String sql = new String(d.decode(f[0]), StandardCharsets.UTF_8);
    sql = SqlTranslate.translateSqlWithPath(SqlRender.renderSql(sql, k, v), "duckdb", null, null,
      a[0]);
    System.out.println(e.encodeToString(sql.getBytes(StandardCharsets.UTF_8)));
  } } }
"""


def translated(queries: list[tuple[str, dict[str, str]]], scratch: Path) -> list[str]:
    """Render and translate many queries in one run of Java."""
    (scratch / "Render.java").write_text(_JAVA)
    lines = [
        "\t".join([_coded(sql), *(x for k, v in values.items() for x in (k, _coded(v)))])
        for sql, values in queries
    ]
    jar = FOLDER / "SqlRender/inst/java/SqlRender.jar"
    patterns = FOLDER / "SqlRender/inst/csv/replacementPatterns.csv"
    done = subprocess.run(
        ["java", "-cp", str(jar), str(scratch / "Render.java"), str(patterns)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return [base64.b64decode(line).decode() for line in done.stdout.splitlines()]


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ddl(dialect: str) -> str:
    path = FOLDER / f"CommonDataModel/inst/ddl/5.4/{dialect}/OMOPCDM_{dialect}_5.4_ddl.sql"
    return path.read_text("utf-8-sig").replace("@cdmDatabaseSchema", "cdm")


def database(tables: Path) -> duckdb.DuckDBPyConnection:
    """The official tables with what a folder of Parquet files has."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA cdm; CREATE SCHEMA results")
    connection.execute(ddl("duckdb"))
    for file in sorted(tables.glob("*.parquet")):
        connection.execute(f"INSERT INTO cdm.{file.stem} BY NAME SELECT * FROM '{file}'")
    return connection


@dataclass
class Result:
    name: str  # of the check
    table: str
    field: str
    needs_vocabulary: bool
    violated: int | None  # None: the query failed
    rows: int
    failed: bool
    error: str = ""
    applies: bool = True


def quality(tables: Path, scratch: Path) -> list[Result]:
    """Run DataQualityDashboard's checks of CDM 5.4, with its thresholds and its rules for what does
    not apply."""
    root = FOLDER / "DataQualityDashboard/inst"
    found = list(_checks(root))
    base = {"schema": "cdm", "cdmDatabaseSchema": "cdm", "vocabDatabaseSchema": "cdm"}
    base |= {"cohort": "FALSE"}
    sqls = {sql: (root / "sql/sql_server" / sql).read_text("utf-8-sig") for _, sql, _ in found}
    queries = [(sqls[sql], {k: v for k, v in row.items() if v} | base) for _, sql, row in found]
    results = []
    with database(tables) as connection:
        texts = translated(queries, scratch)
        for (name, _, row), text in zip(found, texts, strict=True):
            results.append(_result(connection, name, row, text))
    _mark_what_does_not_apply(results)
    return results


def _checks(root: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    rows = {
        level: _read(root / f"csv/OMOP_CDMv5.4_{level.capitalize()}_Level.csv")
        for level in ("TABLE", "FIELD", "CONCEPT")
    }
    for check in _read(root / "csv/OMOP_CDMv5.4_Check_Descriptions.csv"):
        for row in rows[check["checkLevel"]]:
            if all(_holds(part, row) for part in check["evaluationFilter"].split("&")):
                yield check["checkName"], check["sqlFile"], row


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{k: "" if v == "NA" else v for k, v in row.items()} for row in csv.DictReader(file)]


def _holds(text: str, row: dict[str, str]) -> bool:
    name, equal, value = re.fullmatch(r"\s*(\w+)\s*(==|!=)\s*['\"](.*)['\"]\s*", text).groups()  # type: ignore[union-attr]
    return (row[name] == value) == (equal == "==")


def _result(
    connection: duckdb.DuckDBPyConnection, name: str, row: dict[str, str], text: str
) -> Result:
    table, place = row["cdmTableName"].lower(), row.get("cdmFieldName", "").lower()
    found = Result(name, table, place, bool(VOCABULARY.search(text)), None, 0, False)
    try:
        cursor = connection.execute(text)
        names = [column[0].lower() for column in cursor.description or ()]
        values: dict[str, Any] = dict(zip(names, cursor.fetchone() or (), strict=False))
    except duckdb.Error as error:
        found.error = str(error).splitlines()[0]
        return found
    found.violated = int(values.get("num_violated_rows") or 0)
    found.rows = int(values.get("num_denominator_rows") or 0)
    share = 100 * float(values.get("pct_violated_rows") or 0)
    limit = float(row.get(f"{name}Threshold") or 0)
    found.failed = share > limit if limit else found.violated > 0
    return found


def _mark_what_does_not_apply(results: list[Result]) -> None:
    values = [r for r in results if r.name == "measureValueCompleteness"]
    empty = {r.table for r in values if r.rows == 0}
    no_value = {(r.table, r.field) for r in values if r.rows == r.violated}
    for r in results:
        if r.name in ("measurePersonCompleteness", "cdmTable", "cdmField") or r.error:
            continue
        r.applies = r.table not in empty
        if r.name != "measureValueCompleteness":
            r.applies &= (r.table, r.field) not in no_value
            r.applies &= not (r.name.startswith("plausible") and r.rows == 0)
    no_conditions = "condition_occurrence" in empty
    for r in results:
        if r.name == "measureConditionEraCompleteness":
            r.applies = not no_conditions


def achilles(tables: Path, scratch: Path) -> dict[str, str]:
    """Run Achilles' default analyses: by number, the error or an empty text."""
    root = FOLDER / "Achilles/inst"
    default = [
        row["ANALYSIS_ID"]
        for row in _read(root / "csv/achilles/achilles_analysis_details.csv")
        if row["IS_DEFAULT"] == "1"
    ]
    base = {
        "cdmDatabaseSchema": "cdm",
        "vocabDatabaseSchema": "cdm",
        "resultsDatabaseSchema": "results",
        "scratchDatabaseSchema": "results",
        "schema": "results",
        "schemaDelim": ".",
        "tempAchillesPrefix": "tmpach",
        "tempEmulationSchema": "results",
        "source_name": "synthetic",
        "achilles_version": "1.7.2",
        "package_version": "1.7.2",
        "cdmVersion": "5.4",
        "singleThreaded": "FALSE",
    }
    files = [root / f"sql/sql_server/analyses/{number}.sql" for number in default]
    there = [(n, f) for n, f in zip(default, files, strict=True) if f.is_file()]
    queries = [(f.read_text("utf-8-sig"), base) for _, f in there]
    errors: dict[str, str] = {}
    with database(tables) as connection:
        for (number, _), text in zip(there, translated(queries, scratch), strict=True):
            try:
                connection.execute(text)
                errors[number] = ""
            except duckdb.Error as error:
                errors[number] = str(error).splitlines()[0]
    return errors
