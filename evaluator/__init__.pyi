from .answers import Period
from .service.backfill import Backfill, Backfilled, BackfillResult
from .service.backfill_estimate import BackfillEstimate, MetricEstimate, estimate
from .service.group import GROUP_HEARTBEAT_SECONDS, LOOK_SECONDS, EvaluatorGroup
from .service.judge_pool import JudgePool, forget_replies, forget_shared_replies
from .service.passes import Evaluator, Failure, PassResult
from .settings import EvaluatorSettings

__all__ = [
    "GROUP_HEARTBEAT_SECONDS",
    "LOOK_SECONDS",
    "Backfill",
    "BackfillEstimate",
    "BackfillResult",
    "Backfilled",
    "Evaluator",
    "EvaluatorGroup",
    "EvaluatorSettings",
    "Failure",
    "JudgePool",
    "MetricEstimate",
    "PassResult",
    "Period",
    "estimate",
    "forget_replies",
    "forget_shared_replies",
]
