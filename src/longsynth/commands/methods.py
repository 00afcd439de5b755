"""methods: the generators and what each guarantees."""


def methods() -> None:
    """List the generators and what each guarantees."""
    from rich.table import Table

    from longsynth.methods.method import PrivateMethod
    from longsynth.methods.registry import all_methods
    from longsynth.report.terminal import stdout

    table = Table(pad_edge=False)
    for column in ("method", "guarantee", "what it does"):
        table.add_column(column)
    for name, method in all_methods().items():
        private = isinstance(method, PrivateMethod)
        table.add_row(name, "(ε, δ) per patient" if private else "NOT PRIVATE", method.summary)
    stdout().print(table)
