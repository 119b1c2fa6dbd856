"""Enumerations of the values that table columns may hold: each value is written once.

Those about ground truth are in `case_vocabulary`, those of tables about dialwatch itself in `service_vocabulary`. A
member is a `str` that is stored and compared as its value. This module imports no table: code that must not know the
tables, such as a metric or a detector, imports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum


def one_of(words: Iterable[str]) -> str:
    """Return the words as a list in a sentence: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


class Kind(StrEnum):
    """`parsed_logs.kind`: what was called."""

    CHAT_COMPLETION = "chat_completion"
    COMPLETION = "completion"
    EMBEDDING = "embedding"
    RESPONSE = "response"
    MESSAGE = "message"
    RETRIEVAL = "retrieval"
    INDEXING = "indexing"
    TOKENIZE = "tokenize"
    TRUNCATE_PROMPT = "truncate_prompt"
    MCP = "mcp"
    ROUTE = "route"
    OTHER = "other"


ANSWERING_KINDS = (Kind.CHAT_COMPLETION, Kind.COMPLETION, Kind.RESPONSE, Kind.MESSAGE)
"""Kinds of parsed_logs that hold an answer; with `is_entry` one that a person saw."""


class Origin(StrEnum):
    """`parsed_logs.origin`: what made the request."""

    PRODUCTION = "production"
    EVALUATION = "evaluation"
    REPLAY = "replay"
    JUDGE = "judge"
    TEST = "test"


ORIGIN_BAGGAGE = "dialwatch.origin"
"""Key of the header `baggage` (W3C) whose value is the origin of a request that dialwatch makes itself."""

ORIGIN_TITLE = "dialwatch/"
"""Beginning of the header `X-JOB-TITLE`, which DIAL Core always logs, of such a request; its origin follows."""

OWN_ORIGINS = (Origin.JUDGE, Origin.REPLAY)
"""Origins of what dialwatch asks itself: the texts are those of answers that the lake has."""


def origin_headers(origin: Origin) -> dict[str, str]:
    """Headers by which DIAL Core's log says that dialwatch made a request."""
    return {"baggage": f"{ORIGIN_BAGGAGE}={origin}", "X-JOB-TITLE": f"{ORIGIN_TITLE}{origin}"}


class ContextsOrigin(StrEnum):
    """`parsed_logs.contexts_origin`: where the chunks of a row were found, the best source first.

    `tool_result` is not stored: results of tools stand in `tool_calls`, and are contexts for who reads the answer.
    """

    RETRIEVAL_RESPONSE = "retrieval_response"
    RETRIEVAL_STAGE = "retrieval_stage"
    CHILD_CALL = "child_call"
    CITED = "cited"
    PROMPT = "prompt"
    TOOL_RESULT = "tool_result"
    NONE = "none"


OUTRANKED_BY_CHILD = (ContextsOrigin.CITED, ContextsOrigin.PROMPT, ContextsOrigin.NONE)
"""Origins of contexts that those in the prompt of the application's own model call replace."""


def has_known_contexts(origin: str | None) -> bool:
    """Return whether it is known what was retrieved for a row with this `contexts_origin`; not for null and `none`."""
    return origin is not None and origin != ContextsOrigin.NONE


class FinishReason(StrEnum):
    """`parsed_logs.finish_kind`: why an answer ended, whatever word its sender has for it.

    `error`: the sender says that it failed. `other`: a word that is not known.
    """

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    REFUSAL = "refusal"
    ERROR = "error"
    OTHER = "other"


CUT_FINISH_REASONS = frozenset({FinishReason.LENGTH, FinishReason.CONTENT_FILTER})
"""Finish reasons of an answer that was cut off."""


