"""`longsynth ledger`: the privacy ledger of a release."""

from longsynth.commands.options import Json, Release
from longsynth.commands.output import print_json, say


def ledger(release: Release, json: Json = False) -> None:
    """Show the ledger of a release: every number that was released, and what it cost."""
    from longsynth.methods.registry import private_method
    from longsynth.release.folder import load_release
    from longsynth.release.statement import ledger_json

    bundle = load_release(release)
    if json:
        print_json(ledger_json(bundle.method, bundle.ledger))
        return
    from longsynth.show.terminal import show_ledger, stdout

    title = f"Ledger of {release}: '{bundle.method}', {bundle.patients:,} patients"
    show_ledger(stdout(), title, private_method(bundle.method), bundle.schema, bundle.ledger)
    if caution := bundle.origin.caution(bundle.method):
        say(f"NOTE {caution}")
