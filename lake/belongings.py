"""What of the lake is a person's, a conversation's or an answer's: the rows of the calls, and their words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.lake import Lake
from lake.schemas import PARSED_LOGS

SHORTEST_TEXT = 20
"""Characters; a shorter text is not looked for in lines that could not be read, too many others say the same."""

_ID_COLUMNS = (
    "event_id", "response_id", "response_ids", "user_id", "chat_id", "trace_id", "requested_at",
    "history_hash", "parent_history_hash",
)  # fmt: skip
_TEXT_COLUMNS = ("question", "standalone_question", "answer")
_BODIES = (*_TEXT_COLUMNS, "request_body", "assembled_response", "response_body", "extra")
_AT_ONCE = 4096


@dataclass(frozen=True)
class Subject:
    """Whose rows are meant: exactly one of the three is given, else ValueError."""

    user: str | None = None
    chat: str | None = None
    response: str | None = None

    def __post_init__(self) -> None:
        if sum(bool(given) for given in (self.user, self.chat, self.response)) != 1:
            raise ValueError("name one user, one chat or one response to erase, not none and not several")

    @property
    def id(self) -> str:
        """The given id."""
        return self.user or self.chat or self.response or ""


@dataclass
class Belongings:
    """Ids of the calls that hold the subject's words, and the words themselves."""

    subject: Subject
    event_ids: set[str] = field(default_factory=set)
    response_ids: set[str] = field(default_factory=set)
    trace_ids: set[str] = field(default_factory=set)
    chats: dict[str, datetime] = field(default_factory=dict)
    """Conversations of the subject's own calls, with the time of the first of them."""
    history_hashes: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)

    def pattern(self, shortest: int = SHORTEST_TEXT) -> re.Pattern[bytes]:
        """Match any of the ids and texts in bytes as they came: plain, and as JSON in JSON writes them."""
        ids = {self.subject.id, *self.response_ids, *self.trace_ids}
        ids |= set(self.chats) if not self.subject.response else set()
        written = {form for one in ids for form in (one, quote(one, safe=""))}
        written |= {form for text in self.texts if len(text) >= shortest for form in _written(text)}
        return re.compile(b"|".join(re.escape(one.encode("utf-8", "replace")) for one in sorted(written) if one))


def find_belongings(lake: Lake, subject: Subject) -> Belongings:
    """Find the calls that hold the subject's words.

    These are the subject's own; all calls of the same traces, since a call's prompt holds the question of its caller;
    calls of a user's chats that name no user; for an answer the later turns of its chat, whose history repeats it; and
    calls of these chats, or that follow these calls, whose bodies repeat one of the texts.
    """
    mine = Belongings(subject, response_ids={subject.response} if subject.response else set())
    _grow(lake, mine, lambda batch: _own(batch, subject))
    while _grow(lake, mine, lambda batch: _related(batch, mine)) or _grow_by_text(lake, mine):
        pass
    return mine


def _grow(lake: Lake, mine: Belongings, chosen: Any) -> bool:
    known = len(mine.event_ids)
    for deployment in lake.deployments():
        found = []
        for batch in _batches(lake, deployment, _ID_COLUMNS):
            rows = batch.filter(chosen(batch)).to_pylist()
            found += [row for row in rows if row["event_id"] not in mine.event_ids]
        _take(lake, deployment, mine, found)
    return len(mine.event_ids) > known


def _grow_by_text(lake: Lake, mine: Belongings) -> bool:
    known = len(mine.event_ids)
    near = pc.field("chat_id").isin(_strings(mine.chats))
    near |= pc.field("parent_history_hash").isin(_strings(mine.history_hashes))
    repeated = mine.pattern(shortest=1)
    for deployment in lake.deployments():
        for batch in _batches(lake, deployment, (*_ID_COLUMNS, *_BODIES), near):
            rows = [row for row in batch.to_pylist() if row["event_id"] not in mine.event_ids]
            _take(lake, deployment, mine, [row for row in rows if _says(row, repeated)])
    return len(mine.event_ids) > known


def _says(row: dict[str, Any], repeated: re.Pattern[bytes]) -> bool:
    return any(repeated.search(row[name].encode("utf-8", "replace")) for name in _BODIES if row[name])


def _own(batch: pa.RecordBatch, subject: Subject) -> pa.Array:
    if subject.user:
        return _equal(batch["user_id"], subject.user)
    if subject.chat:
        return _equal(batch["chat_id"], subject.chat)
    return pa.array([subject.response in (row["response_ids"] or ()) or row["response_id"] == subject.response
                     for row in batch.select(["response_id", "response_ids"]).to_pylist()], pa.bool_())  # fmt: skip


def _related(batch: pa.RecordBatch, mine: Belongings) -> pa.Array:
    same_trace = is_in(batch["trace_id"], mine.trace_ids)
    same_chat = is_in(batch["chat_id"], mine.chats)
    if mine.subject.user:
        return pc.or_(same_trace, pc.and_(same_chat, pc.is_null(batch["user_id"])))
    if mine.subject.chat:
        return pc.or_(same_trace, same_chat)
    rows = zip(same_chat.to_pylist(), batch["chat_id"].to_pylist(), batch["requested_at"].to_pylist(), strict=True)
    later = pa.array([same and at is not None and at >= mine.chats[chat] for same, chat, at in rows], pa.bool_())
    return pc.or_(same_trace, later)


def _take(lake: Lake, deployment: str | None, mine: Belongings, found: list[dict[str, Any]]) -> None:
    if not found:
        return
    own_chats = [row for row in found if row["chat_id"] is not None and row["requested_at"] is not None]
    for row in own_chats:
        mine.chats[row["chat_id"]] = min(row["requested_at"], mine.chats.get(row["chat_id"], row["requested_at"]))
    mine.event_ids.update(row["event_id"] for row in found)
    mine.trace_ids.update(row["trace_id"] for row in found if row["trace_id"] is not None)
    mine.history_hashes.update(row["history_hash"] for row in found if row["history_hash"] is not None)
    for row in found:
        mine.response_ids.update(one for one in (row["response_id"], *(row["response_ids"] or ())) if one)
    where = pc.field("event_id").isin(_strings(row["event_id"] for row in found))
    for batch in _batches(lake, deployment, _TEXT_COLUMNS, where):
        mine.texts.update(text for name in _TEXT_COLUMNS for text in batch[name].to_pylist() if text and text.strip())


def is_in(column: pa.Array, values: Iterable[str]) -> pa.Array:
    """Whether each cell is one of the values; a null is none of them."""
    return pc.is_in(column, _strings(values), skip_nulls=True)


def _strings(values: Iterable[str]) -> pa.Array:
    return pa.array(sorted(values), pa.string())


def _equal(column: pa.Array, value: str) -> pa.Array:
    return pc.fill_null(pc.equal(column, value), False)


def _written(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield from (text, once, json.dumps(once, ensure_ascii=ascii_only)[1:-1])


def _batches(
    lake: Lake, deployment: str | None, columns: Iterable[str], where: ds.Expression | None = None
) -> Iterator[pa.RecordBatch]:
    rows = lake.table(PARSED_LOGS, deployment).dataset()
    yield from rows.to_batches(columns=list(columns), filter=where, batch_size=_AT_ONCE)
