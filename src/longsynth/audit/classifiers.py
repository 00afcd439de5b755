"""Two models for yes or no, and two for numbers. Times to event have their own, in cox.py. One
thread, fixed seeds."""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from longsynth.system.arrays import Floats, Ints
from longsynth.system.errors import Code, Refused
from longsynth.system.workers import single_thread

ModelName = Literal["logistic", "boosted"]
MODELS: tuple[ModelName, ...] = ("logistic", "boosted")
NumberModel = Literal["linear", "boosted"]
NUMBER_MODELS: tuple[NumberModel, ...] = ("linear", "boosted")
INVERSE_PENALTY = 0.03  # C on standardised summaries: the best of six on simulated patients
BINS = 64  # of each summary, for the trees


def fitted_probability(
    model: ModelName, features: Floats, event: Ints, weight: Floats, asked: Floats
) -> Floats:
    """Train on weighted patients (mean weight 1) and return P(event) for others."""
    kept = weight > 0
    prepare, make = (_standardised, _logistic) if model == "logistic" else (_binned, _boosted)
    return probability_of(make, prepare, features[kept], event[kept], weight[kept], asked)


def probability_of(
    make: Callable[[], Any],
    prepare: Callable[[Floats, Floats], Floats],
    features: Floats,
    event: Ints,
    weight: Floats,
    asked: Floats,
) -> Floats:
    """Train any classifier on prepared features. If all outcomes are equal, predict that one."""
    if len(np.unique(event)) < 2:
        return np.full(len(asked), float(event.mean()) if len(event) else 0.5)
    require_sklearn()
    with single_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model that did not converge is used as it is
        extra = {"sample_weight": weight} if np.ptp(weight) > 0 else {}  # equal ones say nothing
        fitted = make().fit(prepare(features, features), event, **extra)
        return np.asarray(fitted.predict_proba(prepare(features, asked))[:, 1], dtype=np.float64)


def fitted_number(
    model: NumberModel, features: Floats, number: Floats, weight: Floats, asked: Floats
) -> Floats:
    """Train on weighted patients and return the expected number for others."""
    kept = weight > 0
    features, number, weight = features[kept], number[kept], weight[kept]
    if not len(number) or np.ptp(number) == 0:
        return np.full(len(asked), float(number.mean()) if len(number) else 0.0)
    require_sklearn()
    prepare, make = (_standardised, _ridge) if model == "linear" else (_binned, _boosted_number)
    with single_thread():
        fitted = make().fit(prepare(features, features), number, sample_weight=weight)
        return np.asarray(fitted.predict(prepare(features, asked)), dtype=np.float64)


def require_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ModuleNotFoundError:
        raise Refused(
            Code.PACKAGE_MISSING,
            "an audit trains classifiers with scikit-learn, which is not installed.",
            "Run pip install 'longsynth[audit]'.",
        ) from None


def _standardised(train: Floats, asked: Floats) -> Floats:
    spread = train.std(axis=0)
    return np.asarray((asked - train.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def _binned(train: Floats, asked: Floats) -> Floats:
    """Ranks among the training patients' quantiles: trees need no more, and train faster."""
    edges = np.quantile(train, np.linspace(0, 1, BINS)[1:-1], axis=0)
    columns = [np.searchsorted(e, a, side="right") for e, a in zip(edges.T, asked.T, strict=True)]
    return np.column_stack(columns).astype(np.float64)


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=INVERSE_PENALTY, solver="newton-cholesky", max_iter=200)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=1 / INVERSE_PENALTY)


def _boosted() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**TREES)


def _boosted_number() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(**TREES)


TREES: dict[str, Any] = {
    "learning_rate": 0.08,
    "max_iter": 60,
    "max_bins": BINS,
    "max_leaf_nodes": 6,
    "min_samples_leaf": 15,
    "l2_regularization": 5.0,
    "early_stopping": False,
    "random_state": 0,
}
