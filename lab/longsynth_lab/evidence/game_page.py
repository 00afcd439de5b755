"""docs/game.md: the distinguishing game, its results, and what it cannot show."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from longsynth.audit.game.verdict import (
    BUNDLE,
    ERROR,
    FALSE_ALARM,
    LEAST,
    TIGHT,
    GameReport,
    GameRow,
    read_report,
)
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import Accounting
from longsynth.reading.simulation import simulated_schema
from longsynth.show.game_page import NOTES, main_rows, report_tables
from longsynth.system.text import markdown_table


class Setting(NamedTuple):
    """A claim about the simulated cohort that the game attacks."""

    method: str
    release: str
    epsilon: float
    seed: int
    accounting: Accounting = "zcdp"
    delta: float = 1e-5
    patients: int = 504

    def plan(self) -> Plan:
        schema = simulated_schema()
        constants = schema.constants.model_copy(update={"release": self.release})
        return plan(
            schema.model_copy(update={"constants": constants}),
            self.patients,
            epsilon=self.epsilon,
            delta=self.delta,
            method=self.method,
            accounting=self.accounting,
        )

    def __str__(self) -> str:
        joint = f", release: {self.release}" if self.release != "separate" else ""
        return f"`{self.method}`{joint}, ε = {self.epsilon:g}, accounting `{self.accounting}`"


SETTINGS = (
    Setting("trust", "separate", 1.0, seed=1),
    Setting("trust", "separate", 4.0, seed=2),
    Setting("trust", "separate", 12.0, seed=3),
    Setting("trust", "joint", 1.0, seed=4),
    Setting("trust", "joint", 4.0, seed=5),
    Setting("trust", "joint", 12.0, seed=6),
    Setting("trust", "joint", 4.0, accounting="gaussian", seed=7),
    Setting("dp-score", "separate", 4.0, seed=8),
    Setting("dp-markov", "separate", 4.0, seed=9),
    Setting("copula-score", "separate", 4.0, seed=10),
    Setting("copula-score", "separate", 4.0, accounting="gaussian", seed=11),
)


class Game(NamedTuple):
    setting: Setting
    report: GameReport

    @property
    def rows(self) -> list[GameRow]:
        return list(main_rows(self.report))


INTRODUCTION = f"""# The distinguishing game

Differential privacy is a statement about a game, so you can play the game. An auditor chooses two
cohorts that differ in one patient's record. One of the two is fitted in secret. The auditor knows
both cohorts, the software and the distribution of the noise, sees everything that is released, and
guesses which cohort was used. The guarantee (ε, δ) limits how often anyone can guess correctly. An
auditor who guesses correctly more often has disproved the guarantee.

`longsynth attack game` plays this game against the real `fit`: for each ledger line, and for the
whole release. It reads no data. It constructs the worst cohorts from the schema.

## How the game is played

1. **Find the worst pair.** The guarantee holds for every pair of records, so the game needs a pair
   that comes as close to the limit as possible. The search replaces one of three patients. It tries
   every stratum, values at their bounds with opposite, orthogonal and disjoint patterns, all
   missing against all observed, gaps at zero, middle and maximum, empty records, and numbers
   outside every bound. Then it changes the best pair at random as long as that helps. It measures
   the integers that the real `fit` passes to its noise source, so the game attacks the running code
   and not a formula. Three patients are enough: once a schema is resolved for N patients, no
   sensitivity and no σ depends on N.
2. **Use the best test.** The auditor knows both exact sums and the noise, and therefore uses the
   likelihood ratio, which is the most powerful test. For Gaussian noise, its values on the two
   sides are μ standard deviations apart. The ledger claims that μ is at most √(2ρ) for a line and
   √(2Σρ) in total.
3. **Run many trials.** Real fits of both sides with fast noise; fewer with OpenDP's own noise,
   which a release uses; and for each line, fast noise on its own worst pair. The number of trials
   makes the standard error of μ̂ at most {ERROR:g} μ.
4. **Check the noise itself.** Since the exact sums are known, the game also measures the noise of
   every single number in every fit. If one number among thousands has no noise, μ̂ hardly changes,
   but this check detects it.

## When a claim fails

- One patient changes the exact sums of a line by more than its claimed sensitivity, or by more than
  its ρ allows for the requested σ.
- The lower confidence limit of μ̂ is above the claimed μ, or a counted bound is above the claimed
  ε.
- μ̂ is below {LEAST:g} μ on a tight pair, which is one that can reach {100 * TIGHT:.0f} % of μ.
  Then the noise is too large, or the test does not work.
- The noise of a line, or of one number, does not have the standard deviation σ, or a line was
  released without requesting noise.

