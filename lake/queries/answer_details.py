"""One answer with all that the lake knows of it: conversation, contexts, scores, signals, and the calls behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.answer_calls import MOST_CALLS, AnswerCall, answer_calls, trace_rows
from lake.queries.answer_rows import IS_ENTRY, IS_RATABLE, RATABLE_COLUMNS, add_tool_results
from lake.queries.behind_interceptors import LONGEST_CALL
from lake.queries.call_tables import CallTablesOfDays
from lake.queries.child_contexts import ChildContexts, add_late_contexts, add_late_tool_calls
from lake.queries.comments import comment_of, members_of
from lake.queries.failures import FAILURE_COLUMNS, AnswerStatus, failures_of, refusing_texts, status_of
from lake.queries.latest_rows import each_once, latest_scores
from lake.queries.ratings import (
    IS_LABEL,
    IS_RATING,
    LABEL_COLUMNS,
    RATING_COLUMNS,
    AnswerLabel,
    AnswerRating,
    labels_of,
    ratings_of,
)
from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, SignalJoin, with_namesakes
from lake.spec.called_tools import CalledTool, rows_of_calls
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TIMESTAMP
from lake.spec.vocabulary import REFUSAL, FailureKind
from lake.tables.day_reading import DayReader, RequestPeriod
from lake.tables.lake import Lake
from runtime.clocks import moved

CONVERSATION_DAYS = 7
"""How many days before an answer its conversation is read."""
MOST_TURNS = 20
"""The most turns that are given of a conversation: the last before the answer."""
_DAY = timedelta(days=1)
_NO_CHUNK: Mapping[str, Any] = dict.fromkeys(("text", "title", "url", "page", "id"))
_TURN_COLUMNS = (
    "event_id", "date", "requested_at", "ingested_at", "kind", "is_entry", "origin", "question", "answer",
)  # fmt: skip
_IDENTITY = ("event_id", "date", "response_id", "chat_id", "ingested_at")
_SIGNALED = tuple(dict.fromkeys((*JOIN_COLUMNS, *RATABLE_COLUMNS, "date", "ingested_at")))
_IN_ORDER = [("requested_at", "ascending"), ("event_id", "ascending")]


@dataclass(frozen=True)
class AnswerContext:
    """A retrieved chunk; `rank` counts from 1."""

    rank: int
    text: str
    title: str | None
    url: str | None
    page: int | None
    id: str | None


@dataclass(frozen=True)
class AnswerTurn:
    """An earlier question of the conversation and its answer."""

    date: date
    event_id: str
    requested_at: datetime
    question: str | None
    answer: str | None


@dataclass(frozen=True)
class AnswerScore:
    """A score of the answer, as in `scores`; `details` are None where there are none or they are no JSON object.

    `is_latest` is False for one that a later score of the same metric has replaced, such as one of an earlier version.
    """

    metric: str
    metric_version: str | None
    value: float | None
    reason: str | None
    judge: str | None
    details: Mapping[str, Any] | None
    direction: str | None
    low: float | None
    high: float | None
    cost: float | None
    scored_at: datetime | None
    is_backfill: bool
    is_latest: bool
    reference_match: str | None = None
    reference_similarity: float | None = None
    reference_status: str | None = None
    failed_part: str | None = None
    case_version: int | None = None


@dataclass(frozen=True)
class AnswerSignal:
    """A signal on the answer, as in `user_signals`; `comment` is what the person wrote to it."""

    signal_id: str
    signaled_at: datetime | None
    signal: str | None
    value: float | None
    confidence: float | None
    origin: str | None
    user_id: str | None
    comment: str | None
    details: Mapping[str, Any] | None


@dataclass(frozen=True)
class AnswerDetails:
    """An answer and all that belongs to it.

    `row` has every column of `parsed_logs`, null where an older version did not know it, with the raw request
    (`request_body`) and response (`assembled_response`, `response_body`). `contexts` and `contexts_origin` are those
    that were scored, and so are `tool_calls` of the row: also of the answer's own calls, if their lines came late.
    Results of tools follow the chunks. `before` is the conversation before it, the oldest turn first. `scores` are by
    metric, the latest first, `signals` by time. `calls` begin with the outermost one; with tracing off there are none,
    and of thousands `calls_left_out` are not given.
    """

    row: Mapping[str, Any]
    status: AnswerStatus
    failures: tuple[FailureKind, ...]
    rating: AnswerRating
    label: AnswerLabel
    contexts: tuple[AnswerContext, ...]
    contexts_origin: str | None
    before: tuple[AnswerTurn, ...]
    scores: tuple[AnswerScore, ...]
    signals: tuple[AnswerSignal, ...]
    calls: tuple[AnswerCall, ...]
    calls_left_out: int = 0
    tool_ms: tuple[int | None, ...] = ()
    """Milliseconds of each of the row's calls of tools, by the lines of the tools; null where none is known."""


