"""The report of a game in words and Markdown. Numbers come from the report; none is computed."""

from collections.abc import Iterable, Iterator

from longsynth.audit.game.verdict import BUNDLE, GameReport, GameRow, MeasuredNoise
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
COLUMNS = (
    "pair: the share of the claimed μ that the worst pair found can reach; from 95 % on it is "
    "tight. trials: on either side. μ = √(2ρ): how far apart the two sides lie, in standard "
    "deviations of the best test; ± one standard error."
)
BOUNDS = (
    "Gaussian and counted: ε is at least this, at 95 %. Gaussian goes from the lower limit of μ̂ "
    "through the exact curve of normal noise; it assumes that the test statistic is normal with "
    "one spread on both sides, which is how the noise is built. Counted puts Clopper-Pearson "
    "limits on the two error rates of one threshold; it assumes nothing, and cannot come near ε at "
    "so small a δ."
)
PLAYED = (
    "fits: the real `fit`, once per trial. draws: the exact sums that a real fit passed to its "
    "noise source, with new noise in each trial. fast: rounded normal numbers with a seed. OpenDP: "
    "the noise of a release, which takes no seed."
)
NOTES = (COLUMNS, BOUNDS, PLAYED)
NO_PROOF = (
    "An attack that does not win proves nothing about other attacks, and no patient was read: the "
    "proof is in docs/privacy.md."
)


def title(report: GameReport) -> str:
    return (
        f"'{report.method}', {report.patients:,} patients, ε = {report.epsilon:g}, "
        f"δ = {report.delta:g}, accounting '{report.accounting}'"
    )


def main_rows(report: GameReport) -> Iterator[GameRow]:
    """Each line on its own worst pair, then the whole bundle; the rest is in the JSON."""
    yield from (r for r in report.rows if r.line != BUNDLE and r.played == "noise redrawn")
    yield from (r for r in report.rows if r.line == BUNDLE and r.noise != OPENDP)
    yield from (r for r in report.rows if r.line == BUNDLE and r.noise == OPENDP)


def cells(row: GameRow) -> tuple[str, ...]:
    """The cells of a row, as everybody prints them."""
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


def spread_cells(spreads: Iterable[MeasuredNoise]) -> Iterator[tuple[str, ...]]:
    """For each line, all its numbers together and the extremes of a single one, by source."""
    by_line: dict[str, list[MeasuredNoise]] = {}
    for spread in spreads:
        by_line.setdefault(spread.line, []).append(spread)
    for line, found in by_line.items():
        shown = [
            f"{s.measured:.5f} ± {s.error:.5f} ({s.lowest:.2f} to {s.highest:.2f})"
            for s in sorted(found, key=lambda s: s.noise == OPENDP)
        ]
        yield line, f"{found[0].numbers:,}", *shown


def spread_header(spreads: Iterable[MeasuredNoise]) -> tuple[str, ...]:
    fits = {s.noise: s.fits for s in sorted(spreads, key=lambda s: s.noise == OPENDP)}
    return "line", "numbers", *(f"{_short(n)}, {number:,} fits" for n, number in fits.items())


def verdict(report: GameReport) -> list[str]:
    """Sentences that say what was found and no more."""
    if not report.holds:
        return ["The claim FAILS:", *(f"- {failure}." for failure in report.failures)]
    main = list(main_rows(report))
    tight = [r for r in main if r.tight and r.enough]
    reached = min([1.0, *(r.mu / r.mu_claimed for r in tight)])
    said = [
        f"The claim stood: no test told the two cohorts apart better than ε = {report.epsilon:g} "
        f"at δ = {report.delta:g} allows, line by line and in all."
    ]
    if tight:
        said.append(
            f"In {len(tight)} of {len(main)} rows the pair is tight and the trials are enough; "
            f"there the attacker reached at least {100 * reached:.0f} % of the claimed μ, so the "
            "noise is not too large and the auditor not blind."
        )
    if above := sum(_shown(row) > row.epsilon_claimed for row in report.rows):
        said.append(
            f"In {above} of all {len(report.rows)} rows a bound at 95 % lies above the claim; by "
            "chance alone that happens to as many as one in twenty, and the verdict asks for more."
        )
    if loose := [r.line for r in main if not r.tight]:
        said.append(
            f"No pair was found that uses up the claim of: {', '.join(dict.fromkeys(loose))}. "
            "There the claim may be larger than any attack needs."
        )
    return [*said, NO_PROOF]


def report_tables(report: GameReport) -> str:
    """Both tables in Markdown."""
    parts = [markdown_table(HEADER, map(_literal, map(cells, main_rows(report))))]
    if report.spreads:
        parts += [
            "The noise as drawn, in claimed σ: all numbers of a line together, and the least and "
            "the most in a single number.",
            markdown_table(
                spread_header(report.spreads), map(_literal, spread_cells(report.spreads))
            ),
        ]
    return "\n\n".join(parts)


def report_page(report: GameReport, played: str) -> str:
    """The page about one game, as Markdown."""
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


def _shown(row: GameRow) -> float:
    return max(row.epsilon_gaussian, row.epsilon_counted)


def _short(noise: str) -> str:
    return "OpenDP" if noise == OPENDP else noise


def _literal(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(markdown, cells))
