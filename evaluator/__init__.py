"""The evaluator: scores what is new in the lake, and turns liked answers into ground truth."""

from evaluator.backfill import Backfill, Backfilled, BackfillResult
from evaluator.backfill_estimate import Estimate, MetricEstimate, estimate
from evaluator.old_answers import Period
from evaluator.service import Evaluator, Failure, PassResult
from evaluator.settings import EvaluatorSettings

__all__ = [
    "Backfill",
    "BackfillResult",
    "Backfilled",
    "Estimate",
    "Evaluator",
    "EvaluatorSettings",
    "Failure",
    "MetricEstimate",
    "PassResult",
    "Period",
    "estimate",
]
