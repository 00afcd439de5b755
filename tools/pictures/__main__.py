"""Draw every picture into docs/."""

from pathlib import Path

from pictures import example, journey, marginals, one_patient, passes, shrinkage

DOCS = Path(__file__).parents[2] / "docs"

if __name__ == "__main__":
    shown = example.example()
    for name, text in {
        "journey": journey.drawn(),
        "copula-passes": passes.drawn(),
        "copula-marginals": marginals.drawn(shown),
        "copula-shrinkage": shrinkage.drawn(shown),
        "copula-patient": one_patient.drawn(shown),
    }.items():
        (DOCS / f"{name}.svg").write_text(text, "utf-8")
