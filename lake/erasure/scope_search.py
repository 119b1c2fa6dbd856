"""Search for the calls of an erasure: first by ids, then by texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.delta_log.delta_log import scan
from lake.erasure.erasure_scope import ErasureScope, Subject, is_in, strings
from lake.erasure.quotations import Quotations
from lake.erasure.shared_ids import own_cases, said_by
from lake.queries.answer_lookup import AnswerAddress
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.schemas import ANCHORS, PARSED_LOGS, SCORES
from lake.tables.id_index import files_without
from lake.tables.lake import Lake

_ID_COLUMNS = (
    "event_id", "response_id", "response_ids", "user_id", "chat_id", "trace_id", "date", "requested_at",
    "history_hash", "parent_history_hash", "is_entry",
)  # fmt: skip
_TEXT_COLUMNS = ("question", "standalone_question", "answer", "reasoning")
_BODIES = (*_TEXT_COLUMNS, "request_body", "assembled_response", "response_body", "extra")
_AT_ONCE = 4096
_MOST_NAMED = 20
"""Answers of one id that an error names."""

Row = dict[str, Any]
Chosen = Callable[[pa.RecordBatch], pa.Array]


class SeveralAnswersError(ValueError):
    """The id that was given is one of several answers, and nothing was erased; `answers` are the first 20 of them."""

    def __init__(self, response_id: str, answers: list[AnswerAddress]) -> None:
        super().__init__(
            f"several answers have the id {response_id!r}: name one by its event id, or erase its user or its chat"
        )
        self.answers = answers[:_MOST_NAMED]


def find_erasure_scope(lake: Lake, subject: Subject) -> ErasureScope:
    """Find the calls that hold the subject's words; a call that names another person is followed no further.

    These are the subject's own; all calls of the same traces, since a call's prompt holds the question of its caller;
    calls of a user's chats that name no user; for an answer the later turns of its chat, whose history repeats it. Of
    what is left those that repeat one of the texts go too: calls of these chats, whoever made them; calls that
    applications made in these traces, under whatever name; and calls that continue one of these conversations
    elsewhere, if they repeat an answer of it and name nobody else; with them the calls that they made.

    Raises SeveralAnswersError for an answer's id that several answers have.
    """
    return _ScopeSearch(lake, subject).find()


class _ScopeSearch:
    """Finds the scope of one subject's erasure: first by ids, then by texts."""

    def __init__(self, lake: Lake, subject: Subject) -> None:
        self._lake = lake
        self._logs = {one: lake.table(PARSED_LOGS, one) for one in lake.deployments()}
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
        scope = self._scope
        own = self._named() if scope.subject.response else self._rows(self._is_own, {scope.subject.id})
        self._note_own(own)
        self._add(own)
        while self._add(self._rows(self._is_related, scope.trace_ids | scope.chats)):
            pass
        self._read_texts(scope.event_ids)
        if self._add(self._repeating()):
            self._add(self._rows(self._is_of_trace, scope.trace_ids))
        self._note_shared(scope.response_ids)
        self._note_replayed()
        return scope

    def _named(self) -> list[Row]:
        """Return the calls of the answer that an id names; raises SeveralAnswersError."""
        named, found = self._scope.subject.id, list[Row]()
        for deployment, batch in self._batches(_ID_COLUMNS, {named}):
            found += [row | {"deployment": deployment} for row in batch.filter(self._is_own(batch)).to_pylist()]
            if len(_answers(found)) > _MOST_NAMED:
                break
        found = [row for row in found if row["event_id"] == named] or found
        if not found:
            self._scope.event_ids |= self._scored(named)
        if len(answers := _answers(found)) > 1:
            raise SeveralAnswersError(named, answers)
        return found

    def _scored(self, named: str) -> set[str]:
        """Return the ids of an answer whose call is no longer in the log: those that its scores have."""
        found: dict[str, Row] = {}
        for deployment in self._lake.deployments():
            for spec in (SCORES, ANCHORS):
                table = self._lake.table(spec, deployment)
                where = (pc.field("response_id") == named) | (pc.field("event_id") == named)
                rows = table.read(["event_id", "date"], where).to_pylist() if table.version() is not None else ()
                found |= {row["event_id"]: row | {"deployment": deployment} for row in rows}
        if len(found) > 1 and named not in found:
            raise SeveralAnswersError(named, _addresses(found.values()))
        return found.keys() - {None} | {named}

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
            self._note_ids(row)
            scope.trace_ids |= {row["trace_id"]} - {None}
            self._history_hashes |= {row["history_hash"]} - {None}
        if new:
            scope.rounds.append(frozenset(row["event_id"] for row in new))
        return bool(new)

    def _note_ids(self, row: Row) -> None:
        scope = self._scope
        scope.event_ids.add(row["event_id"])
        scope.calls[row["deployment"]].append(row)
        scope.response_ids.update(_ids(row))

    def _note_shared(self, ids: set[str]) -> None:
        """Find which of these ids other calls have too, and what the subject said under any of them."""
        scope = self._scope
        for deployment, batch in self._batches(("event_id", "response_id", "response_ids"), ids):
            known = scope.namesakes.get(deployment, {})
            if others := _others_with(batch, ids - known.keys(), scope.event_ids):
                scope.namesakes[deployment].update(others)
        shared = ids & {one for known in scope.namesakes.values() for one in known}
        scope.shared_ids |= shared
        scope.response_ids -= shared
        if shared and not scope.said:
            said = said_by(self._lake, self._lake.deployments(), _is_one_of(scope.event_ids))
            scope.said = {pair for pairs in said.values() for pair in pairs}

    def _note_replayed(self) -> None:
        """Find the calls of replays by the traces that `replays` has of the subject's cases."""
        scope, traces, own = self._scope, set[str](), set[str]()
        # A version of an application is asked the cases of others too.
        for deployment in self._lake.deployments():
            if self._lake.table(GROUND_TRUTH, deployment).version() is not None:
                own |= own_cases(self._lake, scope, deployment).ids
        for deployment in self._lake.deployments() if own else ():
            replays = self._lake.table(REPLAYS, deployment)
            if replays.version() is not None:
                asked = replays.read(["case_id", "trace_id"])
                traces |= set(asked["trace_id"].filter(is_in(asked["case_id"], own)).to_pylist()) - {None}
        # Whoever they name: dialwatch made them itself.
        called = self._rows(lambda batch: is_in(batch["trace_id"], traces), traces) if traces else []
        called = [row for row in called if row["event_id"] not in scope.event_ids]
        scope.replayed = frozenset(row["event_id"] for row in called)
        scope.trace_ids |= traces
        for row in called:
            self._note_ids(row)
        scope.response_ids -= scope.shared_ids
        if called:
            self._read_texts(scope.replayed)
            self._note_shared(scope.response_ids & {one for row in called for one in _ids(row)})

    def _is_own(self, batch: pa.RecordBatch) -> pa.Array:
        subject = self._scope.subject
        if subject.user:
            return is_in(batch["user_id"], {subject.user})
        if subject.chat:
            return is_in(batch["chat_id"], {subject.chat})
        numbers, ids = _ids_in(batch)
        named = numbers.filter(is_in(ids, {subject.id}))
        by_id = pc.is_in(pa.array(range(batch.num_rows), numbers.type), named)
        return pc.or_(by_id, is_in(batch["event_id"], {subject.id}))

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

    def _read_texts(self, event_ids: Iterable[str]) -> None:
        wanted = set(event_ids)
        for _, batch in self._batches(_TEXT_COLUMNS, wanted, _is_one_of(wanted)):
            for name in _TEXT_COLUMNS:
                texts = {text for text in batch[name].to_pylist() if text and text.strip()}
                self._scope.texts |= texts
                self._scope.answers |= texts if name == "answer" else set()

    def _repeating(self) -> list[Row]:
        """Return the calls that repeat a text: of the chats, made in the traces, or continuing a conversation."""
        found = self._rows(
            lambda batch: pc.or_(is_in(batch["chat_id"], self._scope.chats), self._is_in_own_trace(batch)),
            self._scope.chats | self._scope.trace_ids,
        )
        found = [row for row in found if row["event_id"] not in self._scope.event_ids]
        in_chats = [row for row in found if row["chat_id"] in self._scope.chats]
        traces = {row["trace_id"] for row in in_chats} - {None}
        near = in_chats + (self._rows(lambda batch: is_in(batch["trace_id"], traces), traces) if traces else [])
        near += [row for row in found if row["is_entry"] is False and row["trace_id"] in self._scope.trace_ids]
        # The same first question is no sign of the same conversation: many open with it, and hashes say no more.
        of_texts = self._quoting(near, Quotations(self._scope.texts))
        return of_texts + self._quoting(self._continuing(), Quotations(self._scope.answers))

    def _continuing(self) -> list[Row]:
        found: list[Row] = []
        hashes = new = set(self._history_hashes)
        while new:
            found += self._rows(partial(self._continues, hashes=new), new)
            new = {row["history_hash"] for row in found} - {None} - hashes
            hashes |= new
        return found

    def _continues(self, batch: pa.RecordBatch, *, hashes: set[str]) -> pa.Array:
        return pc.and_(is_in(batch["parent_history_hash"], hashes), self._names_no_other(batch))

    def _quoting(self, rows: Iterable[Row], quotations: Quotations) -> list[Row]:
        """Return those of the rows, none that is taken already, whose bodies hold one of the quotations."""
        asked = {row["event_id"]: row for row in rows if row["event_id"] not in self._scope.event_ids}
        found = set()
        for _, batch in self._batches(("event_id", *_BODIES), asked, _is_one_of(asked)) if asked else ():
            for row in batch.to_pylist():
                if any(quotations.occur_in(row[name].encode("utf-8", "replace")) for name in _BODIES if row[name]):
                    found.add(row["event_id"])
        return [asked[event_id] for event_id in found]

    def _rows(self, chosen: Chosen, ids: Iterable[str]) -> list[Row]:
        """Return the calls that are chosen, each of which has one of the ids."""
        return [
            row | {"deployment": deployment}
            for deployment, batch in self._batches(_ID_COLUMNS, ids)
            for row in batch.filter(chosen(batch)).to_pylist()
        ]

    def _batches(
        self, columns: Iterable[str], ids: Iterable[str], where: ds.Expression | None = None
    ) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """Yield all rows that have one of the ids (`ID_COLUMNS`), and others; by the index few files are read."""
        without = files_without(self._lake, ids)
        for deployment, table in self._logs.items():
            known = without.get(deployment, frozenset())
            files = [file for file in table.live_files() if file.path not in known]
            rows = scan(table.files(), files, PARSED_LOGS.schema)
            for batch in rows.to_batches(columns=list(columns), filter=where, batch_size=_AT_ONCE):
                yield deployment, batch


