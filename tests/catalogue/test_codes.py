"""The catalogue's codes and concept ids are those of LOINC, OMOP and UCUM.

What the open data have is compared with them. All other facts are compared with OHDSI's own
extract of the vocabulary, where LONGSYNTH_OHDSI has a clone of EunomiaDatasets.
"""

import gzip
import json
import os
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import duckdb
import pytest

from io_formats import ohdsi
from longsynth.schema.catalogue import Known, catalogue, folded
from longsynth.schema.units import conversion, omop_unit, ucum

OPEN = Path(os.environ.get("LONGSYNTH_COHORTS", ""))
WITH_DATA = pytest.mark.skipif(
    not (OPEN / "fhir").is_dir() or Path() == OPEN, reason="set LONGSYNTH_COHORTS"
)
EXTRACT = ohdsi.FOLDER / "EunomiaDatasets/datasets/Synthea27NjParquet/Synthea27NjParquet_5.4.zip"
WITH_EXTRACT = pytest.mark.skipif(not EXTRACT.is_file(), reason=ohdsi.REASON)
# The same quantity in LOINC's words, where neither the name nor an alias occurs there.
ALSO = {
    "mean_arterial_pressure": ["mean blood pressure", "blood pressure mean"],
    "arterial_ph": ["ph of", "ph (arterial"],
    "body_mass_index": ["body mass index"],
    "triglycerides": ["triglyceride"],
    "creatine_kinase": ["creatine kinase"],
    "mean_cell_haemoglobin": ["mch [entitic"],
    "mean_cell_haemoglobin_concentration": ["mchc"],
    "hdl_cholesterol": ["high density lipoprotein", "cholesterol in hdl"],
    "ldl_cholesterol": ["low density lipoprotein", "cholesterol in ldl"],
    "mean_platelet_volume": ["platelet mean volume"],
    "oxygen_saturation": ["oxygen saturation"],
    "bicarbonate": ["carbon dioxide"],
    "glomerular_filtration_rate": ["glomerular filtration"],
    "pain_score": ["pain severity"],
    "red_cell_width": ["distribution width"],
    "nt_probnp": ["natriuretic peptide.b prohormone"],
    "bilirubin_direct": ["bilirubin.direct"],
    "arterial_oxygen": ["oxygen [partial", "o2 pressure"],
    "arterial_carbon_dioxide": ["carbon dioxide [partial", "co2 pressure"],
    "temperature": ["temperature"],
    "respiratory_rate": ["respiratory rate", "ventilation rate"],
}
UNITS = {  # MIMIC's spelling, and ours. Its "bpm" is OMOP's "counts per minute", ours UCUM's /min
    "/min": "bpm",
    "insp/min": "breaths/min",
    "mmHg": "mmHg",
    "cmH2O": "cmH2O",
    "°C": "°C",
    "°F": "°F",
    "cm": "cm",
    "kg": "kg",
    "g/dl": "g/dL",
    "sec": "s",
    "U/L": "U/L",
}
OMOPS = {  # other spellings of UCUM's
    "U/L": "[U]/L",
    "m[IU]/L": "10*-3.[iU]/L",
    "meq/L": "10*-3.eq/L",
    "ug/d": "ug/(24.h)",
}
# Not in the extract. The open MIMIC tables map to these, or DataQualityDashboard names them.
ELSEWHERE = {
    "bicarbonate",
    "lactate",
    "phosphate",
    "uric_acid",
    "bilirubin_direct",
    "troponin_i",
    "troponin_t",
}


def says(entry: Known, text: str) -> bool:
    """Whether a text of somebody else's names this quantity."""
    names = [entry.variable.name, *entry.aliases, *ALSO.get(entry.variable.name, [])]
    return any(folded(name) in folded(text) for name in names if len(name) > 2)


def test_the_last_digit_of_every_loinc_code_checks_the_others() -> None:
    for entry in catalogue():
        for code in entry.loinc:
            digits, check = code.split("-")
            doubled = [int(d) * (2 - i % 2) for i, d in enumerate(reversed(digits))]
            total = sum(d // 10 + d % 10 for d in doubled)
            assert (total + int(check)) % 10 == 0, code


@WITH_DATA
def test_fhir_exports_call_the_codes_by_our_names() -> None:
    shown = displays(OPEN / "fhir")
    met = [(e, code) for e in catalogue() for code in e.loinc if code in shown]
    assert len(met) >= 40
    wrong = [(e.variable.name, c) for e, c in met if not any(says(e, t) for t in shown[c])]
    assert wrong == []


def displays(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(folder.rglob("*Observation*")):
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        for line in content.splitlines():
            for coding in codings(json.loads(line)):
                found[coding["code"]].add(coding.get("display", "").replace("\u200b", ""))
    return found


def codings(node: Any) -> Iterator[dict[str, str]]:
    if isinstance(node, dict):
        if node.get("system") == "http://loinc.org" and "code" in node:
            yield node
        for child in node.values():
            yield from codings(child)
    elif isinstance(node, list):
        for child in node:
            yield from codings(child)


@WITH_DATA
def test_mimic_maps_its_own_names_to_our_concepts() -> None:
    folder = OPEN / "mimic4_demo_omop"
    rows = duckdb.sql(f"""
        SELECT r.concept_id_2, c.vocabulary_id, c.concept_name
        FROM '{folder}/concept.parquet' c JOIN '{folder}/concept_relationship.parquet' r
        ON r.concept_id_1 = c.concept_id AND r.relationship_id = 'Maps to'""").fetchall()
    named: dict[int, list[str]] = defaultdict(list)
    for concept, vocabulary, name in rows:
        if vocabulary == "mimiciv_meas_unit" and name in UNITS:
            assert omop_unit(UNITS[name]) == concept, name
        named[concept].append(name)
    met = [e for e in catalogue() if e.omop in named]
    assert len(met) >= 20
    wrong = [e.variable.name for e in met if not any(says(e, t) for t in named[e.omop or 0])]
    assert wrong == []


@WITH_EXTRACT
def test_concepts_have_the_code_that_comes_first_and_the_unit_its_spelling(tmp_path: Path) -> None:
    with zipfile.ZipFile(EXTRACT) as packed:
        concepts = packed.extract("Synthea27NjParquet/concept.parquet", tmp_path)
    rows = duckdb.sql(f"""SELECT concept_id, concept_code, concept_name, standard_concept
        FROM '{concepts}' WHERE vocabulary_id IN ('LOINC', 'UCUM')""").fetchall()
    known = {number: (code, name, standard) for number, code, name, standard in rows}
    for entry in catalogue():
        if entry.omop is not None and entry.variable.name not in ELSEWHERE:
            code, name, standard = known[entry.omop]
            assert (code, standard) == (entry.loinc[0], "S"), entry.variable.name
            assert says(entry, name), entry.variable.name
    more = ["°F", "mEq/L", "thousands per µL"]
    for unit in {entry.variable.unit for entry in catalogue()} | set(more):
        if (concept := omop_unit(unit)) is not None:
            spelling = OMOPS.get(ucum(unit), ucum(unit))
            assert known[concept][::2] == (spelling, "S"), unit


@pytest.mark.parametrize(
    "text",
    ["9^9^9", "10^99999999 m", "m^(9^9^9)", "(", "é", "1e999", "m" * 70_000, "/" * 3000, "\0"],
)
def test_a_text_that_is_no_unit_is_told_at_once(text: str) -> None:
    begun = perf_counter()
    assert conversion(text, "kg") is None
    assert perf_counter() - begun < 5
