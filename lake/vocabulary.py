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

_NOTES = (
    r"invalid UTF-8 was replaced, first at byte \d+",
    r"\d+ raw control character(?: was|s were) replaced",
    r"lone surrogates were replaced",
    r"the line is cut after \d+ bytes",
    r"no request\.body was logged",
    r"request\.body (?:was cut by DIAL Core|is no JSON object|is nested too deep): the question is unknown",
)
NO_ERROR = rf"^(?:(?:{'|'.join(_NOTES)})(?:; |$))+$"
"""`parsed_logs.error` of rows of older versions that says only what was mended to read a line whose answer is whole.

Newer rows say that in `repairs`. For Python and for RE2 (Arrow).
"""

TOOL_CALL_FINISH_REASONS = frozenset({"tool_calls", "function_call", "tool_use"})
"""`parsed_logs.finish_reason` of an answer that calls a tool, and so may have no text (OpenAI, Anthropic)."""


class JudgeKind(StrEnum):
    """`scores.judge`: what gave the score, where it is no language model that has a name in the configuration.

    Several are joined by `+`, as in `lexical+embedding`; `llm` stands for a language model without a name.
    """

    LEXICAL = "lexical"
    EMBEDDING = "embedding"
    MODEL = "model"
    LLM = "llm"
    RATINGS = "ratings"


JUDGE_KINDS = frozenset(kind.value for kind in JudgeKind)
"""Words of `scores.judge` that name no judge; a judge of the configuration has another name, without `+`."""

_ASKS_NO_LLM = JUDGE_KINDS - {JudgeKind.LLM}
_NEVER_DRIFTS = frozenset({JudgeKind.LEXICAL.value, JudgeKind.RATINGS.value})


def asks_llm(judge: str | None) -> bool:
    """Say whether `scores.judge` names language models that were asked, by themselves or in a combination.

    `lexical+embedding`, the judge of a combination of metrics, names none; `lexical+strict` names one.
    """
    return judge is not None and not _ASKS_NO_LLM.issuperset(judge.split("+"))


def llms_of(judge: str) -> list[str]:
    """Give the names of the language models in `scores.judge`: `lexical+strict` has one, `strict`."""
    return [name for name in judge.split("+") if name not in JUDGE_KINDS]


def can_drift(judge: str | None) -> bool:
    """Say whether what gave a score may change while the answers stay the same; so where it is not known what did.

    Code does not, and ratings are people's own word; whatever else a combination has may.
    """
    return judge is None or not _NEVER_DRIFTS.issuperset(judge.split("+"))


class ServicePart(StrEnum):
    """`_services.part`: the parts of dialwatch that run on and on."""

    COLLECTOR = "collector"
    EVALUATOR = "evaluator"
    UPKEEP = "upkeep"
    WEBHOOKS = "webhooks"
    MONITOR = "monitor"


class ServiceState(StrEnum):
    """`_services.state`: how a part is, or that it was stopped as somebody asked."""

    RUNNING = "running"
    FAILING = "failing"
    STOPPED = "stopped"