For the verdict, all limits use a confidence at which a whole table fails by chance less than once
in {1 / FALSE_ALARM:,.0f} games. The bounds in the tables use 95 % each. Among many bounds from few
trials, one may exceed its claim by chance; more trials then decide. The counted bound has no
threshold: at such a small δ it cannot be tight."""

LIMITS = """## What it cannot show

- **It is not a proof.** It tries one family of attacks, the strongest against sums with Gaussian
  noise. If no attack succeeds, that says nothing about other kinds, such as attacks on timing or on
  files outside the release. The proof is in [privacy.md](privacy.md).
- **It does not see the data or the noise of your run.** It shows what this software does at these
  settings on this machine. You cannot tell from the numbers of a release whether this software made
  it.
- **Fast noise is not OpenDP's noise.** It shows that the sums, the σ and the accounting fit
  together. The smaller number of fits with OpenDP tests whether OpenDP draws the stated noise.
  Beyond that, we rely on OpenDP.
- **A pair that is not tight leaves room.** If no pair reaches the claim, the claim may be generous
  or the search too weak. Separate lines have different worst pairs, so no single pair is the worst
  for all of them; for a joint release one pair nearly is. `trust` releases products of values in
  nearby slots but pays for all products, so with many slots no record reaches the claim.
- **Redrawn noise is not a fit.** It takes the sums of a real fit and draws noise as that fit
  requested. Only real fits show what happens after the noise is added, and there are few real fits
  with several passes. Separate tests check that a later pass sees only releases, and deliberate
  bugs check those tests ([Threats](threats.md)).

## Run it yourself

<!-- first: longsynth simulate --patients 60 --out cohort && cp cohort/schema.yaml . -->
<!-- first: longsynth fit cohort --epsilon 4 --delta 1e-4 --method dp-markov --out run -->
```bash
longsynth attack game                       # the simulated cohort's schema, ε = 4
longsynth attack game run                   # the settings of a release; reads no data
longsynth attack game --schema schema.yaml --patients 504 --epsilon 1 --delta 1e-5 --out report.md
```

Exit code 0: no claim failed. Exit code 1: a claim failed, and the output gives each reason.
`--json` contains all rows, including each line in the real fits."""


def game_page(results: dict[str, Any]) -> str:
    """Return the page in Markdown from the results of `lab/game.py`."""
    games = [
        Game(Setting(**game["setting"]), read_report(game["report"])) for game in results["games"]
    ]
    parts = [INTRODUCTION, "## Results", _summary(games), *NOTES]
    for game in games:
        parts += [f"### {game.setting}", *_outcome(game.report), report_tables(game.report)]
    return "\n\n".join([*parts, LIMITS]) + "\n"


def _summary(games: Sequence[Game]) -> str:
    first = games[0].setting
    delta = f"{first.delta:g}".replace("e-0", "e-")
    shown = (
        f"Schema of the simulated cohort, {first.patients} patients, δ = {delta}; each claim names "
        f"its accounting. Trials per side: {_trials(games, several=False)}. If a fit takes several "
        f"passes: {_trials(games, several=True)}, because in every trial a later pass has to wait "
        "for the releases of the earlier ones."
    )
    header = (
        "claim",
        "failures",
        "lowest μ̂/μ of tight rows",
        "whole bundle: pair",
        "whole bundle: μ̂/μ",
        "whole bundle: ε at least",
        "largest share of ε shown",
    )
    return f"{shown}\n\n{markdown_table(header, map(_summary_cells, games))}"


def _summary_cells(game: Game) -> tuple[str, ...]:
    tight = [row.mu / row.mu_claimed for row in game.rows if row.tight and row.enough]
    whole = max((r for r in game.rows if r.line == BUNDLE), key=lambda r: r.trials)
    shown = max((r.epsilon_gaussian / r.epsilon_claimed for r in game.rows if r.enough), default=0)
    return (
        str(game.setting),
        str(len(game.report.failures)),
        f"{min(tight):.3f}" if tight else "–",
        f"{100 * whole.attained:.1f} %{' tight' if whole.tight else ''}",
        f"{whole.mu / whole.mu_claimed:.3f}",
        f"{whole.epsilon_gaussian:.3g} of {whole.epsilon_claimed:g}",
        f"{100 * shown:.0f} %",
    )


def _outcome(report: GameReport) -> list[str]:
    return [] if report.holds else ["\n".join(f"- FAILS: {f}." for f in report.failures)]


def _trials(games: Sequence[Game], *, several: bool) -> str:
    """How many real fits were run: the same number in every game of one kind."""
    kind = [game for game in games if (len(game.setting.plan().stages) > 1) == several]
    fast, opendp = (
        next(r.trials for r in kind[0].report.rows if r.played == "real fits" and noise in r.noise)
        for noise in ("fast", "OpenDP")
    )
    return f"{fast:,} real fits with fast noise and {opendp:,} with OpenDP's"
