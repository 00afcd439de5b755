"""The paper compiles with a study's files in place, and what is missing is said."""

import os
import shutil
from pathlib import Path

import pytest

from longsynth.system.errors import Refused
from longsynth_lab.paper.latex_build import PICTURE_SLOT, PaperSource, build_paper
from longsynth_lab.paper.macros import NAMES

LATEX = pytest.mark.skipif(not shutil.which("pdflatex"), reason="LaTeX is not installed")
SMALL = "\n".join(
    [
        r"\documentclass{article}",
        r"\usepackage{graphicx,pgfplots}",
        *(rf"\newcommand{{\{name}}}{{0.5\%}}" for name in NAMES),
        r"\begin{document}",
        r"See Fig.~\ref{fig:a} and~\cite{one,two}: \TrustAUPRC, a gain of \AUPRCGain.",
        rf"\begin{{figure}}\resizebox{{\textwidth}}{{!}}{{{PICTURE_SLOT}}}",
        r"\caption{A}\label{fig:a}\end{figure}",
        r"\begin{tikzpicture}\begin{axis}\addplot table[x expr=\coordindex,y=mean,col sep=comma]",
        r"{figures/data/main_auprc.csv};\end{axis}\end{tikzpicture}",
        r"\bibliographystyle{plain}\bibliography{references}",
        r"\end{document}",
    ]
)
BIBLIOGRAPHY = "@misc{one, title={One}, year={2020}}\n@misc{two, title={Two}, year={2021}}\n"


@pytest.fixture
def finished(study: Path, tmp_path: Path) -> Path:
    """The files of a study that a paper needs, without its cells."""
    out = tmp_path / "study"
    for folder in ("paper", "figures/data"):
        shutil.copytree(study / folder, out / folder)
    return out


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "paper.tex"
    path.parent.mkdir()
    path.write_text(SMALL, encoding="utf-8")
    return path


@LATEX
def test_the_papers_own_source_compiles_with_a_studys_files(finished: Path) -> None:
    beside = Path(os.environ.get("LONGSYNTH_COHORTS", "/nowhere")).parent / "paper/paper.tex"
    paper = Path(os.environ.get("LONGSYNTH_PAPER", beside))
    if not paper.is_file():
        pytest.skip("the paper's source is not at hand: set LONGSYNTH_PAPER to paper.tex")
    source = PaperSource.read(paper)
    assert len(source.data_files) == 41
    try:
        found = build_paper(finished, source)
    except Refused as refused:
        if "LaTeX does not find" in str(refused):
            pytest.skip(str(refused))
        raise
    assert found.pdf.read_bytes().startswith(b"%PDF")
    assert found.passes >= 2
    assert len(found.uncited) == 38
    assert "references.bib is not beside the paper" in str(found)
    log = (found.pdf.parent / "paper.log").read_text(errors="replace")
    assert "<./architecture.pdf>" in log.replace("\n", "")


@LATEX
def test_macros_data_and_picture_are_the_studys_and_citations_stay_open(
    finished: Path, small: Path
) -> None:
    found = build_paper(finished, PaperSource.read(small))
    built = found.pdf.parent
    assert found.pdf.is_file()
    assert (built / "architecture.pdf").is_file()
    text = (built / "paper.tex").read_text()
    assert text.count(r"\input{macros}") == 1
    assert r"\newcommand" not in text
    for name in ("macros.tex", "architecture.tex"):
        assert (built / name).read_bytes() == (finished / "paper" / name).read_bytes()
    data = "figures/data/main_auprc.csv"
    assert (built / data).read_bytes() == (finished / data).read_bytes()
    assert found.uncited == ("one", "two")
    assert not (built / "references.bib").exists()


@LATEX
def test_a_bibliography_beside_the_paper_is_used(finished: Path, small: Path) -> None:
    small.with_name("references.bib").write_text(BIBLIOGRAPHY)
    found = build_paper(finished, PaperSource.read(small))
    assert found.uncited == ()
    assert "Citation" not in (found.pdf.parent / "paper.log").read_text(errors="replace")


@LATEX
def test_a_label_that_is_nowhere_is_refused_by_name(finished: Path, small: Path) -> None:
    small.write_text(SMALL.replace(r"\ref{fig:a}", r"\ref{fig:b}"))
    with pytest.raises(Refused, match="refers to fig:b"):
        build_paper(finished, PaperSource.read(small))


@LATEX
def test_a_package_that_is_not_installed_is_named(finished: Path, small: Path) -> None:
    small.write_text(SMALL.replace("graphicx,", "graphicx,no-such-package,"))
    with pytest.raises(Refused, match=r"does not find no-such-package\.sty\. Install"):
        build_paper(finished, PaperSource.read(small))


@LATEX
def test_a_study_without_a_data_file_is_refused_by_name(finished: Path, small: Path) -> None:
    (finished / "figures/data/main_auprc.csv").unlink()
    with pytest.raises(Refused, match=r"lacks figures/data/main_auprc\.csv"):
        build_paper(finished, PaperSource.read(small))


@LATEX
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            r"\newcommand{\TrustECE}",
            r"\newcommand{\Other}",
            r"does not define \\TrustECE exactly once",
        ),
        (PICTURE_SLOT, r"\includegraphics{x}", "no empty slot for the architecture"),
    ],
)
def test_another_source_is_refused_before_a_study_is_run(
    small: Path, old: str, new: str, said: str
) -> None:
    small.write_text(SMALL.replace(old, new))
    with pytest.raises(Refused, match=said):
        PaperSource.read(small)


@LATEX
def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        PaperSource.read(tmp_path / "paper.tex")


def test_without_latex_the_check_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Refused, match="pdflatex is not installed"):
        PaperSource.read(small)
