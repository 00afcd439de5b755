"""How the study's attacks were set: read from the code that attacks, never typed again."""

from longsynth.audit.attacks.canary import QUANTILE
from longsynth.audit.attacks.membership import FEWEST, NEIGHBOURS, SMALLEST
from longsynth.audit.view import categorical
from longsynth.reading.simulation import simulated_schema
from longsynth_lab.experiments import CANARIES

Value = str | int | float
HELD_OUT = "validation and test patients"


def attack_settings() -> dict[str, dict[str, Value]]:
    """Return attack → setting → value."""
    schema = simulated_schema()
    levels = [schema.variables[v].name for v in categorical(schema)[:1]]
    common = {
        "members": "training patients",
        "outsiders": HELD_OUT,
        "unit_of_distance": f"standard deviation of each summary over {HELD_OUT}",
    }
    return {
        "membership": {
            **common,
            "neighbours": 1,
            "score": "nearness of the closest synthetic patient",
            "fewest_people_on_either_side": FEWEST,
        },
        "membership by density": {
            **common,
            "neighbours": NEIGHBOURS,
            "score": "mean log distance to outsiders less that to synthetic patients",
            "reference_set": f"one half of {HELD_OUT}; the other half is attacked",
            "smallest_distance": SMALLEST,
        },
        "membership in a fair game": {
            "members": "training patients, and in a second fit as many others",
            "outsiders": "each other: the two groups change places",
            "reference_set": HELD_OUT,
            "neighbours": 1,
        },
        "attribute": {
            **common,
            "neighbours": 1,
            "attributes": " and ".join(["event", *levels]),
            "threshold": f"median over {HELD_OUT}, for a variable with levels",
        },
        "canary": {
            "copies": ", ".join(str(copies) for copies in CANARIES.values()),
            "threshold": f"quantile {QUANTILE:g} of the distances of {HELD_OUT} to the canary",
            "reference_set": HELD_OUT,
            "record": "every value at a public bound, all observed, longest gaps, protected group, "
            "with the event, at the last site",
        },
    }
