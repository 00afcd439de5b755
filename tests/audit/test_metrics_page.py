"""docs/metrics.md names every metric."""

import re
from pathlib import Path

from longsynth.audit.audit import audit
from longsynth.audit.refit import Refit
from longsynth.privacy.budget import Budget
from support import random_cohort, small_schema

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()


def test_every_metric_is_explained() -> None:
    schema = small_schema()
    cohorts = [random_cohort(40, seed) for seed in (1, 2, 3)]
    variables = "|".join(v.name for v in schema.variables)
    sites = "|".join(schema.sites)
    refit = Refit(lambda planted, _: planted, Budget(1.0, 1e-5))
    result = audit(schema, *cohorts, refit=refit, bootstrap=0)
    assert any(row.score.metric.startswith("canary") for row in result.rows)
    for row in result.rows:
        name = re.sub(rf"_({variables}|event)$", "", row.score.metric)
        name = re.sub(rf"^group\d_site_({sites})_", "group1_site_B_", name)
        name = re.sub(r"^(autocorrelation_error|prevalence_error)_(lag|group)", r"…_\2", name)
        assert f"`{name}`" in PAGE or f"`{row.score.metric}`" in PAGE, row.score.metric
