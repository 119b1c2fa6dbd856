"""Values that stand in columns and that more than one package writes or reads."""

from __future__ import annotations

from enum import StrEnum

import pyarrow.dataset as ds


class Origin(StrEnum):
    """`parsed_logs.origin`: what made the request."""

    PRODUCTION = "production"
    EVALUATION = "evaluation"
    REPLAY = "replay"
    JUDGE = "judge"
    TEST = "test"


IS_PRODUCTION = ds.field("origin").is_null() | (ds.field("origin") == Origin.PRODUCTION.value)
"""Rows of parsed_logs that people's own use made; rows of older versions have no origin and count as such."""

TOOL_CALL_FINISH_REASONS = frozenset({"tool_calls", "function_call", "tool_use"})
"""`parsed_logs.finish_reason` of an answer that calls a tool, and so may have no text (OpenAI, Anthropic)."""

_ASKS_NO_LLM = frozenset({"lexical", "embedding", "model", "ratings"})


def asks_llm(judge: str | None) -> bool:
    """Say whether `scores.judge` names language models that were asked, by themselves or in a combination.

    `lexical+embedding`, the judge of a combination of metrics, names none; `lexical+strict` names one.
    """
    return judge is not None and not _ASKS_NO_LLM.issuperset(judge.split("+"))
