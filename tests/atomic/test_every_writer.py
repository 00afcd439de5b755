"""Every place in the source that writes is known, and says which mechanism answers for it."""

import ast
from pathlib import Path

import longsynth
import longsynth_lab

LAB = Path(longsynth_lab.__file__).parent
SOURCES = (Path(longsynth.__file__).parent, LAB)
WRITING = {
    "write_text",
    "write_bytes",
    "write_table",
    "ParquetWriter",
    "savefig",
    "write_csv",
    "to_csv",
    "to_parquet",
    "copyfile",
    "copytree",
    "move",
    "mkdtemp",
    "NamedTemporaryFile",
    "TemporaryDirectory",
    "ScratchFolder",
}
FOLDER = "into a folder that new_folder puts in place"
FILE = "through whole_file"
TEMPORARY = "into a temporary folder"
OWN = "with a rule of its own, tested beside it"
KNOWN = {
    "reading/split.py": FOLDER,
    "reading/formats/table.py": TEMPORARY,
    "reading/cohort_folder.py": TEMPORARY,
    "release/synthesizer.py": FOLDER,
    "show/audit_page.py": FILE,
    "show/pages.py": FILE,
    "longsynth_lab/paper/artefacts.py": TEMPORARY,  # plots, then put in place by write_whole
    "longsynth_lab/outcomes.py": TEMPORARY,
    "longsynth_lab/patients.py": TEMPORARY,
    "longsynth_lab/results.py": FILE,
    "commands/fit.py": FOLDER,
    "show/dossier/build.py": f"{FILE}; PDF: {TEMPORARY}, then put in place whole",
    "engines/spark/__init__.py": OWN,  # Spark's own words, to nowhere
    "system/folders.py": FILE,
    "release/internal.py": FOLDER,
    "release/synthetic_folder.py": FOLDER,
    "reading/formats/omop/sources.py": TEMPORARY,
    "reading/importing.py": FOLDER,
    "reading/session.py": TEMPORARY,
    "reading/csv_file.py": TEMPORARY,
    "writing/meds.py": FOLDER,
    "writing/omop.py": FOLDER,
    "writing/fhir.py": FOLDER,
    "reading/formats/fhir/files.py": TEMPORARY,
    "reading/parquet.py": TEMPORARY,
    "writing/cohort.py": FOLDER,
    "writing/export.py": FOLDER,
    "writing/files.py": FOLDER,
    "writing/own.py": FOLDER,
    "show/plots.py": FOLDER,
    "longsynth_lab/paper/plots.py": TEMPORARY,
    "release/run.py": FOLDER,
}


def writes(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name != "open":
        return name in WRITING
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    texts = [value.value for value in given if isinstance(value, ast.Constant)]
    modes = [set(text) for text in texts if isinstance(text, str)]
    return any(mode <= set("wxabt+") and mode & set("wxa+") for mode in modes)


def writers() -> set[str]:
    return {
        path.relative_to(LAB.parent if source == LAB else source).as_posix()
        for source in SOURCES
        for path in source.rglob("*.py")
        if any(writes(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }


def test_every_file_that_writes_is_known() -> None:
    locks = {"longsynth_lab/runner.py"}  # opens its lock, and writes nothing into it
    assert writers() - locks == set(KNOWN), "say in KNOWN what puts it in place whole"


def test_the_search_finds_what_it_should() -> None:
    for text in ("p.write_text('x')", "open('p', 'wb')", "p.open(mode='a')", "f.savefig(p)"):
        assert any(writes(node) for node in ast.walk(ast.parse(text))), text
    for text in ("open('p')", "p.open('rb')", "open('p', encoding='utf-8')", "p.read_text()"):
        assert not any(writes(node) for node in ast.walk(ast.parse(text))), text