class AnswerKind(StrEnum):
    """`parsed_logs.answer_kind`: what an answer is, by its content.

    `tool_call`: it asks the client to call a tool. `attachment`: it has an image, a sound, a file or a form, and no
    text. `refusal`: the model says in a member of its own that it refuses. `empty`: there is nothing to see. `cut`: it
    ended at the most tokens. `failed`: DIAL Core or the deployment did not give a whole answer.
    """

    TEXT = "text"
    TOOL_CALL = "tool_call"
    ATTACHMENT = "attachment"
    REFUSAL = "refusal"
    EMPTY = "empty"
    CUT = "cut"
    FAILED = "failed"


NO_ID = "the answer has no id"
"""In `parsed_logs.repairs`: a whole answer without an id. Ratings cannot name it."""

TOOL_ERROR = "tool error"
"""Beginning of `parsed_logs.error` of a call of a tool (MCP) that answered with an error and status 200."""

VISIBLE = r"[^\s\p{Cc}\p{Cf}\p{Z}]"
"""Pattern of a character that one sees; an answer without one is empty. For RE2 (Arrow)."""

_NOTES = (
    r"invalid UTF-8 was replaced, first at byte \d+",
    r"\d+ raw control character(?: was|s were) replaced",
    r"lone surrogates were replaced",
    r"the line is cut after \d+ bytes",
    NO_ID,
    r"no request\.body was logged",
    r"request\.body (?:was cut by DIAL Core|is no JSON object|is nested too deep): the question is unknown",
)
NO_ERROR = rf"^(?:(?:{'|'.join(_NOTES)})(?:; |$))+$"
"""Pattern of `parsed_logs.error` in rows of older versions that names repairs alone: the line's answer is whole.

Newer rows have these in `repairs`. For Python and for RE2 (Arrow).
"""


class SourceKind(StrEnum):
    """`source.kind`: what a row came from.

    `implicit`: it was derived from rows of `parsed_logs`; `label`: a person said it on a page, or by a command.
    """

    FILE = "file"
    HTTP = "http"
    KAFKA = "kafka"
    IMPLICIT = "implicit"
    LABEL = "label"


class Signal(StrEnum):
    """`user_signals.signal`: values that dialwatch knows; clients of `POST /signals` may send others.

    `unreadable` is a rating that cannot be read, `other` a value beyond the most that are kept apart. `right` and
    `wrong` are labels.
    """

    LIKE = "like"
    DISLIKE = "dislike"
    REGENERATE = "regenerate"
    EDIT = "edit"
    CORRECTION = "correction"
    UNREADABLE = "unreadable"
    OTHER = "other"
    RIGHT = "right"
    WRONG = "wrong"


class SignalOrigin(StrEnum):
    """`user_signals.origin`: how it is known what a person thought of an answer.

    `explicit`: the person who asked pressed a button. `implicit`: it was read from the traffic. `label`: somebody who
    judges answers, and is not the person who asked, said so. `score`: another program sent it to `POST /scores`; it is
    nobody's opinion.
    """

    EXPLICIT = "explicit"
    IMPLICIT = "implicit"
    LABEL = "label"
    SCORE = "score"


OUTSIDE_SCORE = "score"
"""Member of `user_signals.details` with the value, range and direction of a score that another program sent."""

OUTSIDE_VERSION = "outside"
"""`scores.metric_version` of what other programs sent: scores, and signals in words of theirs."""


