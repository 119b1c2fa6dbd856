"""One case of ground truth as text for a terminal: texts, facts in their contexts, source, and history."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dialwatch.reports.fact_places import places_of
from dialwatch.reports.report_parts import report_of, signal_lines, text_lines, time_of
from dialwatch.reports.terminal_text import in_one_line
from lake.queries.answer_details import AnswerSignal
from lake.queries.ground_truth.alike_cases import AlikeCases
from lake.queries.ground_truth.case_versions import is_doubted
from lake.queries.ground_truth.cases import FactPlace
from lake.queries.signals import fold_signals
from lake.spec.tool_calls import call_line

_COMPARED = (
    "status", "question", "conversation_hash", "answer", "documents", "facts", "context", "context_ids", "citations",
    "tool_calls",
    "confidence", "source_response_id", "extractor",
)  # fmt: skip


@dataclass(frozen=True)
class CaseDetails:
    """A version of a case and all that belongs to it.

    `history` has all versions, the newest first. `source_event_id` is that of the answer that the case was made from,
    None where the log has it no longer, and `signals` are those on it.
    """

    deployment: str
    case: Mapping[str, Any]
    history: tuple[Mapping[str, Any], ...]
    alike: AlikeCases
    source_event_id: str | None
    signals: tuple[AnswerSignal, ...]


def format_case(details: CaseDetails) -> str:
    """Return what `dialwatch ground-truth show` prints. Texts are made harmless and cut where they are long."""
    return report_of(_sections(details))


def _sections(details: CaseDetails) -> Iterator[list[str]]:
    case = details.case
    places = places_of(case)
    yield list(_head(details))
    yield ["Question", text_lines(case["question"])]
    yield ["Answer", text_lines(case["answer"])]
    yield ["Documents", *([f"  {in_one_line(one or '', 1000)}" for one in case["documents"] or ()] or ["  (none)"])]
    facts = [line for number, place in enumerate(places) for line in _fact(case, number, place)]
    yield ["Facts", *(facts or ["  (none)"])]
    if case["tool_calls"] is not None:
        calls = [f"  {in_one_line(call_line(call), 1000)}" for call in case["tool_calls"]]
        yield ["Calls of tools", *(calls or ["  (none)"])]
    yield ["Contexts", *(list(_contexts(case, places)) or ["  (none)"])]
    yield ["Why it is a case", *_source(details)]
    yield ["Versions", *_history(details.history)]


def _head(details: CaseDetails) -> Iterator[str]:
    case = details.case
    yield f"case {in_one_line(case['case_id'])} of {in_one_line(details.deployment)}"
    newest = details.history[0]["version"]
    old = "" if case["version"] == newest else f", not the newest, which is {newest}"
    members = {
        "version": f"{case['version']}{old}",
        "status": _by(case["status"], case["status_by"], case["status_at"]),
        "doubt": case["doubt"] if is_doubted(case) else None,
        "confidence": None if case["confidence"] is None else f"{case['confidence']:.4g}",
        "asked in": None
        if case["conversation_hash"] is None
        else "its conversation alone, which explains the question",
        "same as": ", ".join(details.alike.duplicates) or None,
        "contradicts": ", ".join(details.alike.contradicting) or None,
    }
    for name, value in members.items():
        if value is not None:
            yield f"  {name + ':':<13}{in_one_line(str(value), 1000)}"


def _fact(case: Mapping[str, Any], number: int, place: FactPlace | None) -> Iterator[str]:
    where = "in no chunk" if place is None else f"chunk {place[0] + 1}, characters {place[1]:,} to {place[2]:,}"
    yield f"  {number + 1}. ({where})"
    yield text_lines(case["facts"][number], indented=True)
    citation = _at(case["citations"], number)
    if citation and citation["statement"]:
        yield f"    that is: {in_one_line(citation['statement'], 1000)}"


def _contexts(case: Mapping[str, Any], places: Sequence[FactPlace | None]) -> Iterator[str]:
    for chunk, text in enumerate(case["context"] or ()):
        marks = [(number + 1, place) for number, place in enumerate(places) if place is not None and place[0] == chunk]
        named = in_one_line(_at(case["context_ids"], chunk) or "", 500)
        yield f"  {chunk + 1}. {named}".rstrip()
        yield text_lines(_marked(text or "", marks), indented=True)


def _marked(text: str, marks: Sequence[tuple[int, FactPlace]]) -> str:
    """Return a chunk with each fact between `[1: ` and ` :1]`, by its number."""
    events = [(end, False, number) for number, (_, _, end) in marks]
    events += [(start, True, number) for number, (_, start, _) in marks]
    pieces, done = [], 0
    for at, begins, number in sorted(events):
        pieces += [text[done:at], f"[{number}: " if begins else f" :{number}]"]
        done = at
    return "".join([*pieces, text[done:]])


def _source(details: CaseDetails) -> Iterator[str]:
    case = details.case
    made = f"made by {in_one_line(case['extractor'] or 'an unknown extractor')}, {time_of(case['created_at'])}"
    if case["source_response_id"] is None:
        yield f"  {made}, of no answer of the log"
        return
    yield f"  {made}, of the answer {in_one_line(case['source_response_id'])}"
    if details.source_event_id is None:
        yield "  the log does not have that answer any more"
        return
    words = ("dialwatch show", details.source_event_id, "--deployment", details.deployment)
    yield f"  {in_one_line(' '.join([words[0], *map(shlex.quote, words[1:])]), 1000)}"
    for signal in details.signals:
        yield from signal_lines(signal)
    folded = fold_signals([_row_of(signal) for signal in details.signals])
    if folded is not None:
        yield f"  all signals together: {folded:.4g}"


def _row_of(signal: AnswerSignal) -> dict[str, Any]:
    """Return a signal as a row, as `lake.fold_signals` takes it."""
    names = ("signal_id", "signaled_at", "signal", "value", "confidence", "origin", "user_id")
    return {name: getattr(signal, name) for name in names}


def _history(history: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for newer, older in zip(history, [*history[1:], None], strict=True):
        who = in_one_line(newer["updated_by"] or "(nobody)")
        yield f"  {newer['version']}. {time_of(newer['updated_at'])}, {who}: {_change(newer, older)}"
        if newer["note"]:
            yield text_lines(newer["note"], indented=True)


def _change(newer: Mapping[str, Any], older: Mapping[str, Any] | None) -> str:
    if older is None:
        return f"made, {in_one_line(newer['status'] or 'without a status')}"
    names = [name for name in _COMPARED if newer[name] != older[name]]
    words = [in_one_line(f"{older['status']} → {newer['status']}")] if "status" in names else []
    return ", ".join(words + [name.replace("_", " ") for name in names if name != "status"]) or "nothing but the note"


def _at(values: Sequence[Any] | None, place: int) -> Any:
    return values[place] if values is not None and place < len(values) else None


def _by(what: str | None, who: str | None, at: datetime | None) -> str:
    by = "" if who is None else f" by {who}"
    return f"{what}{by}" + ("" if at is None else f", {time_of(at)}")
