"""The metrics by name, and several of them on one frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from evaluator.metrics.context import ContextPresent
from evaluator.metrics.correctness import AnswerCorrectnessTokenRecall
from evaluator.metrics.facts import FactsRecall
from evaluator.metrics.faithfulness import FaithfulnessKPrecision
from evaluator.metrics.metric import Metric

GROUND_TRUTH_COLUMNS = frozenset({"reference_answers", "reference_contexts", "reference_context_ids", "facts"})
"""Columns that no log holds: a metric that needs one can only score rows with a case of ground truth."""

REGISTRY: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (FaithfulnessKPrecision(), ContextPresent(), FactsRecall(), AnswerCorrectnessTokenRecall())
}


class UnknownMetricError(ValueError):
    """No metric has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no metric {name!r}; the known ones are {', '.join(sorted(REGISTRY))}")


def metric_named(name: str) -> Metric:
    """Give a metric of the registry. Raises UnknownMetricError, which lists the known ones."""
    if name not in REGISTRY:
        raise UnknownMetricError(name)
    return REGISTRY[name]


def needs_ground_truth(metric: Metric) -> bool:
    """Whether a metric compares with ground truth, or judges the answer by its question and contexts alone."""
    return not GROUND_TRUTH_COLUMNS.isdisjoint(metric.needs)


def compute(frame: pd.DataFrame, metrics: Sequence[str | Metric]) -> pd.DataFrame:
    """Score a frame: for each metric a column of its name (float64, NaN where null) and `<name>_reason`.

    The result has the frame's index. A row that a metric cannot score is null with a reason.

    Raises UnknownMetricError for a name that is not in the registry, and MissingColumnError for a frame without a
    column that a metric needs.
    """
    columns: dict[str, pd.Series] = {}
    for metric in [metric_named(metric) if isinstance(metric, str) else metric for metric in metrics]:
        scores = metric.score(frame)
        columns[metric.name] = scores.values
        columns[f"{metric.name}_reason"] = scores.reasons
    return pd.DataFrame(columns, index=frame.index)