class UnscoredReason(StrEnum):
    """`scores.reason`: why a value is null; a metric of your own may have others."""

    NO_ANSWER = "no_answer"
    NO_QUESTION = "no_question"
    NO_CONTEXTS = "no_contexts"
    NO_TEXT_CONTEXTS = "no_text_contexts"
    NO_RETRIEVAL = "no_retrieval"
    NO_GROUND_TRUTH = "no_ground_truth"
    NO_FACTS = "no_facts"
    NO_CLAIMS = "no_claims"
    NO_CLAIM_RETRIEVED = "no_claim_retrieved"
    NO_ENTITIES = "no_entities"
    NO_CITATIONS = "no_citations"
    NO_TOOL_CALLS = "no_tool_calls"
    UNKNOWN_RESULTS = "unknown_results"
    NO_TOPICS = "no_topics"
    NOTHING_ANSWERED = "nothing_answered"
    NOTHING_ALLOWED = "nothing_allowed"
    ONE_TURN = "one_turn"
    NO_INTENTS = "no_intents"
    NO_DURATION = "no_duration"
    NO_PRICE = "no_price"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    NOT_LATIN = "not_latin"
    UNKNOWN_LANGUAGE = "unknown_language"
    ZERO_VECTOR = "zero_vector"
    NOT_A_NUMBER = "not_a_number"
    JUDGE_FAILED = "judge_failed"
    JUDGE_CUT = "judge_cut"
    JUDGE_REFUSED = "judge_refused"
    JUDGE_CONTENT_FILTER = "judge_content_filter"
    JUDGE_TIMEOUT = "judge_timeout"
    JUDGE_BUDGET = "judge_budget"
    JUDGE_UNPRICED = "judge_unpriced"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    JUDGE_IS_THE_MODEL = "judge_is_the_model"
    NO_IMAGE = "no_image"
    NO_PROBABILITIES = "no_probabilities"
    JUDGE_ORDERS_DIFFER = "judge_orders_differ"


class JudgeKind(StrEnum):
    """`scores.judge`: what gave the score, unless it was a language model that the configuration names.

    Several are joined by `+`, as in `lexical+embedding`; `llm` stands for a language model without a name, `outside`
    for another program that sent it.
    """

    LEXICAL = "lexical"
    EMBEDDING = "embedding"
    MODEL = "model"
    LLM = "llm"
    RATINGS = "ratings"
    OUTSIDE = "outside"


JUDGE_KINDS = frozenset(JudgeKind)
"""Values of `scores.judge` that name no judge; a judge of the configuration has another name, without `+`."""

_ASKS_NO_LLM = JUDGE_KINDS - {JudgeKind.LLM}
_NEVER_DRIFTS = frozenset({JudgeKind.LEXICAL, JudgeKind.RATINGS})


def asks_llm(judge: str | None) -> bool:
    """Return whether `scores.judge` names language models that were asked, by themselves or in a combination.

    `lexical+embedding`, the judge of a combination of metrics, names none; `lexical+strict` names one.
    """
    return judge is not None and not _ASKS_NO_LLM.issuperset(judge.split("+"))


def llms_of(judge: str) -> list[str]:
    """Return the names of the language models in `scores.judge`: `lexical+strict` has one, `strict`."""
    return [name for name in judge.split("+") if name not in JUDGE_KINDS]


def can_drift(judge: str | None) -> bool:
    """Return whether this judge's scores may change while the answers stay the same; true where the judge is not known.

    Code does not change, and ratings are people's own; any other part of a combination, and what other programs send,
    may change.
    """
    return judge is None or not _NEVER_DRIFTS.issuperset(judge.split("+"))


DISLIKES = "dislikes"
"""The metric as which people's ratings are watched (1: disliked, 0: liked); no metric of `scores` may have its name."""

REFUSAL = "refusal"
"""The metric whose scores above 0 say that the answer refuses."""


class FailureKind(StrEnum):
    """Ways in which an answer has failed, as its row and its scores tell; it may have failed in several.

    `error`: DIAL Core or the deployment did not give a whole answer. `empty`: a whole answer without a visible
    character, and without a call of a tool. `refusal`: the metric of this name says so, and where it has no score the
    text. `cut`: the answer ended at the most tokens, or a filter of contents ended it. `tool_error`: a call of a tool
    in its turn failed.
    """

    ERROR = "error"
    EMPTY = "empty"
    REFUSAL = "refusal"
    CUT = "cut"
    TOOL_ERROR = "tool_error"


class Direction(StrEnum):
    """`scores.direction`: which end of a metric's range is better."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


class Draw(IntEnum):
    """`anchors.draw`: numbers of special scorings; any other is the time when a scoring was due, in seconds."""

    COMPARED = -1
    FIRST = 0
    SECOND = 1


FIRST_DRAWS = (Draw.FIRST, Draw.SECOND)
"""The scorings of an anchor that all later ones are compared with."""
