"""Conversations of one deployment: their turns, from the last one back through the answer that each of them follows.

What was regenerated, edited or deleted is not on that way, so it is no part of a conversation. Hashes of the messages
of a request say which answer it follows. Requests of one chat are one conversation; without a chat the hashes alone
say so, among requests of one person and project.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers.answer import ANSWER_COLUMNS, LoggedAnswer, answers
from evaluator.metrics import Turn
from lake.queries.answer_rows import ENTRY_COLUMNS, IS_ENTRY, CaseQuestion, answer_text
from lake.spec.vocabulary import AnswerKind
from lake.tables.table import Table

LOOK_BACK = timedelta(days=2)
"""A turn that came longer before the last ones than this is no part of the conversation."""

MOST_TURNS = 100
"""So many turns of a conversation are read: the first, and the last ones."""

MOST_REQUESTS = 1_000
"""A chat with more requests than this within the time that is looked back is many conversations under one name."""

REQUEST_COLUMNS = (
    "event_id", "chat_id", "user_id", "project_id", "date", "requested_at", "ingested_at", "status", "answer_kind",
    "history_hash", "parent_history_hash", *ENTRY_COLUMNS,
)  # fmt: skip
_TEXT_COLUMNS = ("event_id", "question", "answer", "answer_kind", "status", "error", "finish_reason")

_NO_HASHES = pa.array([], pa.string())

Row = Mapping[str, Any]
_Place = tuple[str | None, ...]
_Moment = tuple[datetime, str]
_Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Conversation:
    """The rows of a conversation's turns, first turn first, without texts.

    `written` is when the last row of its chat was written, whether it is a turn or not.
    """

    turns: Sequence[Row]
    written: datetime

    @property
    def last(self) -> Row:
        """Its last turn, under which it is scored."""
        return self.turns[-1]


class _Requests:
    """Rows of requests, found by their hashes; without a chat, among those of one person and project."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = sorted({row["event_id"]: row for row in rows}.values(), key=_moment)
        self._by_history: dict[_Place, list[Row]] = defaultdict(list)
        for row in self.rows:
            self._by_history[_place(row)].append(row)

    def chain(self, last: Row) -> list[Row]:
        """Return the turns up to a last one: before each the latest request whose answer it may follow."""
        turns = [last]
        while (earlier := self._followed(turns[-1])) is not None:
            turns.append(earlier)
        return turns[::-1]

    def went_on(self, last: Row) -> bool:
        """Whether somebody went on from this request, or asked it again later."""
        asked, followed = self._ends
        return _place(last) in followed or asked.get(_place(last), _moment(last)) > _moment(last)

    def is_left(self, turns: Sequence[Row]) -> bool:
        """Whether somebody went on from a turn before the last one later than that."""
        at, (_, followed) = _moment(turns[-1]), self._ends
        # Only after a turn that is known: a greeting of the application is before every conversation.
        known = (place for place in map(_place_before, turns) if place in self._by_history)
        return any(followed.get(place, at) > at for place in known)

    def _followed(self, row: Row) -> Row | None:
        if row["parent_history_hash"] is None:
            return None
        rows = self._by_history.get(_place_before(row), [])
        earlier = bisect_left(rows, _moment(row), key=_moment)
        return rows[earlier - 1] if earlier else None

    @cached_property
    def _ends(self) -> tuple[Mapping[_Place, _Moment], Mapping[_Place, _Moment]]:
        """When the last request that is an end, or that failed before one, asked at a place, and followed one."""
        asked: dict[_Place, _Moment] = {}
        followed: dict[_Place, _Moment] = {}
        # The latest first: what came after a request is known then.
        for row in reversed(self.rows):
            if is_end(row) or _place(row) in followed:
                asked.setdefault(_place(row), _moment(row))
                followed.setdefault(_place_before(row), _moment(row))
        return asked, followed


def is_end(row: Row) -> bool:
    """Whether a request may be the end of a conversation: it was answered, and not with a call of a tool."""
    return bool(row["status"] == 200 and row["answer_kind"] != AnswerKind.TOOL_CALL)


def written(row: Row) -> datetime:
    """Return when a row was written; without that, when it was asked for."""
    at: datetime = row["ingested_at"] or row["requested_at"]
    return at


def without_busy_chats(requests: pa.Table) -> tuple[pa.Table, frozenset[str]]:
    """Leave out the requests of chats that have too many within two days, and return these chats too."""
    inside = requests.filter(pc.is_valid(requests["chat_id"])).select(["chat_id", "requested_at"])
    inside = inside.sort_by([("chat_id", "ascending"), ("requested_at", "ascending")])
    # Requests of one chat with 1,000 between them.
    first, last = inside.slice(0, max(inside.num_rows - MOST_REQUESTS, 0)), inside.slice(MOST_REQUESTS)
    is_soon = pc.less_equal(pc.subtract(last["requested_at"], first["requested_at"]), pa.scalar(LOOK_BACK))
    are_too_many = pc.and_(pc.equal(first["chat_id"], last["chat_id"]), is_soon)
    busy = first["chat_id"].filter(are_too_many).unique()
    if not len(busy):
        return requests, frozenset()
    return requests.filter(pc.invert(pc.is_in(requests["chat_id"], busy))), frozenset(busy.to_pylist())


