"""Features of an answer, from its row of the log and the calls that it made. Texts become hashes and lengths."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from statistics import fmean, median
from typing import Any

import msgspec

from lake.queries.sampled_answers import SampledAnswer
from lake.spec.vocabulary import has_known_contexts
from monitor.detect.causes.features import Feature
from monitor.detect.causes.logged_answer import AnswerFeatures, FeatureKey, Value

_MOST_CALLS = 50
_LONGEST_BODY = 1_000_000
"""Requests with more characters are not read."""
_SYSTEM = ("system", "developer")
_PARAMETERS = (
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "seed", "stop", "presence_penalty",
    "frequency_penalty", "response_format", "tool_choice", "reasoning_effort",
)  # fmt: skip
_DATED = re.compile(r"(?<!\d)(20\d\d)[-_./]?(0[1-9]|1[0-2])[-_./]?([0-2]\d|3[01])(?!\d)")
_TIMES = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d)?|\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|(?:\b\d{1,2}(?:st|nd|rd|th)?\s+)?\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d{1,4}(?:,\s*\d{4})?",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_NUMBERS = re.compile(r"\W*(?:\w+\W+){0,2}?\d+\W*(?:\w+\W*)?")
"""A line that numbers what follows: [3], Document 3:, <doc id="3">."""
_MOST_LINES = 400
_SHOWN_CHARACTERS = 60


class _Message(msgspec.Struct):
    role: Any = None
    content: Any = None


class _Request(msgspec.Struct):
    messages: list[_Message] = []
    tools: Any = None
    functions: Any = None
    temperature: Any = None
    top_p: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    n: Any = None
    seed: Any = None
    stop: Any = None
    presence_penalty: Any = None
    frequency_penalty: Any = None
    response_format: Any = None
    tool_choice: Any = None
    reasoning_effort: Any = None


_DECODER = msgspec.json.Decoder(_Request)


def logged_answer(answer: SampledAnswer, deployment: str) -> AnswerFeatures:
    """Return the features of an answer of a deployment."""
    row = answer.row
    values = {key: value for key, value in _values(answer, deployment) if value is not None}
    return AnswerFeatures(row["requested_at"], row["chat_id"] or row["event_id"], row["event_id"], values)


def system_prompt(request_body: str | None) -> str | None:
    """Return the text of the system and developer messages of a request; None where it cannot be read."""
    request = _request(request_body)
    return None if request is None else _system_prompt(request)


def tools_text(request_body: str | None) -> str | None:
    """Return the tools of a request as JSON, one member a line; None where it cannot be read."""
    request = _request(request_body)
    if request is None:
        return None
    return _tools(request)


def _values(answer: SampledAnswer, deployment: str) -> Iterator[tuple[FeatureKey, Value | None]]:
    row, calls = answer.row, answer.calls[:_MOST_CALLS]
    is_answered = row["status"] == 200
    yield (Feature.ERRORS, ""), float(not is_answered)
    yield (Feature.USER, ""), row["user_id"]
    yield (Feature.USER_TITLE, ""), row["user_title"]
    yield (Feature.PROJECT, ""), row["project_id"]
    yield (Feature.CLIENT, ""), row["client"]
    yield (Feature.LANGUAGE, ""), _language(answer.segment)
    yield (Feature.QUESTION_LENGTH, ""), None if row["question"] is None else float(len(row["question"]))
    yield (Feature.MESSAGES, ""), _number(row["message_count"])
    yield (Feature.CHILD_ERRORS, ""), float(any((call["status"] or 200) >= 400 for call in calls)) if calls else None
    if calls:
        yield (Feature.DEPLOYMENTS_CALLED, ""), tuple(sorted({_shown(call["deployment"] or "") for call in calls}))
        yield (Feature.CALLS, ""), float(len(answer.calls))
    yield from _of_requests([(deployment, row), *((call["deployment"] or "", call) for call in calls)])
    if is_answered:
        yield (Feature.FINISH_REASON, ""), row["finish_reason"]
        yield (Feature.LATENCY, ""), _number(row["duration_ms"])
        yield (Feature.PROMPT_TOKENS, ""), _number(row["prompt_tokens"])
        yield (Feature.COMPLETION_TOKENS, ""), _number(row["completion_tokens"])
        yield from _of_contexts(_contexts(row, calls), row["requested_at"])


def _of_requests(calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[FeatureKey, Value | None]]:
    """Yield what was asked of each deployment; of several calls of one the last counts, as the one that answers."""
    retrieved = {
        text
        for _, row in calls
        for chunk in row["contexts"] or ()
        for text in ((chunk or {}).get("text"), (chunk or {}).get("title"), (chunk or {}).get("url"))
        if text
    }
    for name, row in dict(calls).items():
        name = _shown(name)
        yield (Feature.MODEL, name), None if row["model"] is None else _shown(row["model"])
        request = _request(row["request_body"])
        if request is None:
            continue
        yield (Feature.SYSTEM_PROMPT, name), _lines(_without(_system_prompt(request), retrieved))
        yield (Feature.TOOLS, name), _lines(_tools(request))
        for parameter in _PARAMETERS:
            value = msgspec.json.encode(getattr(request, parameter), order="sorted").decode("utf-8", "replace")
            yield (Feature.PARAMETER, f"{parameter} of {name}"), _shown(value) if len(value) <= 20 else _hash(value)


def _contexts(row: Mapping[str, Any], calls: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]] | None:
    """Return the retrieved chunks of the answer, or of a call of its trace; None where the log does not say."""
    for one in (row, *calls):
        if one["contexts"] is not None and has_known_contexts(one["contexts_origin"]):
            return [chunk or {} for chunk in one["contexts"]]
    return None


def _of_contexts(
    contexts: Sequence[Mapping[str, Any]] | None, asked_at: datetime
) -> Iterator[tuple[FeatureKey, Value | None]]:
    # An answer whose log names no context counts as one without: an application that retrieves nothing has no other.
    yield (Feature.WITHOUT_RETRIEVAL, ""), float(not contexts)
    if not contexts:
        return
    names = [chunk.get("url") or chunk.get("title") or chunk.get("id") or "" for chunk in contexts]
    ages = [(asked_at.astimezone(UTC).date() - day).days for name in names if (day := _date_in(name))]
    yield (Feature.CHUNKS, ""), float(len(contexts))
    yield (Feature.CHUNK_LENGTH, ""), fmean(len(chunk.get("text") or "") for chunk in contexts)
    yield (Feature.CONTEXT_AGE, ""), float(median(ages)) if ages else None
    if any(names):
        yield (Feature.DOCUMENTS, ""), tuple(_hash(name) for name in names)


def _date_in(name: str) -> date | None:
    found = _DATED.search(name)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def _language(segment: str | None) -> str | None:
    try:
        language = msgspec.json.decode(segment).get("language") if segment else None
    except (msgspec.MsgspecError, AttributeError):
        return None
    return _shown(language) if isinstance(language, str) else None


def _request(body: str | None) -> _Request | None:
    if not body or len(body) > _LONGEST_BODY:
        return None
    try:
        return _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _system_prompt(request: _Request) -> str:
    contents = [message.content for message in request.messages if message.role in _SYSTEM]
    texts = [one if isinstance(one, str) else msgspec.json.encode(one, order="sorted").decode() for one in contents]
    return "\n".join(texts)


def _tools(request: _Request) -> str:
    tools = request.tools or request.functions
    return msgspec.json.format(msgspec.json.encode(tools, order="sorted"), indent=1).decode() if tools else ""


def _lines(text: str) -> tuple[str, ...]:
    """Return the hashes of a text's first lines, each once.

    Dates and times change by themselves, and what numbers a list of contexts as often as their number changes.
    """
    lines = (_TIMES.sub("0", line.strip()) for line in text.splitlines()[:_MOST_LINES])
    return tuple(dict.fromkeys(_hash(_DIGITS.sub("0", line) if _NUMBERS.fullmatch(line) else line) for line in lines))


def _without(prompt: str, retrieved: Iterable[str]) -> str:
    """Take out the texts, titles and addresses of contexts, longest first: they are not the application's words."""
    for text in sorted(retrieved, key=len, reverse=True):
        prompt = prompt.replace(text, "")
    return prompt


def _hash(text: str | bytes) -> str:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).hexdigest()[:16]


def _shown(name: str) -> str:
    return name[:_SHOWN_CHARACTERS]


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
