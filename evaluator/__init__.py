"""The evaluator: scores what is new in the lake, and turns liked answers into ground truth.

`evaluator.metrics` is a library of its own: importing it loads nothing of the service, nor the lake.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.answers import Period
    from evaluator.service.backfill import Backfill, Backfilled, BackfillResult
    from evaluator.service.backfill_estimate import Estimate, MetricEstimate, estimate
    from evaluator.service.judge_pool import Judges, forget_replies, forget_shared_replies
    from evaluator.service.passes import Evaluator, Failure, PassResult
    from evaluator.settings import EvaluatorSettings

__all__ = [
    "Backfill",
    "BackfillResult",
    "Backfilled",
    "Estimate",
    "Evaluator",
    "EvaluatorSettings",
    "Failure",
    "Judges",
    "MetricEstimate",
    "PassResult",
    "Period",
    "estimate",
    "forget_replies",
    "forget_shared_replies",
]

_HOMES = {
    "service.judge_pool": ("Judges", "forget_replies", "forget_shared_replies"),
    "service.backfill": ("Backfill", "BackfillResult", "Backfilled"),
    "service.backfill_estimate": ("Estimate", "MetricEstimate", "estimate"),
    "answers": ("Period",),
    "service.passes": ("Evaluator", "Failure", "PassResult"),
    "settings": ("EvaluatorSettings",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"evaluator.{module}"), name)
    raise AttributeError(f"module 'evaluator' has no attribute {name!r}")
