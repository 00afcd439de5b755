"""`longsynth methods`: the methods and what each guarantees."""

from longsynth.commands.options import Json
from longsynth.commands.output import print_json, say
from longsynth.system.text import cell


def methods(json: Json = False) -> None:
    """List the methods and what each guarantees."""
    from longsynth.methods import DEFAULT
    from longsynth.methods.method import PrivateMethod
    from longsynth.methods.registry import all_methods, origin_of

    available = all_methods()
    private = {name: isinstance(method, PrivateMethod) for name, method in available.items()}
    if json:
        print_json(
            [
                {
                    "method": n,
                    "private": private[n],
                    "default": n == DEFAULT,
                    "summary": m.summary,
                    "distribution": origin_of(m).distribution,
                }
                for n, m in available.items()
            ]
        )
        return
    from rich.table import Table

    from longsynth.show.terminal import stdout

    table = Table("method", "guarantee", "what it does", pad_edge=False)
    others: dict[str, str] = {}
    for name in sorted(available, key=lambda name: not private[name]):
        origin = origin_of(available[name])
        guarantee = "(ε, δ) per patient" if private[name] else "NOT PRIVATE"
        if private[name] and not origin.ours:
            guarantee = "(ε, δ), not proved by us"
            others[name] = origin.named
        table.add_row(cell(name), guarantee, cell(available[name].summary))
    stdout().print(table)
    for name, package in others.items():
        say(f"'{name}' comes from {package}. longsynth has not proved its sensitivity.")
    say(f"`longsynth fit` uses {DEFAULT} unless you give --method.")
