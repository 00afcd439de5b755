"""A run on disk: RUN/release for everyone, RUN/internal for the data holder alone."""

import json
import resource
from pathlib import Path

from longsynth.bundle import Bundle
from longsynth.fit import fit
from longsynth.folders import new_folder
from longsynth.govern.release import release_files
from longsynth.io.tables import CohortFolder
from longsynth.plan import plan
from longsynth.privacy.budget import Accounting
from longsynth.privacy.noise import NoiseSource
from longsynth.report.internal import NOTICE, Watched
from longsynth.report.terminal import counted_by, progress_bar
from longsynth.version import surroundings


def run_fit(
    cohort: Path,
    out: Path,
    *,
    epsilon: float,
    delta: float,
    method: str = "trust",
    accounting: Accounting = "zcdp",
    noise: NoiseSource | None = None,
) -> Bundle:
    """Fit a cohort folder and write RUN whole, or not at all. `noise` is for tests."""
    with CohortFolder(cohort) as source, new_folder(out) as scratch, progress_bar() as progress:
        planned = plan(
            source.schema,
            source.patients,
            epsilon=epsilon,
            delta=delta,
            method=method,
            accounting=accounting,
        )
        watched = Watched(source, planned.schema, counted_by(progress, "fit", source.patients))
        bundle = fit(watched, planned, noise=noise)
        _write(scratch / "release", release_files(bundle))
        used = resource.getrusage(resource.RUSAGE_SELF)
        notes = {
            "reading.json": source.repairs(),
            "cohort.json": watched.notes(),
            "run.json": {"cpu_seconds": used.ru_utime + used.ru_stime, **surroundings()},
        }
        written = {name: json.dumps(note, indent=2).encode() for name, note in notes.items()}
        (scratch / "internal").mkdir(mode=0o700)
        _write(scratch / "internal", {"NOT_FOR_RELEASE.md": NOTICE.encode(), **written})
    return bundle


def _write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
