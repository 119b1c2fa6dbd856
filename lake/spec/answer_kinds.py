"""Kinds of answers, decided by their content, and kinds of finish reasons, in one set of words for all senders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from unicodedata import category

from lake.spec.vocabulary import CUT_FINISH_REASONS, NO_ERROR, AnswerKind, FinishReason

_OK = 200
_TEXT = AnswerKind.TEXT
"""Looked up once: a member of an enumeration takes long to look up, and this is done for each line."""
_WORDS: Mapping[FinishReason, str] = {
    FinishReason.STOP: "stop stopped stopsequence endturn eos eostoken eosfound endoftext endofsequence complete "
    "completed finish finished end done unknownstop",
    FinishReason.LENGTH: "length maxtokens maxoutputtokens maxcompletiontokens maxnewtokens maxtokensreached "
    "maxlength modellength contextlength contextlengthexceeded modelcontextwindowexceeded contextwindowexceeded "
    "tokenlimit tokenlimitreached lengthlimit errorlimit limit",
    FinishReason.CONTENT_FILTER: "contentfilter contentfiltered filtered safety recitation blocklist blocked "
    "prohibitedcontent spii guardrailintervened guardrail imagesafety imageprohibitedcontent imagerecitation "
    "modelarmor moderation errortoxic sensitive",
    FinishReason.TOOL_CALLS: "toolcalls toolcall tooluse functioncall functioncalls pauseturn",
    FinishReason.REFUSAL: "refusal refused",
    FinishReason.ERROR: "error failed cancelled canceled abort aborted malformedfunctioncall malformedtoolcall "
    "malformedmodeloutput malformedtooluse unexpectedtoolcall toomanytoolcalls networkerror incomplete "
    "insufficientsystemresource errorfinish timeout",
}
_USUAL = {str(reason): reason for reason in _WORDS}
_REASONS = {word: reason for reason, words in _WORDS.items() for word in words.split()}
_BEFORE_WORD = re.compile(r"(?:.*\.|finish_?reason_)", re.IGNORECASE | re.DOTALL)
_NO_LETTER = re.compile(r"[^a-z]")
_LONGEST_WORD = 100
_NO_REASONS = ("null", "none", "undefined")
_UNSEEN = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def finish_kind(word: str | None) -> FinishReason | None:
    """Return the kind of a sender's finish reason; None where there is none.

    Case, hyphens and underscores do not matter, nor does what an enumeration puts before its member:
    `FinishReason.MAX_TOKENS` and `max-tokens` are `length`.
    """
    if not word:
        return None
    if usual := _USUAL.get(word):
        return usual
    return _kind_of_word(word) if len(word) <= _LONGEST_WORD else FinishReason.OTHER


@lru_cache(1_000)
def _kind_of_word(word: str) -> FinishReason | None:
    found = _NO_LETTER.sub("", _BEFORE_WORD.sub("", word, count=1).lower())
    if found in _NO_REASONS:
        return None
    return _REASONS.get(found, FinishReason.OTHER)


def answer_kind(
    finish_reason: str | None,
    *,
    is_failed: bool,
    has_text: bool,
    calls_tool: bool = False,
    has_attachment: bool = False,
    refuses: bool = False,
) -> AnswerKind:
    """Say what an answer is; `has_text` is whether it has a visible character, `finish_reason` the sender's word.

    The word of the sender decides only what the content cannot tell: that the answer was cut, that the model refused,
    and that a tool is called where the call itself was not logged.
    """
    if has_text and finish_reason == "stop" and not (is_failed or calls_tool or refuses):
        return _TEXT  # most answers: no more is asked of them
    reason = finish_kind(finish_reason)
    refuses = refuses or reason == FinishReason.REFUSAL
    calls_tool = calls_tool or (reason == FinishReason.TOOL_CALLS and not has_text)
    if is_failed:
        return AnswerKind.FAILED
    if not (has_text or calls_tool or has_attachment or refuses):
        return AnswerKind.EMPTY
    if reason in CUT_FINISH_REASONS:
        return AnswerKind.CUT
    if calls_tool:
        return AnswerKind.TOOL_CALL
    if refuses:
        return AnswerKind.REFUSAL
    return _TEXT if has_text else AnswerKind.ATTACHMENT


def is_visible(text: str) -> bool:
    """Return whether a text has a character that one sees, as `lake.spec.vocabulary.VISIBLE` matches it."""
    return text[:1].isalnum() or any(category(one) not in _UNSEEN for one in text)


def answer_kind_of(row: Mapping[str, Any], *, has_text: bool) -> AnswerKind | None:
    """Return the kind of the answer of a row of `parsed_logs` (answer_kind, status, error, finish_reason).

    Rows of older versions have none: it follows from their text and their finish reason. None where the log does not
    hold the answer.
    """
    if row["answer_kind"] is not None:
        return AnswerKind(row["answer_kind"])
    is_failed = row["status"] != _OK or not is_whole(row)
    if not (is_failed or has_text or row["finish_reason"]) and row.get("answer") is None:
        return None
    return answer_kind(row["finish_reason"], is_failed=is_failed, has_text=has_text)


def is_whole(row: Mapping[str, Any]) -> bool:
    """Return whether the line of a row of `parsed_logs` (error) gave a whole answer."""
    return row["error"] is None or re.fullmatch(NO_ERROR, row["error"]) is not None
