"""`longsynth` alone: where to start, for each of those who come."""

WAYS = {
    "I want to see it work": ("longsynth demo",),
    "I have patient data": (
        "longsynth schema new --columns patient_id,time,heart_rate,crp --out schema.yaml",
        "longsynth plan schema.yaml --patients 5000 --epsilon 4 --delta 1e-6",
    ),
    "I was given a release": ("longsynth ledger RELEASE", "longsynth verify RELEASE"),
    "I am somewhere in between": ("longsynth status FOLDER",),
    "I know what I want": ("longsynth --help", "longsynth COMMAND --help"),
}


def start() -> None:
    """Say what this is and what to type first."""
    from longsynth.show.terminal import stdout

    console = stdout()
    console.print(
        "Synthetic longitudinal patient records, with a promise to each patient that anyone can "
        "check."
    )
    for reader, commands in WAYS.items():
        console.print(f"\n{reader}", style="bold")
        for command in commands:
            console.print(f"  {command}", soft_wrap=True, highlight=False)
