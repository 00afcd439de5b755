"""Commands that are suggested: made of words, each quoted, so that they can be typed as shown."""

from longsynth.system.escaping import shell

PROMISE = ("--epsilon", 4, "--delta", "1e-6")
DRAW = ("--patients", 500, "--seed", 7, "--out")


def command_line(*words: object) -> str:
    """Return a longsynth command, for instance longsynth verify 'my folder'."""
    return " ".join(["longsynth", *map(shell, words)])