def read_answer(
    lake: Lake, deployment: str | None, day: date, event_id: str, callees: Sequence[str | None] = ()
) -> AnswerDetails | None:
    """Read one answer by its address, which may be any row of `parsed_logs`; None where there is none.

    `callees` are the deployments whose tables are looked into for calls of the answer's trace, besides its own: late
    contexts are found there too.
    """
    first, last = moved(day, -CONVERSATION_DAYS * _DAY), moved(day, _DAY)
    logs = {name: DayReader(lake.table(PARSED_LOGS, name), first, last) for name in (deployment, *callees)}
    rows = logs[deployment].read_rows(["event_id"], [event_id], PARSED_LOGS.schema.names, [day])
    if not rows.num_rows:
        return None
    row = each_once(rows).to_pylist()[0] | {"deployment": deployment}
    trace, called = trace_rows(row, logs), list[CalledTool]()
    if len(trace) > 1:
        tables = CallTablesOfDays({call["deployment"]: logs[call["deployment"]] for call in trace}, _around(row))
        children = ChildContexts(lake, tables=tables)
        add_late_contexts(children, deployment, [row])
        add_late_tool_calls(children, deployment, [row])
        if row["tool_calls"] and (span := row["span_id"]):
            called = children.tools_of({(row["trace_id"], span): row["requested_at"]}).get((row["trace_id"], span), [])
    add_tool_results([row])
    scores = _scores(lake, row)
    signals, calls = _read_signals(lake, row, logs[deployment]), answer_calls(row, trace)
    answer = PARSED_LOGS.rows([{name: row[name] for name in (*FAILURE_COLUMNS, *JOIN_COLUMNS)}])
    named = signals.set_column(signals.column_names.index("response_id"), "response_id", _repeated(event_id, signals))
    return AnswerDetails(
        row=row,
        status=status_of(row),
        failures=failures_of(answer.select(FAILURE_COLUMNS), _refusing(row, scores))[0],
        rating=ratings_of(answer, named.filter(IS_RATING).select(RATING_COLUMNS))[0],
        label=labels_of(answer, named.filter(IS_LABEL).select(LABEL_COLUMNS))[0],
        contexts=_contexts(row["contexts"]),
        contexts_origin=row["contexts_origin"],
        before=_conversation(logs[deployment], row),
        scores=scores,
        signals=tuple(map(_signal, signals.to_pylist())),
        calls=tuple(calls[:MOST_CALLS]),
        calls_left_out=max(0, len(calls) - MOST_CALLS),
        tool_ms=tuple(one and one.duration_ms for one in rows_of_calls(row["tool_calls"] or (), called)),
    )


def read_answer_row(lake: Lake, deployment: str | None, day: date, event_id: str) -> dict[str, Any] | None:
    """Read what identifies an answer: a few columns of its row of `parsed_logs`; None where there is none."""
    logs = DayReader(lake.table(PARSED_LOGS, deployment), day, day)
    rows = each_once(logs.read_rows(["event_id"], [event_id], _IDENTITY, [day]))
    return rows.to_pylist()[0] | {"deployment": deployment} if rows.num_rows else None


def read_answer_signals(lake: Lake, deployment: str | None, day: date, event_id: str) -> tuple[AnswerSignal, ...]:
    """Read the signals on one answer, by time; none where there is no such answer."""
    logs = DayReader(lake.table(PARSED_LOGS, deployment), day, day)
    rows = each_once(logs.read_rows(["event_id"], [event_id], _SIGNALED, [day]))
    if not rows.num_rows:
        return ()
    signals = _read_signals(lake, rows.to_pylist()[0] | {"deployment": deployment}, logs)
    return tuple(map(_signal, signals.to_pylist()))


def _contexts(contexts: Sequence[Mapping[str, Any] | None] | None) -> tuple[AnswerContext, ...]:
    ranked = enumerate(contexts or (), 1)
    return tuple(
        AnswerContext(rank, one.get("text") or "", one["title"], one["url"], one["page"], one["id"])
        for rank, one in ((rank, chunk or _NO_CHUNK) for rank, chunk in ranked)
    )


def _around(row: Mapping[str, Any]) -> RequestPeriod:
    """Return the period of the calls of the row's trace, and of those that may have made them, with a margin."""
    return RequestPeriod(moved(row["requested_at"], -3 * LONGEST_CALL), moved(row["requested_at"], 3 * LONGEST_CALL))


