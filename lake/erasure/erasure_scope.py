"""Scope of an erasure: the calls that are a person's, a conversation's or an answer's, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.case_tables import GROUND_TRUTH, REPLAYS
from lake.erasure.quotations import Quotations
from lake.schemas import PARSED_LOGS
from lake.tables.lake import Lake

_ID_COLUMNS = (
    "event_id", "response_id", "response_ids", "user_id", "chat_id", "trace_id", "requested_at",
    "history_hash", "parent_history_hash", "is_entry",
)  # fmt: skip
_TEXT_COLUMNS = ("question", "standalone_question", "answer", "reasoning")
_BODIES = (*_TEXT_COLUMNS, "request_body", "assembled_response", "response_body", "extra")
_AT_ONCE = 4096

Row = dict[str, Any]
Chosen = Callable[[pa.RecordBatch], pa.Array]


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
class ErasureScope:
    """Ids of the calls that hold the subject's words, and the words themselves."""

    subject: Subject
    rounds: list[frozenset[str]] = field(default_factory=list)
    """Ids of the calls (`event_id`): first the subject's own, then those found through the round before."""
    replayed: frozenset[str] = frozenset()
    """Ids of calls that asked the subject's cases of ground truth again, and of the calls behind them."""
    event_ids: set[str] = field(default_factory=set)
    response_ids: set[str] = field(default_factory=set)
    trace_ids: set[str] = field(default_factory=set)
    chats: set[str] = field(default_factory=set)
    """Conversations of the subject's own calls."""
    texts: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    """Those of the texts that are answers."""

    @cached_property
    def in_lines(self) -> Quotations:
        """Ids and texts as they stand in lines that could not be read; for when all is found."""
        ids = {self.subject.id, *self.response_ids, *self.trace_ids}
        return Quotations(self.texts, ids if self.subject.response else ids | self.chats)


def find_erasure_scope(lake: Lake, subject: Subject) -> ErasureScope:
    """Find the calls that hold the subject's words; a call that names another person is followed no further.

    These are the subject's own; all calls of the same traces, since a call's prompt holds the question of its caller;
    calls of a user's chats that name no user; for an answer the later turns of its chat, whose history repeats it. Of
    what is left those that repeat one of the texts go too: calls of these chats, whoever made them; calls that
    applications made in these traces, under whatever name; and calls that continue one of these conversations
    elsewhere, if they repeat an answer of it and name nobody else; with them the calls that they made.
    """
    return _ScopeSearch(lake, subject).find()


