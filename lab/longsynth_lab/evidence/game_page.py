"""The documentation's page on the game: what it is, what was reached, and what it cannot show."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from longsynth.audit.game.report import BUNDLE, GameReport, GameRow, read_report
from longsynth.audit.game.verdict import ERROR, FALSE_ALARM, LEAST, TIGHT
from longsynth.plan import Plan, plan
from longsynth.privacy.budget import Accounting
from longsynth.reading.simulation import simulated_schema
from longsynth.show.game_page import NOTES, main_rows, report_tables
from longsynth.system.text import markdown_table


class Setting(NamedTuple):
    """A claim about the simulated cohort that is attacked for the documentation."""

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

Differential privacy is a statement about a game, so it can be played. An auditor writes down two
cohorts that differ in one patient's record. One of the two is fitted in secret. The auditor knows
both cohorts, the software and the law of the noise, sees everything that is released, and has to
say which cohort it was. The promise (ε, δ) limits how often anyone can be right. Whoever is right
more often has disproved the promise.

`longsynth attack game` plays this against the real `fit`, line by line of the ledger and for
everything that is released together. It needs no data and reads none: the worst cohorts are made
up from the schema.

## How it plays

1. **The worst pair.** A limit holds for every pair of records, so the pair must be one that uses
   it up. The search puts records into the same seat beside two bystanders: every stratum, values
   at their bounds with opposite, orthogonal and disjoint patterns, all missing against all
   observed, gaps at zero, middle and maximum, empty records, numbers outside every bound; then it
   changes the best pair at random for as long as that helps. What counts is measured on the
   integers that the real `fit` hands to its noise source, so the game attacks what runs and not a
   formula. Three patients are enough: once a schema is resolved for N patients, no sensitivity and
   no σ depends on N.
2. **The best test.** Both exact sums and the noise are known, so the auditor uses the likelihood
   ratio, which no other test beats. For Gaussian noise its values lie μ standard deviations apart
   on the two sides, where the ledger claims that μ is at most √(2ρ) for a line and √(2Σρ) in all.
3. **Many trials.** Real fits of either side with fast noise; fewer with OpenDP's own noise, which
   is what a release draws; and for each line fast noise on its own worst pair, with so many
   trials that the standard error of μ̂ is at most {ERROR:g} μ.
4. **The noise itself.** As the exact sums are known, the noise of every single number in every
   fit is measured too. A number without noise hardly shows in μ̂ if it is one of thousands. It
   shows here.

## When it fails

- One patient moves the exact sums of a line further than its claimed sensitivity, or than its ρ
  allows for the σ that is asked for.
- The lower confidence limit of μ̂ lies above the claimed μ, or a counted bound above the claimed
  ε.
- μ̂ is below {LEAST:g} μ on a tight pair, one that can reach {100 * TIGHT:.0f} % of μ: the noise
  is too large, or the auditor is blind.
- The noise of a line, or of one number, has another spread than its σ; or a line was released
  without asking for noise at all.

For a verdict all limits are taken at a confidence at which a whole table fails by chance less
than once in {1 / FALSE_ALARM:,.0f} games. The bounds in the tables are at 95 %, each for itself,
so that of many with few trials one may lie above its claim by chance; more trials then tell.
There is no threshold for the counted bound: at so small a δ it cannot be tight."""

LIMITS = """## What it cannot show

- **It is no proof.** It tries one family of attacks, the strongest against sums with Gaussian
  noise. That no attack won says nothing about attacks of another kind, such as on timing or on
  files outside the release. The proof is in [privacy.md](privacy.md).
- **It does not see a run's data or its noise.** It shows what this software does at these
  settings, on this machine, now. Whether a release that somebody hands you was made by this
  software cannot be seen from its numbers.
- **Fast noise is not OpenDP's.** It shows that the sums, the σ and the account fit together. That
  OpenDP draws what it says is measured with the smaller number of fits, and rests on OpenDP
  beyond that.
- **A pair that is not tight leaves room.** Where no pair uses up the claim, the claim may be
  generous, or the search not good enough. Separate lines want different pairs, so together they
  cannot all be used up by one; a joint release nearly can. `trust` releases products of values in
  slots near each other and is priced for all: where slots are many, no record uses that up.
- **Redrawn noise is no fit.** It takes the sums from a real fit and draws noise as that fit asked
  for. What a fit might do after its noise is seen by the real fits alone. Of fits in several
  passes there are few; that a later pass sees releases and nothing else has tests of its own,
  which deliberate bugs have to get past ([Threats](threats.md)).

## Run it yourself

<!-- first: longsynth simulate --patients 60 --out cohort && cp cohort/schema.yaml . -->
<!-- first: longsynth fit cohort --epsilon 4 --delta 1e-4 --method dp-markov --out run -->
```bash
longsynth attack game                       # the simulated cohort's schema, ε = 4
longsynth attack game run                   # at the settings of a release; its data are not read
longsynth attack game --schema schema.yaml --patients 504 --epsilon 1 --delta 1e-5 --out report.md
```

Exit code 0: the claim stood. 1: it fails, and every reason is a sentence. `--json` has all rows,
also each line in the real fits."""


def game_page(results: dict[str, Any]) -> str:
    """Return the page in Markdown from what `lab/game.py` stored."""
    games = [
        Game(Setting(**game["setting"]), read_report(game["report"])) for game in results["games"]
    ]
    parts = [INTRODUCTION, "## What was reached", _summary(games), *NOTES]
    for game in games:
        parts += [f"### {game.setting}", *_outcome(game.report), report_tables(game.report)]
    return "\n\n".join([*parts, LIMITS]) + "\n"


def _summary(games: Sequence[Game]) -> str:
    first = games[0].setting
    shown = (
        f"Schema of the simulated cohort, {first.patients} patients, δ = {first.delta:g}. Trials a "
        f"side: {_trials(games, several=False)}. Where a fit takes several passes, "
        f"{_trials(games, several=True)}: a later pass waits for what the earlier ones released, "
        "in every trial anew."
    )
    header = (
        "claim",
        "failures",
        "tight rows: least μ̂/μ",
        "whole bundle: pair",
        "whole bundle: μ̂/μ",
        "whole bundle: ε at least",
        "any row: most of its ε shown",
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
    """How many real fits were played, the same in every game of one kind."""
    kind = [game for game in games if (len(game.setting.plan().stages) > 1) == several]
    fast, opendp = (
        next(r.trials for r in kind[0].report.rows if r.played == "real fits" and noise in r.noise)
        for noise in ("fast", "OpenDP")
    )
    return f"{fast:,} real fits with fast noise and {opendp:,} with OpenDP's"
