"""Journey: one row of a hospital's table on its way to the dossier, with the file of each step."""

from pictures.canvas import PRIVATE, PUBLIC, Canvas

WIDTH, SPACE = 142, 16
BEFORE = (  # on the private side
    ("1. read", "reading/formats/", "import_cohort"),
    ("3. place in slots", "reading/slots.py", "CohortFolder.batches"),
    ("4. encode, clip", "methods/*/release.py", "Line.rows"),
    ("5. add up", "engines/__init__.py", "batch_sums"),
)
AFTER = (  # from released numbers alone
    ("7. bundle", "bundle.py", "fit"),
    ("8. release", "release/folder.py", "release_files"),
    ("9. model", "methods/*/model.py", "Method.model"),
    ("10. sample", "sample.py", "sample"),
    ("13. dossier", "show/dossier/", "write_dossier"),
)


def drawn() -> str:
    c = Canvas(
        "The journey of one row",
        "On the private side a row is read, placed in slots, encoded, clipped and added up. "
        "The curator charges the ledger and adds noise. Everything after that is public: the "
        "bundle, the release folder, the model, synthetic patients and the dossier.",
        width=812,
        height=360,
    )
    c.panel(8, 10, 796, 150, PRIVATE)
    c.panel(8, 200, 796, 150, PUBLIC)
    c.text(24, 36, "STAYS WITH THE PATIENTS' DATA", "side")
    c.text(24, 340, "FROM RELEASED NUMBERS ALONE", "side")
    for number, (name, file, function) in enumerate(BEFORE):
        c.box(_left(number), 60, WIDTH, name, file, function)
        c.flow(f"M{_left(number) + WIDTH},95 h{SPACE - 2}")
    c.box(_left(4), 60, WIDTH, "6. curator", "charges the ledger,", "then adds noise", door=True)
    c.flow(f"M{_left(4) + WIDTH / 2},130 V186 H{_left(0) + WIDTH / 2} V228")
    for number, (name, file, function) in enumerate(AFTER):
        c.box(_left(number), 230, WIDTH, name, file, function)
        if number:
            c.flow(f"M{_left(number) - SPACE},265 h{SPACE - 2}")
    return c.svg()


def _left(number: int) -> int:
    return 20 + number * (WIDTH + SPACE)
