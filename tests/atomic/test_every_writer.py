"""Every place in the source that writes is known, and says which mechanism answers for it."""

import ast
from pathlib import Path

import longsynth

SOURCE = Path(longsynth.__file__).parent
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
    "audit/attack_plot.py": FOLDER,
    "audit/files.py": FILE,
    "audit/plots.py": FOLDER,
    "benchmark/artefacts.py": TEMPORARY,  # plots, then put in place by write_whole
    "benchmark/open_cohorts.py": TEMPORARY,
    "benchmark/results.py": FILE,
    "commands/governance.py": OWN,
    "commands/sample.py": FOLDER,
    "dossier/pdf.py": TEMPORARY,  # printed by the browser, then put in place whole
    "dossier/writing.py": FILE,
    "engines/spark/session.py": OWN,  # Spark's own words, to nowhere
    "folders.py": FILE,
    "govern/disclosed.py": FOLDER,
    "govern/signing.py": OWN,
    "govern/synthetic_folder.py": FOLDER,
    "govern/verify.py": TEMPORARY,
    "importers/cdm_postgres.py": TEMPORARY,
    "importers/importing.py": FOLDER,
    "importers/output.py": FOLDER,
    "importers/stage.py": TEMPORARY,
    "io/events_writer.py": FOLDER,
    "importers/csv_file.py": TEMPORARY,
    "io/meds_writer.py": FOLDER,
    "io/parts_writer.py": FOLDER,
    "io/plain.py": TEMPORARY,
    "io/tables.py": TEMPORARY,
    "io/writer.py": FOLDER,
    "report/plots.py": FOLDER,
    "report/study_plots.py": TEMPORARY,
    "run.py": FOLDER,
    "scratch.py": TEMPORARY,
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
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(writes(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }


def test_every_file_that_writes_is_known() -> None:
    locks = {"benchmark/runner.py"}  # opens its lock, and writes nothing into it
    assert writers() - locks == set(KNOWN), "say in KNOWN what puts it in place whole"


def test_the_search_finds_what_it_should() -> None:
    for text in ("p.write_text('x')", "open('p', 'wb')", "p.open(mode='a')", "f.savefig(p)"):
        assert any(writes(node) for node in ast.walk(ast.parse(text))), text
    for text in ("open('p')", "p.open('rb')", "open('p', encoding='utf-8')", "p.read_text()"):
        assert not any(writes(node) for node in ast.walk(ast.parse(text))), text