def _conversation(logs: DayReader, row: Mapping[str, Any]) -> tuple[AnswerTurn, ...]:
    """Read the last answers before this one that people asked for in the same conversation."""
    if not row["chat_id"]:
        return ()
    until = row["requested_at"]
    period = RequestPeriod(moved(until, -CONVERSATION_DAYS * _DAY), until)
    turns = logs.read_rows(["chat_id"], [row["chat_id"]], _TURN_COLUMNS, period=period)
    earlier = ds.field("requested_at") < pa.scalar(until, TIMESTAMP)
    ordered = each_once(turns.filter(IS_ENTRY & earlier)).sort_by(_IN_ORDER)
    names = ["date", "event_id", "requested_at", "question", "answer"]
    return tuple(AnswerTurn(**turn) for turn in ordered.select(names)[-MOST_TURNS:].to_pylist())


def _scores(lake: Lake, row: Mapping[str, Any]) -> tuple[AnswerScore, ...]:
    table, at = DayReader(lake.table(SCORES, row["deployment"]), row["date"], row["date"]), row["requested_at"]
    scores = table.read_rows(["event_id"], [row["event_id"]], SCORES.schema.names, period=RequestPeriod(at, at))
    latest = set(latest_scores(scores)["score_id"].to_pylist())
    ordered = scores.sort_by([("scored_at", "descending"), ("score_id", "ascending")]).to_pylist()
    once = {score["score_id"]: score for score in reversed(ordered)}
    found = [score_of(score, score["score_id"] in latest) for score in reversed(once.values())]
    return tuple(sorted(found, key=lambda score: (score.metric, not score.is_latest)))


def _refusing(row: Mapping[str, Any], scores: Sequence[AnswerScore]) -> set[str]:
    """Return the event id of the answer where its latest score says that it refuses, and without one its text."""
    latest = [one.value for one in scores if one.metric == REFUSAL and one.is_latest and one.value is not None]
    if latest:
        return {row["event_id"]} if any(value > 0 for value in latest) else set()
    return refusing_texts([row], ())


def score_of(row: Mapping[str, Any], is_latest: bool) -> AnswerScore:
    """Return a row of `scores`."""
    names = ("metric", "metric_version", "value", "reason", "judge", "direction", "low", "high", "cost", "scored_at")
    compared = ("reference_match", "reference_similarity", "reference_status", "failed_part", "case_version")
    same = {name: row[name] for name in (*names, *compared)}
    return AnswerScore(
        details=members_of(row["details"]), is_backfill=bool(row["is_backfill"]), is_latest=is_latest, **same
    )


def _repeated(event_id: str, signals: pa.Table) -> pa.Array:
    """The row's own id in place of what the clients sent: it is known which answer they mean."""
    return pa.array([event_id] * signals.num_rows, pa.string())


def _read_signals(lake: Lake, row: Mapping[str, Any], logs: DayReader) -> pa.Table:
    """Read the signals on an answer: none is older than a day before it, as clocks and zones of time may differ.

    Another answer with the same id may be of any day.
    """
    table = DayReader(lake.table(USER_SIGNALS, row["deployment"]), moved(row["date"], -_DAY), date.max)
    ids = [one for one in (row["event_id"], row["response_id"], *(row["response_ids"] or ())) if one]
    signals = table.read_rows(["response_id"], ids, USER_SIGNALS.schema.names)
    known = ["response_id", "response_ids"], ids
    if row["status"] == 200 and not (row["response_id"] or row["response_ids"]):
        near = (ds.field("chat_id") == (row["chat_id"] or "")) | (ds.field("user_id") == (row["user_id"] or ""))
        unnamed = ds.field("response_id").is_null() & near
        signals = pa.concat_tables([signals, table.read(USER_SIGNALS.schema.names, unnamed)])
        known = ["chat_id", "user_id"], [one for one in (row["chat_id"], row["user_id"]) if one]
    if signals.num_rows:
        day = [row["date"]]
        others = logs.read_rows(known[0], known[1], _SIGNALED, day)
        own = PARSED_LOGS.rows([{name: row[name] for name in JOIN_COLUMNS}]).select(JOIN_COLUMNS)
        answers = pa.concat_tables([others.filter(IS_RATABLE).select(JOIN_COLUMNS).cast(own.schema), own])
        about, rows = signals.select(SIGNAL_JOIN_COLUMNS), signals.select(SIGNAL_JOIN_COLUMNS).to_pylist()
        until = datetime.combine(moved(row["date"], _DAY), time(), UTC)
        join = SignalJoin(with_namesakes(lake.table(PARSED_LOGS, row["deployment"]), answers, until, about), rows)
        signals = signals.filter(pa.array([join.answer_of(one) == row["event_id"] for one in rows], pa.bool_()))
    return signals.sort_by([("signaled_at", "ascending"), ("signal_id", "ascending")])


def _signal(row: Mapping[str, Any]) -> AnswerSignal:
    names = ("signal_id", "signaled_at", "signal", "value", "confidence", "origin", "user_id")
    details = members_of(row["details"])
    return AnswerSignal(comment=comment_of(details), details=details, **{name: row[name] for name in names})