def _ids(row: Row) -> set[str]:
    return {one for one in (row["response_id"], *(row["response_ids"] or ())) if one}


def _ids_in(batch: pa.RecordBatch) -> tuple[pa.Array, pa.Array]:
    """Return every id of the answers of a batch, and the number of the row that has it."""
    many, each = batch["response_ids"], pa.array(range(batch.num_rows), pa.int64())
    numbers = pa.concat_arrays([each, pc.list_parent_indices(many).cast(pa.int64())])
    return numbers, pa.concat_arrays([batch["response_id"], pc.list_flatten(many)])


def _others_with(batch: pa.RecordBatch, ids: set[str], event_ids: set[str]) -> dict[str, str]:
    """Return those of the ids that other calls than these have, each with the `event_id` of one of them."""
    numbers, found = _ids_in(batch)
    is_wanted = is_in(found, ids)
    numbers, found = numbers.filter(is_wanted), found.filter(is_wanted)
    events = batch["event_id"].take(numbers)
    is_other = pc.invert(is_in(events, event_ids))
    return dict(zip(found.filter(is_other).to_pylist(), events.filter(is_other).to_pylist(), strict=True))


def _answers(rows: Iterable[Row]) -> list[AnswerAddress]:
    """Return the answers of these calls that people saw, where there are some, once for each trace."""
    some = list(rows)
    seen = [row for row in some if row["is_entry"]] or some
    return _addresses({row["trace_id"] or row["event_id"]: row for row in seen}.values())


def _addresses(rows: Iterable[Row]) -> list[AnswerAddress]:
    return [
        AnswerAddress(
            row["deployment"],
            row["date"],
            row["event_id"],
            row.get("requested_at") or datetime.combine(row["date"] or date.min, time(), UTC),
            bool(row.get("is_entry")),
        )
        for row in rows
    ]


def _is_one_of(event_ids: Iterable[str]) -> ds.Expression:
    return pc.field("event_id").isin(strings(event_ids))