def conversations(
    logs: Table, due: Sequence[Row], leave_out: Callable[[Collection[str]], None] = lambda _: None
) -> Iterator[Conversation]:
    """Yield the conversations that some requests, rows with `REQUEST_COLUMNS`, are part of; each once.

    Of requests without a chat only those that end one are looked at. `leave_out` is told the chats that are too busy.
    """
    with_history = [row for row in due if row["history_hash"] is not None]
    in_chats = [row for row in with_history if row["chat_id"] is not None]
    if in_chats:
        chats, busy = _read_chats(logs, in_chats)
        leave_out(busy)
        yield from _in_chats(chats.values())
    alone = [row for row in with_history if row["chat_id"] is None and is_end(row)]
    if alone:
        yield from _without_chat(logs, alone)


def with_conversations(logs: Table, some: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Return answers, each with the conversation that it ends; without those that are not known any more."""
    if not some:
        return []
    since, ids = min(answer.date for answer in some), [answer.event_id for answer in some]
    rows = logs.read(
        REQUEST_COLUMNS, (ds.field("date") >= pa.scalar(since)) & ds.field("event_id").isin(ids)
    ).to_pylist()
    found: dict[str, Sequence[Row]] = {}
    chats = [row for row in rows if row["chat_id"] is not None]
    if chats:
        requests, busy = _read_chats(logs, chats)
        # A chat may have been erased since its rows were read.
        there = requests.keys() - busy
        found |= {row["event_id"]: requests[row["chat_id"]].chain(row) for row in chats if row["chat_id"] in there}
    alone = [row for row in rows if row["chat_id"] is None]
    if alone:
        window = _Window(logs, alone)
        earlier = _Requests([*alone, *window.rows(window.before(alone))])
        found |= {row["event_id"]: earlier.chain(row) for row in alone}
    texts = _texts(logs, found.values())
    return [_with(answer, found[answer.event_id], texts) for answer in some if answer.event_id in found]


def answers_of(logs: Table, some: Sequence[Conversation]) -> list[LoggedAnswer]:
    """Return the last answers of conversations, each with its conversation."""
    found = {one.last["event_id"]: one.turns for one in some}
    days = sorted({one.last["date"] for one in some})
    rows = logs.read(ANSWER_COLUMNS, ds.field("date").isin(days) & ds.field("event_id").isin(list(found)))
    texts = _texts(logs, found.values())
    # A row may be there twice where a table was copied.
    last = {answer.event_id: answer for part in answers(rows) for answer in part}
    return [_with(answer, found[event_id], texts) for event_id, answer in last.items()]


def _in_chats(chats: Iterable[_Requests]) -> Iterator[Conversation]:
    for requests in chats:
        ends = [row for row in requests.rows if is_end(row)]
        if ends:
            yield Conversation(requests.chain(ends[-1]), max(map(written, requests.rows)))


def _read_chats(logs: Table, some: Sequence[Row]) -> tuple[dict[str, _Requests], frozenset[str]]:
    """Return the requests of the chats of some, and the chats that are too busy."""
    chats = sorted({row["chat_id"] for row in some})
    requests, busy = without_busy_chats(_read(logs, some, ds.field("chat_id").isin(chats)))
    found: dict[str, list[Row]] = defaultdict(list)
    for row in requests.to_pylist():
        found[row["chat_id"]].append(row)
    return {chat: _Requests(rows) for chat, rows in found.items()}, busy


def _without_chat(logs: Table, due: Sequence[Row]) -> Iterator[Conversation]:
    window = _Window(logs, due)
    requests = _Requests([*due, *window.rows(window.after(window.before(due)))])
    for row in due:
        if requests.went_on(row):
            continue
        turns = requests.chain(row)
        if not requests.is_left(turns):
            yield Conversation(turns, written(row))


class _Window:
    """Requests without a chat of some persons, of two days and since: read once, their hashes as numbers."""

    def __init__(self, logs: Table, some: Sequence[Row]) -> None:
        users, projects = (pa.array({row[name] for row in some}, pa.string()) for name in ("user_id", "project_id"))
        persons = ds.field("user_id").isin(users) & ds.field("project_id").isin(projects)
        self._rows = _read(logs, some, ds.field("chat_id").is_null() & persons)
        names = "history_hash", "parent_history_hash"
        hashes = pa.concat_arrays([chunk for name in names for chunk in self._rows[name].chunks] or [_NO_HASHES])
        coded = hashes.dictionary_encode()
        self._hashes = coded.dictionary
        self._histories, self._parents = (
            _Numbers(numbers) for numbers in np.split(coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), 2)
        )

    def before(self, some: Sequence[Row]) -> _Rows:
        """Say which rows these follow, turn by turn back, with those where the same was asked."""
        hashes = {row[name] for row in some for name in ("history_hash", "parent_history_hash")} - {None}
        wanted = pc.index_in(pa.array(hashes, pa.string()), self._hashes).drop_null().to_numpy()
        found = np.zeros(self._rows.num_rows, bool)
        while wanted.size:
            new = self._histories.new_rows(wanted, found)
            wanted = self._parents.of(new)
        return found

    def after(self, found: _Rows) -> _Rows:
        """Add the rows that follow these, and those that follow one that failed."""
        ends = self._are_ends()
        wanted = self._histories.of(np.flatnonzero(found))
        while wanted.size:
            new = self._parents.new_rows(wanted, found)
            wanted = self._histories.of(new[~ends[new]])
        return found

    def rows(self, found: _Rows) -> list[Row]:
        """Return rows of the window."""
        return list(self._rows.filter(pa.array(found)).to_pylist())

    def _are_ends(self) -> _Rows:
        """Return for each row whether it may be the end of a conversation, as `is_end`; shape (rows,)."""
        answered = pc.fill_null(pc.equal(self._rows["status"], 200), False)
        no_call = pc.fill_null(pc.not_equal(self._rows["answer_kind"], AnswerKind.TOOL_CALL), True)
        ends: _Rows = pc.and_(answered, no_call).to_numpy()
        return ends


class _Numbers:
    """A column of numbers, whose rows are found by them; -1 is none."""

    def __init__(self, numbers: npt.NDArray[np.int64]) -> None:
        self._numbers = numbers
        self._order = np.argsort(numbers, kind="stable")
        self._sorted = numbers[self._order]

    def of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the numbers of rows, each once."""
        numbers: npt.NDArray[np.int64] = np.unique(self._numbers[rows])
        return numbers[numbers >= 0]

    def new_rows(self, wanted: npt.NDArray[np.int64], found: _Rows) -> npt.NDArray[np.int64]:
        """Return the rows with these numbers that were not found before, and note them as found."""
        begin, end = (np.searchsorted(self._sorted, wanted, side) for side in ("left", "right"))
        rows = np.concatenate([self._order[first:last] for first, last in zip(begin, end, strict=True)])
        new: npt.NDArray[np.int64] = rows[~found[rows]]
        found[new] = True
        return new


def _read(logs: Table, some: Sequence[Row], where: ds.Expression) -> pa.Table:
    """Read rows of requests that are not much older than these."""
    since = min(row["date"] for row in some) - LOOK_BACK
    return logs.read(REQUEST_COLUMNS, (ds.field("date") >= pa.scalar(since)) & IS_ENTRY & where)


def _place(row: Row) -> _Place:
    """Where a request stands: among those that asked the same."""
    return row["history_hash"], *_person(row)


def _place_before(row: Row) -> _Place:
    """Where the request stands that this one follows."""
    return row["parent_history_hash"], *_person(row)


def _person(row: Row) -> tuple[str | None, ...]:
    return () if row["chat_id"] is not None else (row["user_id"], row["project_id"])


def _moment(row: Row) -> _Moment:
    return row["requested_at"], row["event_id"]


def _read_turns(turns: Sequence[Row]) -> Sequence[Row]:
    return turns if len(turns) <= MOST_TURNS else [turns[0], *turns[1 - MOST_TURNS :]]


def _texts(logs: Table, chains: Collection[Sequence[Row]]) -> dict[str, Turn]:
    rows = [row for turns in chains for row in _read_turns(turns)]
    if not rows:
        return {}
    days, ids = sorted({row["date"] for row in rows}), sorted({row["event_id"] for row in rows})
    read = logs.read(_TEXT_COLUMNS, ds.field("date").isin(days) & ds.field("event_id").isin(ids))
    return {
        row["event_id"]: Turn(row["question"], answer_text(row) if row["status"] == 200 else None)
        for row in read.to_pylist()
    }


def _with(answer: LoggedAnswer, turns: Sequence[Row], texts: Mapping[str, Turn]) -> LoggedAnswer:
    """Return an answer with its conversation; its question is all that the user said in it."""
    said = [texts[row["event_id"]] for row in _read_turns(turns) if row["event_id"] in texts]
    question = "\n".join(turn.question for turn in said if turn.question) or None
    asked = None if question is None else CaseQuestion(question)
    return replace(answer, conversation=said, question=question, case_question=asked)
