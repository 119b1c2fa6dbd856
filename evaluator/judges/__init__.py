"""Judges: language models that are asked about an answer, at a cost that is counted and bounded."""

from evaluator.judges.answer import Answer, JudgeError, Message, Reason, Spend
from evaluator.judges.calls import Calls
from evaluator.judges.fence import fenced
from evaluator.judges.judge import Judge
from evaluator.judges.sampling import is_sampled
from evaluator.judges.schema import Schema
from evaluator.judges.settings import JudgeSettings

__all__ = [
    "Answer",
    "Calls",
    "Judge",
    "JudgeError",
    "JudgeSettings",
    "Message",
    "Reason",
    "Schema",
    "Spend",
    "fenced",
    "is_sampled",
]
