"""Conversations of one deployment: their turns, from the last one back through the answer that each of them follows.

What was regenerated, edited or deleted is not on that way, so it is no part of a conversation. Hashes of the messages
of a request say which answer it follows. Requests of one chat are one conversation; without a chat the hashes alone
say so, among requests of one person and project.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
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

REQUEST_COLUMNS = (
    "event_id", "chat_id", "user_id", "project_id", "date", "requested_at", "ingested_at", "status", "answer_kind",
    "history_hash", "parent_history_hash", *ENTRY_COLUMNS,
)  # fmt: skip
_TEXT_COLUMNS = ("event_id", "question", "answer", "answer_kind", "status", "error", "finish_reason")

Row = Mapping[str, Any]


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


@dataclass
class _Requests:
    """Rows of requests, found by their hashes."""

    rows: dict[str, Row] = field(default_factory=dict)
    by_history: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    by_parent: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    def add(self, rows: Iterable[Row]) -> list[Row]:
        """Add rows, and return those that are new."""
        new = [row for row in {row["event_id"]: row for row in rows}.values() if row["event_id"] not in self.rows]
        for row in new:
            self.rows[row["event_id"]] = row
            self.by_history[row["history_hash"]].append(row)
            self.by_parent[row["parent_history_hash"]].append(row)
        return new

    def chain(self, last: Row) -> list[Row]:
        """Return the turns up to a last one: before each the latest request whose answer it may follow."""
        turns = [last]
        while (parent := turns[-1]["parent_history_hash"]) is not None:
            earlier = [row for row in self.by_history.get(parent, ()) if _follows(turns[-1], row)]
            if not earlier:
                break
            turns.append(max(earlier, key=_moment))
        return turns[::-1]

    def is_left(self, last: Row, turns: Sequence[Row]) -> bool:
        """Whether somebody went on from this request, asked it again, or went on from an earlier turn later."""
        again = [row for row in self.by_history.get(last["history_hash"], ()) if _is_later(row, last)]
        went_on = list(self.by_parent.get(last["history_hash"], ()))
        for turn in turns:
            # Only after a turn that is known: a greeting of the application is before every conversation.
            if self.by_history.get(turn["parent_history_hash"]):
                went_on += [row for row in self.by_parent[turn["parent_history_hash"]] if _is_later(row, last)]
        return any(_are_of_one_person(row, last) and self._has_end(row) for row in (*again, *went_on))

    def _has_end(self, row: Row) -> bool:
        """Whether a request, or one that came after it failed, may be the end of a conversation."""
        after = (one for one in self.by_parent.get(row["history_hash"], ()) if _is_later(one, row))
        return is_end(row) or any(map(self._has_end, after))


def is_end(row: Row) -> bool:
    """Whether a request may be the end of a conversation: it was answered, and not with a call of a tool."""
    return bool(row["status"] == 200 and row["answer_kind"] != AnswerKind.TOOL_CALL)


def written(row: Row) -> datetime:
    """Return when a row was written; without that, when it was asked for."""
    at: datetime = row["ingested_at"] or row["requested_at"]
    return at


def conversations(logs: Table, due: Sequence[Row]) -> Iterator[Conversation]:
    """Yield the conversations that some requests, rows with `REQUEST_COLUMNS`, are part of; each once.

    Of requests without a chat only those that end one are looked at.
    """
    with_history = [row for row in due if row["history_hash"] is not None]
    in_chats = [row for row in with_history if row["chat_id"] is not None]
    if in_chats:
        yield from _in_chats(logs, in_chats)
    alone = [row for row in with_history if row["chat_id"] is None and is_end(row)]
    if alone:
        yield from _without_chat(logs, alone)


def with_conversations(logs: Table, some: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Return answers, each with the conversation that it ends, where its row is still there."""
    if not some:
        return []
    since, ids = min(answer.date for answer in some), [answer.event_id for answer in some]
    rows = logs.read(
        REQUEST_COLUMNS, (ds.field("date") >= pa.scalar(since)) & ds.field("event_id").isin(ids)
    ).to_pylist()
    found: dict[str, Sequence[Row]] = {}
    chats = [row for row in rows if row["chat_id"] is not None]
    requests = _read_chats(logs, chats) if chats else {}
    found |= {row["event_id"]: requests[row["chat_id"]].chain(row) for row in chats}
    alone = [row for row in rows if row["chat_id"] is None]
    earlier = _read_back(logs, alone)
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


def _in_chats(logs: Table, due: Sequence[Row]) -> Iterator[Conversation]:
    for requests in _read_chats(logs, due).values():
        rows = list(requests.rows.values())
        ends = [row for row in rows if is_end(row)]
        if ends:
            yield Conversation(requests.chain(max(ends, key=_moment)), max(map(written, rows)))


def _read_chats(logs: Table, some: Sequence[Row]) -> dict[str, _Requests]:
    chats = sorted({row["chat_id"] for row in some})
    found: dict[str, _Requests] = defaultdict(_Requests)
    for row in _read(logs, some, ds.field("chat_id").isin(chats)):
        found[row["chat_id"]].add([row])
    return found


def _without_chat(logs: Table, due: Sequence[Row]) -> Iterator[Conversation]:
    requests = _read_back(logs, due)
    # What came after them, and what was asked in the place of one of them.
    hashes = _hashes(requests.rows.values(), "history_hash")
    while hashes:
        after = requests.add(_read(logs, due, _HAS_NO_CHAT & ds.field("parent_history_hash").isin(hashes)))
        hashes = _hashes([row for row in after if not is_end(row)], "history_hash")
    for row in due:
        turns = requests.chain(row)
        if not requests.is_left(row, turns):
            yield Conversation(turns, written(row))


def _read_back(logs: Table, some: Sequence[Row]) -> _Requests:
    """Read the requests that others follow, turn by turn back, and those that were asked again."""
    requests = _Requests()
    if not some:
        return requests
    new = requests.add(some)
    wanted = {*_hashes(new, "history_hash"), *_hashes(new, "parent_history_hash")}
    asked: set[str] = set()
    while wanted := wanted - asked:
        asked |= wanted
        new = requests.add(_read(logs, some, _HAS_NO_CHAT & ds.field("history_hash").isin(sorted(wanted))))
        wanted = set(_hashes(new, "parent_history_hash"))
    return requests


_HAS_NO_CHAT = ds.field("chat_id").is_null()


def _read(logs: Table, some: Sequence[Row], where: ds.Expression) -> list[dict[str, Any]]:
    """Read rows of requests that are not much older than these."""
    since = min(row["date"] for row in some) - LOOK_BACK
    return list(logs.read(REQUEST_COLUMNS, (ds.field("date") >= pa.scalar(since)) & IS_ENTRY & where).to_pylist())


def _hashes(rows: Iterable[Row], name: str) -> list[str]:
    return sorted({row[name] for row in rows} - {None})


def _follows(row: Row, earlier: Row) -> bool:
    return _moment(earlier) < _moment(row) and (row["chat_id"] is not None or _are_of_one_person(row, earlier))


def _are_of_one_person(row: Row, other: Row) -> bool:
    return all(row[name] == other[name] for name in ("user_id", "project_id"))


def _is_later(row: Row, other: Row) -> bool:
    return _moment(row) > _moment(other)


def _moment(row: Row) -> tuple[datetime, str]:
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
