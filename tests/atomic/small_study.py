"""`longsynth bench` in small: the same commands on fewer and smaller cells."""

import sys
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

    from benchmark.miniature import miniature
    from longsynth.benchmark import study
    from longsynth.cli import main

    study.paper_study = lambda *_: miniature()  # type: ignore[assignment]
    study.run_population = partial(study.run_population, fresh=60)  # type: ignore[assignment]
    sys.argv[1:] = ["bench", *sys.argv[1:]]
    main()
