"""Sample of the answers of a period with the calls that each made, a day at a time: memory follows one day's sample."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import IS_ENTRY
from lake.queries.behind_interceptors import LONGEST_CALL
from lake.queries.latest_rows import each_once
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.day_reading import DayReader, RequestPeriod, map_at_once, within
from lake.tables.lake import Lake

_FOUND = ("event_id", "requested_at", "ingested_at", "chat_id")
_ENTRY = (
    "event_id", "requested_at", "ingested_at", "status", "error", "duration_ms", "user_id", "user_title", "project_id",
    "client", "chat_id", "trace_id", "model", "prompt_tokens", "completion_tokens", "question", "contexts",
    "contexts_origin", "finish_reason", "message_count", "request_body",
)  # fmt: skip
_CALL = (
    "event_id", "requested_at", "ingested_at", "kind", "status", "model", "trace_id", "is_entry", "contexts",
    "contexts_origin", "request_body",
)  # fmt: skip
_REQUEST = ("event_id", "requested_at", "ingested_at", "trace_id", "request_body")
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class SampledAnswer:
    """An answer that a person asked for: its row of `parsed_logs`, and those of the calls of its trace.

    A call has its table's name as `deployment`. `segment` is that of a score of the answer, None where it has none.
    """

    row: dict[str, Any]
    calls: Sequence[dict[str, Any]]
    segment: str | None


def callers(
    lake: Lake, deployments: Sequence[str | None], since: datetime, until: datetime
) -> dict[str | None, frozenset[str]]:
    """Return for each of these deployments the other ones that called it within a period, where there are any."""
    where = ds.field("parent_deployment").is_valid() & within("requested_at", since, until)
    period = RequestPeriod(since, until)

    def of_one(name: str | None) -> frozenset[str]:
        reader = DayReader(lake.table(PARSED_LOGS, name), since.astimezone(UTC).date(), until.astimezone(UTC).date())
        rows = reader.read(["parent_deployment"], where, period=period)
        return frozenset(rows["parent_deployment"].unique().to_pylist()) - {name}

    found = dict(zip(deployments, map_at_once(lake.root, of_one, deployments), strict=True))
    return {name: names for name, names in found.items() if names}


def sampled_answers(
    lake: Lake, deployment: str, since: datetime, until: datetime, most: int, callees: Sequence[str | None]
) -> Iterator[SampledAnswer]:
    """Yield answers from `since` on and before `until`, of each UTC day at most `most`.

    Whole conversations are left out, by a hash of their ids: the same ones at each reading. Calls are looked for in the
    tables of `callees`, those of the answer's trace.
    """
    # A call of an answer before midnight may come after it.
    first, last = since.astimezone(UTC).date(), until.astimezone(UTC).date()
    logs = DayReader(lake.table(PARSED_LOGS, deployment), first, last)
    scores = DayReader(lake.table(SCORES, deployment), first, last)
    called = {name: DayReader(lake.table(PARSED_LOGS, name), first, last + _DAY) for name in callees}
    where = IS_ENTRY & within("requested_at", since, until)
    for day in sorted(logs.days()):
        found = each_once(logs.read(_FOUND, where, [day], RequestPeriod(since, until)))
        ids = _sampled(found, most)
        if not ids:
            continue
        asked = pc.min_max(found["requested_at"]).as_py()
        period = RequestPeriod(asked["min"], asked["max"])
        rows = each_once(logs.read_rows(["event_id"], ids, _ENTRY, [day], period)).sort_by("requested_at").to_pylist()
        traces = {row["trace_id"] for row in rows if row["trace_id"]}
        calls = _calls(called, traces, RequestPeriod(asked["min"], asked["max"] + LONGEST_CALL))
        scored = scores.read_rows(["event_id"], ids, ("event_id", "segment"), [day], period)
        segments = dict(zip(scored["event_id"].to_pylist(), scored["segment"].to_pylist(), strict=True))
        for row in rows:
            yield SampledAnswer(row, calls.get(row["trace_id"], ()), segments.get(row["event_id"]))


def request_of_answer(lake: Lake, deployment: str, day: date, event_id: str, callee: str) -> str | None:
    """Return the logged request of an answer, or of the last call of its trace to `callee`, where that is another."""
    logs = DayReader(lake.table(PARSED_LOGS, deployment), day, day)
    rows = each_once(logs.read_rows(["event_id"], [event_id], _REQUEST, [day])).to_pylist()
    if not rows or callee == deployment:
        return rows[0]["request_body"] if rows else None
    asked = rows[0]["requested_at"]
    if not rows[0]["trace_id"]:
        return None
    called = DayReader(lake.table(PARSED_LOGS, callee), day, day + _DAY)
    period = RequestPeriod(asked, asked + LONGEST_CALL)
    calls = each_once(called.read_rows(["trace_id"], [rows[0]["trace_id"]], _REQUEST, period=period)).to_pylist()
    last = max(calls, key=lambda one: (one["requested_at"], one["event_id"]), default=None)
    return None if last is None else last["request_body"]


def _sampled(rows: pa.Table, most: int) -> list[str]:
    """Return the ids of the answers of the conversations with the lowest hashes."""
    of_conversation: dict[str, list[str]] = defaultdict(list)
    for event_id, chat_id in zip(rows["event_id"].to_pylist(), rows["chat_id"].to_pylist(), strict=True):
        if event_id is None:
            continue
        of_conversation[chat_id or event_id].append(event_id)
    ids: list[str] = []
    for name in sorted(of_conversation, key=lambda one: hashlib.sha256(one.encode()).digest()):
        ids += of_conversation[name]
        if len(ids) >= most:
            break
    return sorted(ids[:most])


def _calls(
    called: dict[str | None, DayReader], traces: set[str], period: RequestPeriod
) -> dict[str | None, list[dict[str, Any]]]:
    found: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    if not traces:
        return found
    days = {period.since.date(), period.until.date()}
    for name, reader in called.items():
        for row in each_once(reader.read_rows(["trace_id"], traces, _CALL, days, period)).to_pylist():
            if not row["is_entry"]:
                found[row["trace_id"]].append(row | {"deployment": name})
    for calls in found.values():
        calls.sort(key=lambda one: (one["requested_at"], one["event_id"]))
    return found
