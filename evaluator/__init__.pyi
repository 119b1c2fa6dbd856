from .answers import Period
from .service.backfill import Backfill, Backfilled, BackfillResult
from .service.backfill_estimate import Estimate, MetricEstimate, estimate
from .service.judge_pool import Judges, forget_replies, forget_shared_replies
from .service.passes import Evaluator, Failure, PassResult
from .settings import EvaluatorSettings

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
