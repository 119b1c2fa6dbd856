"""Judges: language models that are asked about an answer, at a cost that is counted and bounded.

Importing this package loads none of its modules before one of its names is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluator.judges.answer import Answer, JudgeError, Message, Reason, Request, Spend
    from evaluator.judges.asker import Asker, BoundJudge
    from evaluator.judges.calls import Calls
    from evaluator.judges.fence import fenced
    from evaluator.judges.judge import Judge
    from evaluator.judges.schema import MisfitError, Schema
    from evaluator.judges.settings import JudgeSettings

__all__ = [
    "Answer",
    "Asker",
    "BoundJudge",
    "Calls",
    "Judge",
    "JudgeError",
    "JudgeSettings",
    "Message",
    "MisfitError",
    "Reason",
    "Request",
    "Schema",
    "Spend",
    "fenced",
]

_HOMES = {
    "answer": ("Answer", "JudgeError", "Message", "Reason", "Request", "Spend"),
    "asker": ("Asker", "BoundJudge"),
    "calls": ("Calls",),
    "fence": ("fenced",),
    "judge": ("Judge",),
    "schema": ("MisfitError", "Schema"),
    "settings": ("JudgeSettings",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"evaluator.judges.{module}"), name)
    raise AttributeError(f"module 'evaluator.judges' has no attribute {name!r}")
