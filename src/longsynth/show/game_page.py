"""The report of a distinguishing game in words and Markdown. It computes no number."""

from collections.abc import Iterable, Iterator

from longsynth.audit.game.report import BUNDLE, GameReport, Row
from longsynth.audit.game.spread import Spread
from longsynth.privacy.noise import OPENDP
from longsynth.system.text import markdown, markdown_table

HEADER = (
    "line",
    "pair",
    "trials",
    "played by",
    "μ claim",
    "μ̂ measured",
    "ε claim",
    "Gaussian",
    "counted",
)
NOTES = (
    "pair: the share of the claimed μ that the worst pair found can reach; from 95 % on, a pair is "
    "tight. trials: per side. μ = √(2ρ) is the distance between the two sides, in standard "
    "deviations of the best test; ± is one standard error.",
    "Gaussian and counted: lower bounds on ε at 95 % confidence. The Gaussian bound converts the "
    "lower limit of μ̂ through the exact curve of normal noise. It assumes that the test statistic "
    "is normal with the same variance on both sides, which is how the noise is built. The counted "
    "bound puts Clopper-Pearson limits on the two error rates of one threshold. It assumes "
    "nothing, and it cannot come near ε when δ is so small.",
    "fits: each trial runs the real `fit`. draws: each trial adds new noise to the exact sums that "
    "a real fit passed to its noise source. fast: rounded normal numbers from a seed. OpenDP: the "
    "noise of a release, which takes no seed.",
)
NO_PROOF = (
    "An attack that does not win proves nothing about other attacks, and no patient data was used. "
    "The proof is in docs/privacy.md."
)
SPREADS = (
    "The noise as drawn, in units of the claimed σ: over all numbers of a line, and the smallest "
    "and largest value for a single number."
)


def title(report: GameReport) -> str:
    return (
        f"'{report.method}', {report.patients:,} patients, ε = {report.epsilon:g}, "
        f"δ = {report.delta:g}, accounting '{report.accounting}'"
    )


def main_rows(report: GameReport) -> Iterator[Row]:
    """Each line on its own worst pair, then the whole bundle. The JSON has all rows."""
    yield from (r for r in report.rows if r.line != BUNDLE and r.played == "noise redrawn")
    yield from (r for r in report.rows if r.line == BUNDLE and r.noise != OPENDP)
    yield from (r for r in report.rows if r.line == BUNDLE and r.noise == OPENDP)


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row, for the terminal and for Markdown."""
    digits = 4 if row.mu_claimed < 0.1 else 3
    return (
        row.line,
        f"{100 * row.attained:.1f} %",
        f"{row.trials:,}",
        f"{_short(row.noise)} {'draws' if row.played == 'noise redrawn' else 'fits'}",
        f"{row.mu_claimed:.{digits}f}",
        f"{row.mu:.{digits}f} ± {row.mu_error:.{digits}f}",
        f"{row.epsilon_claimed:.3g}",
        f"{row.epsilon_gaussian:.3g}",
        f"{row.epsilon_counted:.3g}",
    )


def spread_cells(spreads: Iterable[Spread]) -> Iterator[tuple[str, ...]]:
    """One row per line: all its numbers together and the extremes of one, by noise source."""
    by_line: dict[str, list[Spread]] = {}
    for spread in spreads:
        by_line.setdefault(spread.line, []).append(spread)
    for line, measured in by_line.items():
        shown = [
            f"{s.measured:.5f} ± {s.error:.5f} ({s.lowest:.2f} to {s.highest:.2f})"
            for s in sorted(measured, key=lambda s: s.noise == OPENDP)
        ]
        yield line, f"{measured[0].numbers:,}", *shown


def spread_header(spreads: Iterable[Spread]) -> tuple[str, ...]:
    fits = {s.noise: s.fits for s in sorted(spreads, key=lambda s: s.noise == OPENDP)}
    return "line", "numbers", *(f"{_short(n)}, {number:,} fits" for n, number in fits.items())


def verdict(report: GameReport) -> list[str]:
    """Sentences that say what was measured and no more."""
    if not report.holds:
        return ["The claim FAILS:", *(f"- {failure}." for failure in report.failures)]
    rows = list(main_rows(report))
    tight = [r for r in rows if r.tight and r.enough]
    sentences = [
        f"The claim stood: no test distinguished the two cohorts better than ε = "
        f"{report.epsilon:g} at δ = {report.delta:g} allows, for each line and for all together."
    ]
    if tight:
        reached = min([1.0, *(r.mu / r.mu_claimed for r in tight)])
        sentences.append(
            f"In {len(tight)} of {len(rows)} rows, the pair is tight and the trials are enough. "
            f"There, the attacker reached at least {100 * reached:.0f} % of the claimed μ: the "
            "noise is not larger than it needs to be, and the test can detect an effect."
        )
    if above := sum(_largest_bound(row) > row.epsilon_claimed for row in report.rows):
        sentences.append(
            f"In {above} of all {len(report.rows)} rows, a 95 % bound lies above the claim. By "
            "chance alone, this happens in up to one row in twenty, so the verdict needs more."
        )
    if loose := [r.line for r in rows if not r.tight]:
        sentences.append(
            f"No pair was found that reaches the full claim of: {', '.join(dict.fromkeys(loose))}. "
            "There, the claim may be larger than any attack can use."
        )
    return [*sentences, NO_PROOF]


def report_tables(report: GameReport) -> str:
    """Both tables in Markdown."""
    parts = [markdown_table(HEADER, map(_literal, map(cells, main_rows(report))))]
    if report.spreads:
        parts += [
            SPREADS,
            markdown_table(
                spread_header(report.spreads), map(_literal, spread_cells(report.spreads))
            ),
        ]
    return "\n\n".join(parts)


def report_page(report: GameReport, played: str) -> str:
    """The page that `--out` writes."""
    lines = [
        f"- {markdown(line[2:])}" if line.startswith("- ") else f"{markdown(line)}\n"
        for line in verdict(report)
    ]
    return (
        "\n\n".join(
            [
                "# The distinguishing game",
                f"{markdown(title(report))}. {markdown(played)}",
                "\n".join(lines).strip(),
                report_tables(report),
                *NOTES,
                f"Seed of the search and of the fast noise: {report.seed}.",
            ]
        )
        + "\n"
    )


def _largest_bound(row: Row) -> float:
    return max(row.epsilon_gaussian, row.epsilon_counted)


def _short(noise: str) -> str:
    return "OpenDP" if noise == OPENDP else noise


def _literal(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(markdown, cells))
