"""Segment of an answer: the class of traffic that it belongs to."""

from __future__ import annotations

import orjson

from evaluator.answers import LoggedAnswer
from evaluator.metrics import language_of

_LANGUAGE_CHARACTERS = 500
_SHORT, _MEDIUM = 80, 400
"""Characters of the longest question of that length."""


def segment_of(answer: LoggedAnswer) -> str:
    """Give `scores.segment`: a JSON object of what kind of traffic an answer is, null for what is not known.

    - `language`: that of the question's first 500 characters (`language_of`), an ISO 639-1 code or else a script.
    - `model`: the model that the log names.
    - `contexts`: whether anything was retrieved.
    - `question_length`: `short` up to 80 characters, `medium` up to 400, `long` beyond.
    """
    found = None if answer.question is None else language_of(answer.question[:_LANGUAGE_CHARACTERS])
    parts = {
        "language": found and (found.code or found.script),
        "model": answer.model,
        "contexts": None if answer.contexts is None else bool(answer.contexts),
        "question_length": None if answer.question is None else _length(answer.question),
    }
    return orjson.dumps(parts).decode()


def _length(question: str) -> str:
    if len(question) <= _SHORT:
        return "short"
    return "medium" if len(question) <= _MEDIUM else "long"
