"""`longsynth bench` in small: the same commands on fewer and smaller cells."""

import sys
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

    from lab.miniature import miniature
    from longsynth.commands.__main__ import main
    from longsynth_lab import studies

    studies.paper_study = lambda *_: miniature()  # type: ignore[assignment]
    studies.run_population = partial(studies.run_population, fresh=60)  # type: ignore[assignment]
    sys.argv[1:] = ["bench", *sys.argv[1:]]
    main()
