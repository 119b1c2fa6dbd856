"""Replays: accepted cases are asked again of the live deployment, and the answers are compared case by case."""

from evaluator.replays.asking import Asked, DialDeployment, Reply
from evaluator.replays.comparison import CaseChange, Comparison, MetricComparison, Outcome
from evaluator.replays.run import ReplayRun, last_run_at, replay
from evaluator.replays.settings import ReplayDeployment, ReplaySettings

__all__ = [
    "Asked",
    "CaseChange",
    "Comparison",
    "DialDeployment",
    "MetricComparison",
    "Outcome",
    "ReplayDeployment",
    "ReplayRun",
    "ReplaySettings",
    "Reply",
    "last_run_at",
    "replay",
]
