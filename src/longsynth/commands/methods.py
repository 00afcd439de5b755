"""methods: the generators and what each guarantees."""

from longsynth.commands.options import Json, print_json, say
from longsynth.escaping import cell


def methods(json: Json = False) -> None:
    """List the generators and what each guarantees."""
    from longsynth.methods import DEFAULT
    from longsynth.methods.method import PrivateMethod
    from longsynth.methods.registry import all_methods

    found = all_methods()
    private = {name: isinstance(method, PrivateMethod) for name, method in found.items()}
    if json:
        print_json(
            [
                {"method": n, "private": private[n], "default": n == DEFAULT, "summary": m.summary}
                for n, m in found.items()
            ]
        )
        return
    from rich.table import Table

    from longsynth.report.terminal import stdout

    table = Table("method", "guarantee", "what it does", pad_edge=False)
    for name in sorted(found, key=lambda name: not private[name]):
        guarantee = "(ε, δ) per patient" if private[name] else "NOT PRIVATE"
        table.add_row(cell(name), guarantee, cell(found[name].summary))
    stdout().print(table)
    say(f"`longsynth fit` takes {DEFAULT}, unless --method names another.")
