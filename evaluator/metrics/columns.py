"""Columns of a frame that the service treats apart: those of ground truth, and those that were measured."""

from __future__ import annotations

from evaluator.metrics.metric import Metric

GROUND_TRUTH_COLUMNS = frozenset({"reference_answers", "reference_contexts", "reference_context_ids", "facts"})
"""Columns that no log holds: a metric that needs one can only score rows with a case of ground truth."""

MEASURED_COLUMNS = frozenset({"duration_ms", "price", "deployment_price"})
"""Columns that were measured from outside: they say something even where the answer itself is not known."""


def needs_ground_truth(metric: Metric) -> bool:
    """Whether a metric compares with ground truth, or judges the answer by its question and contexts alone."""
    return not GROUND_TRUTH_COLUMNS.isdisjoint(metric.needs)