class _ScopeSearch:
    """Finds the scope of one subject's erasure: first by ids, then by texts."""

    def __init__(self, lake: Lake, subject: Subject) -> None:
        self._lake = lake
        self._scope = ErasureScope(
            subject,
            response_ids={subject.response} if subject.response else set(),
            chats={subject.chat} if subject.chat else set(),
        )
        self._people = {subject.user} if subject.user else set()
        self._history_hashes: set[str] = set()
        self._since: dict[str, datetime] = {}
        """When the answer, or the first of it, came in its chats."""

    def find(self) -> ErasureScope:
        own = self._rows(self._is_own)
        self._note_own(own)
        self._add(own)
        while self._add(self._rows(self._is_related)):
            pass
        self._note_replayed()
        self._read_texts()
        self._add(self._repeating())
        self._add(self._rows(self._is_of_trace))
        return self._scope

    def _note_own(self, own: Iterable[Row]) -> None:
        for row in own:
            chat, at = row["chat_id"], row["requested_at"]
            self._people |= {row["user_id"]} - {None}
            if chat is not None and at is not None:
                self._scope.chats.add(chat)
                self._since[chat] = min(at, self._since.get(chat, at))

    def _add(self, rows: Iterable[Row]) -> bool:
        scope = self._scope
        new = [row for row in rows if row["event_id"] not in scope.event_ids]
        for row in new:
            scope.event_ids.add(row["event_id"])
            scope.response_ids.update(one for one in (row["response_id"], *(row["response_ids"] or ())) if one)
            scope.trace_ids |= {row["trace_id"]} - {None}
            self._history_hashes |= {row["history_hash"]} - {None}
        if new:
            scope.rounds.append(frozenset(row["event_id"] for row in new))
        return bool(new)

    def _note_replayed(self) -> None:
        """Find the calls of replays by the traces that `replays` has of the subject's cases."""
        scope, traces = self._scope, set[str]()
        for deployment in self._lake.deployments():
            truth, replays = self._lake.table(GROUND_TRUTH, deployment), self._lake.table(REPLAYS, deployment)
            if truth.version() is None or replays.version() is None:
                continue
            cases = truth.read(["case_id", "source_response_id"])
            of_person = is_in(cases["source_response_id"], scope.response_ids | scope.event_ids)
            own = set(cases["case_id"].filter(of_person).to_pylist())
            asked = replays.read(["case_id", "trace_id"])
            traces |= set(asked["trace_id"].filter(is_in(asked["case_id"], own)).to_pylist()) - {None}
        # Whoever they name: dialwatch made them itself.
        called = self._rows(lambda batch: is_in(batch["trace_id"], traces)) if traces else []
        scope.replayed = frozenset(row["event_id"] for row in called) - scope.event_ids
        scope.event_ids |= scope.replayed
        scope.trace_ids |= traces
        scope.response_ids.update(
            one for row in called for one in (row["response_id"], *(row["response_ids"] or ())) if one
        )

    def _is_own(self, batch: pa.RecordBatch) -> pa.Array:
        subject = self._scope.subject
        if subject.user:
            return is_in(batch["user_id"], {subject.user})
        if subject.chat:
            return is_in(batch["chat_id"], {subject.chat})
        return pa.array([subject.response in (row["response_ids"] or ()) or row["response_id"] == subject.response
                         for row in batch.select(["response_id", "response_ids"]).to_pylist()], pa.bool_())  # fmt: skip

    def _is_related(self, batch: pa.RecordBatch) -> pa.Array:
        in_chat = is_in(batch["chat_id"], self._scope.chats)
        if self._scope.subject.response:
            rows = zip(batch["chat_id"].to_pylist(), batch["requested_at"].to_pylist(), strict=True)
            later = [chat in self._since and at is not None and at >= self._since[chat] for chat, at in rows]
            in_chat = pa.array(later, pa.bool_())
        return pc.or_(self._is_of_trace(batch), pc.and_(in_chat, self._names_no_other(batch)))

    def _is_of_trace(self, batch: pa.RecordBatch) -> pa.Array:
        return pc.and_(self._is_in_own_trace(batch), self._names_no_other(batch))

    def _is_in_own_trace(self, batch: pa.RecordBatch) -> pa.Array:
        return is_in(batch["trace_id"], self._scope.trace_ids)

    def _names_no_other(self, batch: pa.RecordBatch) -> pa.Array:
        return pc.or_(pc.is_null(batch["user_id"]), is_in(batch["user_id"], self._people))

    def _read_texts(self) -> None:
        for batch in self._batches(_TEXT_COLUMNS, _is_one_of(self._scope.event_ids)):
            for name in _TEXT_COLUMNS:
                texts = {text for text in batch[name].to_pylist() if text and text.strip()}
                self._scope.texts |= texts
                self._scope.answers |= texts if name == "answer" else set()

    def _repeating(self) -> list[Row]:
        """Give the calls that repeat a text: of the chats, made in the traces, or continuing a conversation."""
        in_chats = self._rows(lambda batch: is_in(batch["chat_id"], self._scope.chats))
        in_chats = [row for row in in_chats if row["event_id"] not in self._scope.event_ids]
        traces = {row["trace_id"] for row in in_chats} - {None}
        near = in_chats + self._rows(lambda batch: is_in(batch["trace_id"], traces))
        near += [row for row in self._rows(self._is_in_own_trace) if row["is_entry"] is False]
        # The same first question is no sign of the same conversation: many open with it, and hashes say no more.
        of_texts = self._quoting(near, Quotations(self._scope.texts))
        return of_texts + self._quoting(self._continuing(), Quotations(self._scope.answers))

    def _continuing(self) -> list[Row]:
        found: list[Row] = []
        hashes = new = set(self._history_hashes)
        while new:
            found += self._rows(partial(self._continues, hashes=new))
            new = {row["history_hash"] for row in found} - {None} - hashes
            hashes |= new
        return found

    def _continues(self, batch: pa.RecordBatch, *, hashes: set[str]) -> pa.Array:
        return pc.and_(is_in(batch["parent_history_hash"], hashes), self._names_no_other(batch))

    def _quoting(self, rows: Iterable[Row], quotations: Quotations) -> list[Row]:
        """Give those of the rows, none that is taken already, whose bodies hold one of the quotations."""
        asked = {row["event_id"]: row for row in rows if row["event_id"] not in self._scope.event_ids}
        found = set()
        for batch in self._batches(("event_id", *_BODIES), _is_one_of(asked)) if asked else ():
            for row in batch.to_pylist():
                if any(quotations.occur_in(row[name].encode("utf-8", "replace")) for name in _BODIES if row[name]):
                    found.add(row["event_id"])
        return [asked[event_id] for event_id in found]

    def _rows(self, chosen: Chosen) -> list[Row]:
        return [row for batch in self._batches(_ID_COLUMNS) for row in batch.filter(chosen(batch)).to_pylist()]

    def _batches(self, columns: Iterable[str], where: ds.Expression | None = None) -> Iterator[pa.RecordBatch]:
        for deployment in self._lake.deployments():
            rows = self._lake.table(PARSED_LOGS, deployment).dataset()
            yield from rows.to_batches(columns=list(columns), filter=where, batch_size=_AT_ONCE)


def is_in(column: pa.Array, values: Iterable[str]) -> pa.Array:
    """Whether each cell is one of the values; a null is none of them."""
    return pc.is_in(column, _strings(values), skip_nulls=True)


def _is_one_of(event_ids: Iterable[str]) -> ds.Expression:
    return pc.field("event_id").isin(_strings(event_ids))


def _strings(values: Iterable[str]) -> pa.Array:
    return pa.array(sorted(values), pa.string())
