"""What was stopped half-way cannot be taken for the whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from atomic.outputs import AUDIT, Work, commands, main_here
from longsynth import Cohort, read_cohort, simulate, simulated_schema, write_cohort
from longsynth.system.errors import Refused
from longsynth_lab.paper import artefacts, plots
from longsynth_lab.results import Results


def test_a_cohort_folder_where_the_writing_stopped_is_no_cohort(tmp_path: Path) -> None:
    def stopping() -> Iterator[Cohort]:
        yield simulate(50, seed=1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_cohort(tmp_path, simulated_schema(), stopping())
    with pytest.raises(Refused, match=r"schema\.yaml"):
        read_cohort(tmp_path)


def test_a_figure_is_replaced_only_by_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(_: object, __: object, folder: Path) -> list[Path]:
        (folder / "main.png").write_bytes(b"ha")
        raise KeyboardInterrupt

    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "main.png").write_bytes(b"whole")
    monkeypatch.setattr(plots, "plot_study", half)
    monkeypatch.setattr(artefacts, "read_predictions", lambda _: None)
    monkeypatch.setattr(artefacts, "figure_frames", lambda *_: [])
    monkeypatch.setattr(artefacts, "seeds_frame", lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        artefacts._plot(tmp_path, Results([]))
    assert (tmp_path / "figures" / "main.png").read_bytes() == b"whole"


def test_an_audit_is_for_its_owners_eyes_alone(work: Work, place: Path) -> None:
    code, _, said = main_here(*commands(work, 300)["audit"], "--out", place / "out")
    assert code == 0, said
    assert {p.name for p in (place / "out").iterdir()} >= AUDIT
    assert (place / "out").stat().st_mode & 0o777 == 0o700
