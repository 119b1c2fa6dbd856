"""One answer as text for a terminal: conversation, question, answer, contexts, scores, signals and calls."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialwatch.reports.report_parts import report_of, signal_lines, text_lines, time_of
from dialwatch.reports.terminal_text import in_one_line
from lake.queries.answer_calls import AnswerCall
from lake.queries.answer_details import AnswerContext, AnswerDetails, AnswerScore, AnswerTurn
from monitor.pages.answers.findings import unsupported_in

_TURN_CHARACTERS = 300
_DETAILS_CHARACTERS = 500
_IN_WORDS = frozenset({"unsupported", "more_unsupported"})
"""Members of a score's details that stand beside the answer, in its words."""


def format_answer(details: AnswerDetails) -> str:
    """Return what `dialwatch show` prints. Texts of people and models are made harmless and cut where they are long."""
    return report_of(_sections(details))


def _sections(details: AnswerDetails) -> Iterator[list[str]]:
    row = details.row
    yield list(_head(details))
    if details.before:
        yield ["Conversation before", *(line for turn in details.before for line in _turn(turn))]
    yield ["Question", text_lines(row["question"])]
    if row["standalone_question"] is not None:
        yield ["Question as the application rewrote it", text_lines(row["standalone_question"])]
    yield ["Answer", text_lines(row["answer"])]
    yield list(_unsupported(details))
    if row["tool_calls"]:
        yield [
            "Calls of tools",
            *(line for number, call in enumerate(row["tool_calls"], 1) for line in _tool(number, call)),
        ]
    if row["attachments"]:
        yield ["Attachments", *map(_attachment, row["attachments"])]
    origin = f" ({in_one_line(details.contexts_origin)})" if details.contexts_origin else ""
    contexts = [line for context in details.contexts for line in _context(context)]
    yield [f"Contexts{origin}", *(contexts or ["  (none)"])]
    yield ["Scores", *([line for score in details.scores for line in _score(score)] or ["  (none)"])]
    if details.signals:
        yield ["Signals", *(line for signal in details.signals for line in signal_lines(signal))]
    if details.calls:
        left = [f"  ... and {details.calls_left_out:,} more"] if details.calls_left_out else []
        yield ["Calls", *map(_call, details.calls), *left]


def _head(details: AnswerDetails) -> Iterator[str]:
    row = details.row
    yield f"{in_one_line(row['deployment'] or '(no deployment)')}, {time_of(row['requested_at'])}"
    members = {
        "response id": row["response_id"],
        "event id": row["event_id"],
        "conversation": row["chat_id"],
        "model": row["model"],
        "status": f"{details.status}, HTTP {row['status']}",
        "failures": ", ".join(details.failures) or None,
        "error": row["error"],
        "repairs": "; ".join(row["repairs"] or ()) or None,
        "finish reason": row["finish_reason"],
        "took": _took(row["duration_ms"]),
        "tokens": _tokens(row["prompt_tokens"], row["completion_tokens"]),
        "of thoughts": _count(row["reasoning_tokens"], "tokens"),
        "cached": _count(row["cached_tokens"], "tokens"),
        "price": _number(row["price"]),
        "rating": details.rating,
        "label": details.label,
        "documents": ", ".join(row["documents"] or ()) or None,
    }
    for name, value in members.items():
        if value is not None:
            yield f"  {name + ':':<15}{in_one_line(str(value), 1000)}"


def _turn(turn: AnswerTurn) -> Iterator[str]:
    yield f"  {time_of(turn.requested_at)}, event id {in_one_line(turn.event_id)}"
    for who, text in (("Q", turn.question), ("A", turn.answer)):
        yield f"  {who}: {in_one_line(text or '', _TURN_CHARACTERS)}".rstrip()


def _context(context: AnswerContext) -> Iterator[str]:
    place = (context.title, context.url, None if context.page is None else f"page {context.page}")
    named = ", ".join(in_one_line(one, 500) for one in place if one)
    yield f"  {context.rank}. {named}".rstrip()
    yield text_lines(context.text, indented=True)


def _tool(number: int, call: Mapping[str, Any]) -> Iterator[str]:
    how = {True: "failed", False: "succeeded", None: "not known whether it failed"}[call["is_error"]]
    yield f"  {number}. {in_one_line(call['name'] or '(no name)')}, {how}"
    yield f"    with {in_one_line(call['arguments'] or 'no arguments', _DETAILS_CHARACTERS)}"
    if call["result"] is not None:
        yield text_lines(call["result"], indented=True)


def _attachment(attachment: Mapping[str, Any]) -> str:
    size = None if attachment["size"] is None else f"{attachment['size']:,} bytes"
    facts = (attachment["title"], attachment["type"], attachment["url"], size)
    return f"  {', '.join(in_one_line(one, 500) for one in facts if one)}"


def _unsupported(details: AnswerDetails) -> Iterator[str]:
    found = unsupported_in(details)
    if found is None:
        return
    text = details.row["answer"] or ""
    more = f" and {found.more:,} more places" if found.more else ""
    yield f"Words that stand in no context{more}"
    yield from (f"  {in_one_line(text[start:end])}" for start, end in found.places)


def _score(score: AnswerScore) -> Iterator[str]:
    value = "no value" if score.value is None else _number(score.value)
    notes = (
        f"reason {score.reason}" if score.reason else None,
        f"judge {score.judge}" if score.judge else None,
        f"version {score.metric_version}",
        f"by a case that was {score.reference_status} then, match {score.reference_match}"
        if score.reference_status
        else None,
        f"what failed: {score.failed_part}" if score.failed_part else None,
        None if score.is_latest else "replaced by a later score",
    )
    yield f"  {in_one_line(score.metric)}: {value} ({', '.join(in_one_line(one) for one in notes if one)})"
    for name, member in (score.details or {}).items():
        if name in _IN_WORDS:
            continue
        yield f"    {in_one_line(name)}: {in_one_line(_member(member), _DETAILS_CHARACTERS)}"


def _member(member: Any) -> str:
    return member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)


def _call(call: AnswerCall) -> str:
    facts = (
        in_one_line(call.deployment or "(no deployment)"),
        in_one_line(call.kind or ""),
        in_one_line(call.model or ""),
        "" if call.status == 200 else f"HTTP {call.status}",
        _took(call.duration_ms),
        _tokens(call.prompt_tokens, call.completion_tokens),
        "" if call.deployment_price is None else f"price {_number(call.deployment_price)}",
        "" if call.has_known_caller else "the log does not say who called",
        "this answer" if call.is_shown else "",
    )
    return f"  {'  ' * min(call.depth, 20)}{', '.join(_filled(facts))}"


def _filled(facts: Iterable[str | None]) -> list[str]:
    return [fact for fact in facts if fact]


def _took(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else f"{milliseconds / 1000:,.1f} s"


def _count(number: int | None, unit: str) -> str | None:
    return None if number is None else f"{number:,} {unit}"


def _tokens(prompt: int | None, completion: int | None) -> str | None:
    if prompt is None and completion is None:
        return None
    return " + ".join("?" if tokens is None else f"{tokens:,}" for tokens in (prompt, completion)) + " tokens"


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"
