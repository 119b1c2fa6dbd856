"""Signals joined with the answers that they are about.

Clients name an answer by an id that need not be unique: some gateways send one word for all answers, some counters
begin anew with each stream. Where several answers have the id of a signal, its conversation, its person and the time
decide; where these do not, the signal is joined with none.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import IS_RATABLE, RATABLE_COLUMNS
from lake.queries.comments import members_of
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.table_spec import TIMESTAMP
from lake.spec.vocabulary import Signal, SignalOrigin
from lake.tables.day_reading import DayReader
from lake.tables.open_tables import TableSource
from lake.tables.table import Table
from runtime.clocks import moved

JOIN_COLUMNS = ("event_id", "response_id", "response_ids", "chat_id", "user_id", "requested_at")
"""Columns of `parsed_logs` by which signals are joined."""
SIGNAL_JOIN_COLUMNS = ("response_id", "signaled_at", "user_id", "chat_id", "origin", "details")
"""Columns of `user_signals` by which they are joined."""
_READ = tuple(dict.fromkeys((*JOIN_COLUMNS, *RATABLE_COLUMNS)))
_order = attrgetter("requested_at", "event_id")
_JOINED = pa.schema([PARSED_LOGS.schema.field(name).remove_metadata() for name in JOIN_COLUMNS])
_DAY = timedelta(days=1)
_DAYS_BEFORE = 7
"""How many days before the first of some signals are searched for their answers, before the whole log is."""
_DAYS_AT_ONCE = 16
_IS_LABEL_OR_UNREADABLE = ds.field("origin").isin([SignalOrigin.LABEL]) | ds.field("signal").isin([Signal.UNREADABLE])


class UnjoinedReason(StrEnum):
    """Why a signal is joined with no answer.

    - `unknown_id`: no answer of the log has its id: its line has not come yet, or retention has removed it.
    - `shared_id`: several answers have its id, and none of them that was asked for before is of its conversation or
      person.
    - `no_id`: it has no id, and no answer without one that was asked for before is of its conversation or person.
    """

    UNKNOWN_ID = "unknown_id"
    SHARED_ID = "shared_id"
    NO_ID = "no_id"


class _Answer(NamedTuple):
    requested_at: datetime
    event_id: str
    chat_id: str | None
    user_id: str | None


class SignalJoin:
    """Finds the answer that a signal is about, among all answers that may have its id.

    1. A signal that dialwatch or a person who judges answers made names the row of its answer (`details.event_id`).
    2. An id that one answer alone has names it.
    3. Of several answers with the id, and of those without any id for a signal without one, it is the latest that was
       asked for before the signal in the same conversation, by the same person as far as both are known; where one
       of both has no conversation, by the same person.
    """

    def __init__(self, answers: pa.Table, signals: Sequence[Mapping[str, Any]]) -> None:
        """`answers` have `JOIN_COLUMNS`, `signals` `SIGNAL_JOIN_COLUMNS`."""
        pairs = _pairs(answers, signals)
        events = pairs.group_by("id").aggregate([("event_id", "count_distinct"), ("event_id", "min")])
        is_one = pc.equal(events["event_id_count_distinct"], 1)
        unique = events.filter(is_one)
        self._unique: dict[str | None, str] = dict(
            zip(unique["id"].to_pylist(), unique["event_id_min"].to_pylist(), strict=True)
        )
        several = events["id"].filter(pc.invert(is_one)).combine_chunks()
        self._several: set[str | None] = set(several.to_pylist())
        shared = pairs.filter(pc.is_in(pairs["id"], several))
        self._near = _NearAnswers(answers, shared, signals)

    def answer_of(self, signal: Mapping[str, Any]) -> str | None:
        """Return the `event_id` of the answer; None where it is not there, or not known which one it is."""
        named, response_id = _named(signal), signal["response_id"]
        if named is not None:
            return named
        if response_id in self._unique:
            return self._unique[response_id]
        latest = self._near.latest(signal)
        return None if latest is None else latest.event_id

    def is_unique(self, response_id: str | None) -> bool:
        """Whether one answer alone has this id, of those that a signal has."""
        return response_id in self._unique

    def unjoined(self, signal: Mapping[str, Any]) -> UnjoinedReason | None:
        """Say why a signal is joined with no answer; None where it is joined."""
        if self.answer_of(signal) is not None:
            return None
        if signal["response_id"] is None:
            return UnjoinedReason.NO_ID
        return UnjoinedReason.SHARED_ID if signal["response_id"] in self._several else UnjoinedReason.UNKNOWN_ID


def signals_by_answer(
    answers: pa.Table, signals: pa.Table, known: pa.Table | None = None
) -> Mapping[int, Sequence[Mapping[str, Any]]]:
    """Return the signals on each answer, by its number in the table; answers without one are absent.

    `answers` and `known` have `JOIN_COLUMNS`; `known` are all answers that may have the signals' ids, by default these.
    """
    rows = signals.to_pylist()
    if not rows:
        return {}
    join = SignalJoin(answers if known is None else known, rows)
    by_event: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        event_id = join.answer_of(row)
        if event_id is not None:
            by_event[event_id].append(row)
    have_some = pc.is_in(answers["event_id"], pa.array(by_event, pa.string()))
    numbers = pa.array(range(answers.num_rows), pa.int64()).filter(have_some.combine_chunks())
    return {number: by_event[answers["event_id"][number].as_py()] for number in numbers.to_pylist()}


def count_unjoined(lake: TableSource, deployment: str | None, since: date) -> tuple[Counter[UnjoinedReason], int]:
    """Count the signals since a day that are joined with no answer, by reason, and all that could be joined.

    Labels, which name the row of their answer, and ratings that cannot be read are not among them.
    """
    table = DayReader(lake.table(USER_SIGNALS, deployment), since, date.max)
    signals = table.read(SIGNAL_JOIN_COLUMNS, ~_IS_LABEL_OR_UNREADABLE)
    rows = signals.to_pylist()
    if not rows:
        return Counter(), 0
    join = SignalJoin(read_signaled(lake.table(PARSED_LOGS, deployment), signals), rows)
    reasons = map(join.unjoined, rows)
    return Counter(one for one in reasons if one is not None), len(rows)


def read_signaled(logs: Table, signals: pa.Table) -> pa.Table:
    """Read the answers (`JOIN_COLUMNS`) that decide which one each of `signals` (`SIGNAL_JOIN_COLUMNS`) is about.

    Of the whole log the ids are read only where no answer near in time can be meant, or one alone has the id that is
    of another conversation or person.
    """
    times = pc.min_max(signals["signaled_at"]).as_py()
    if times["min"] is None:
        times = dict.fromkeys(times, datetime.now(UTC))
    days = {name: at.astimezone(UTC).date() for name, at in times.items()}
    first = moved(days["min"], -_DAYS_BEFORE * _DAY)
    rows = signals.to_pylist()
    found = _read_about(DayReader(logs, first, days["max"]), rows, IS_RATABLE)
    left = rows
    # An answer that is read for its id may have another one, which is then no longer that of one answer alone.
    while unjoined := _may_be_elsewhere(found, left):
        found = pa.concat_tables([found, _read_about(DayReader(logs, date.min, date.max), unjoined, IS_RATABLE)])
        searched = set(map(id, unjoined))
        left = [one for one in left if id(one) not in searched]
    until = datetime.combine(days["max"], time.max, UTC)
    return with_namesakes(logs, found, until, signals)


def read_answer_times(logs: Table, signals: pa.Table) -> list[datetime | None]:
    """Return when the answer of each of `signals` (`SIGNAL_JOIN_COLUMNS`) was asked for.

    None where that is not known, or earlier than the seven days before the first signal.
    """
    times = pc.min_max(signals["signaled_at"]).as_py()
    if times["min"] is None:
        return [None] * signals.num_rows
    first, last = (times[name].astimezone(UTC).date() for name in ("min", "max"))
    rows = signals.to_pylist()
    answers = _read_about(DayReader(logs, moved(first, -_DAYS_BEFORE * _DAY), last), rows, IS_RATABLE)
    join = SignalJoin(answers, rows)
    asked_at = dict(zip(answers["event_id"].to_pylist(), answers["requested_at"].to_pylist(), strict=True))
    return [asked_at.get(join.answer_of(one)) for one in rows]


def _may_be_elsewhere(answers: pa.Table, signals: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the signals that are joined with none of these answers and may be with others."""
    join = SignalJoin(answers, signals)
    # One that names neither conversation nor person is about none of several, however many there are.
    return [
        one
        for one in signals
        if (reason := join.unjoined(one)) is not None
        and (reason is UnjoinedReason.UNKNOWN_ID or one["chat_id"] is not None or one["user_id"] is not None)
    ]


def with_namesakes(
    logs: Table, answers: pa.Table, until: datetime, signals: pa.Table, where: ds.Expression | None = IS_RATABLE
) -> pa.Table:
    """Add to answers (`JOIN_COLUMNS`) those without which it is not known which of `signals` are about them.

    `answers` are all of a period, of those that `where` lets through, whose ids the signals have, up to `until`. If an
    answer agrees with a signal in conversation and person, only a later one can be meant in its place: the days from
    the period to the signal are read. If none agrees, the one that has the id is meant unless another has it too: the
    ids of the whole log are read.
    """
    rows = _uncertain(answers, until, signals).to_pylist()
    if not rows:
        return answers
    pairs = _pairs(answers, rows)
    near = _NearAnswers(answers, pairs, rows)
    agreeing = [one for one in rows if near.latest(one) is not None]
    late = [one for one in agreeing if one["signaled_at"] is not None and one["signaled_at"] >= until]
    known = [answers]
    if late:
        latest = max(one["signaled_at"] for one in late)
        days = DayReader(logs, until.astimezone(UTC).date(), latest.astimezone(UTC).date())
        known.append(_read_about(days, late, where))
    join, found = SignalJoin(answers, rows), {id(one) for one in agreeing}
    lone = [one for one in rows if id(one) not in found and join.is_unique(one["response_id"])]
    if lone:
        known.append(_read_about(DayReader(logs, date.min, date.max), lone, where))
    return pa.concat_tables(known)


def latest_of_each_person(rows: Iterable[Mapping[str, Any]]) -> dict[str | None, str]:
    """Return what each person said last (`signal`); all that name nobody are one person."""
    ordered = sorted(rows, key=lambda row: (row["signaled_at"] is not None, row["signaled_at"], row["signal_id"] or ""))
    return {row["user_id"]: row["signal"] for row in ordered}


def _ids(answers: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Return every id of every answer, and the number of the answer that has it."""
    many = answers["response_ids"].combine_chunks()
    each = pa.array(range(answers.num_rows), pa.int64())
    single = [answers[name].combine_chunks() for name in ("response_id", "event_id")]
    return pa.concat_arrays([pc.list_parent_indices(many), each, each]), pa.concat_arrays(
        [pc.list_flatten(many), *single]
    )


def _pairs(answers: pa.Table, signals: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return the ids that signals have, null too, with the number and `event_id` of each answer that has them."""
    wanted = pa.array({one["response_id"] for one in signals} - {None}, pa.string())
    numbers, ids = _ids(answers)
    some = pc.is_in(ids, wanted)
    pairs = pa.table({"id": ids.filter(some), "number": numbers.filter(some)})
    return pairs.append_column("event_id", answers["event_id"].take(pairs["number"]))


def _without_id(answers: pa.Table) -> pa.Table:
    has_none = pc.less(pc.fill_null(pc.list_value_length(answers["response_ids"]), 0), 1)
    numbers = pa.array(range(answers.num_rows), pa.int64())
    numbers = numbers.filter(pc.and_(has_none, pc.is_null(answers["response_id"])).combine_chunks())
    return pa.table({"id": pa.nulls(len(numbers), pa.string()), "number": numbers})


class _NearAnswers:
    """Answers with an id of some signals that have the conversation or the person of one of them.

    Where a signal has no id, those without one are among them. The others stay in Arrow.
    """

    def __init__(self, answers: pa.Table, pairs: pa.Table, signals: Sequence[Mapping[str, Any]]) -> None:
        """`pairs` are ids, each with the number of an answer that has it."""
        self._by_place: dict[tuple[str | None, str, str | None], list[_Answer]] = defaultdict(list)
        some = pairs.select(["id", "number"])
        if any(one["response_id"] is None for one in signals):
            some = pa.concat_tables([some, _without_id(answers)])
        rows = answers.select(["requested_at", *_Answer._fields[1:]]).take(some["number"])
        rows = rows.append_column("id", some["id"]).filter(_is_near(signals) & ds.field("requested_at").is_valid())
        for row in rows.to_pylist():
            named, answer = row.pop("id"), _Answer(**row)
            self._by_place[named, "chat_id", answer.chat_id].append(answer)
            self._by_place[named, "user_id", answer.user_id].append(answer)

        for some in self._by_place.values():
            some.sort(key=_order)

    def latest(self, signal: Mapping[str, Any]) -> _Answer | None:
        """Return the latest that was asked for before a signal, and agrees with it."""
        places = [(signal["response_id"], name, signal[name]) for name in ("chat_id", "user_id")]
        found = (self._latest_of(self._by_place.get(place, ()), signal) for place in places if place[-1] is not None)
        return max(filter(None, found), key=_order, default=None)

    def _latest_of(self, some: Sequence[_Answer], signal: Mapping[str, Any]) -> _Answer | None:
        at = signal["signaled_at"]
        end = len(some) if at is None else bisect_right(some, at, key=attrgetter("requested_at"))
        return next((one for one in (some[place] for place in range(end - 1, -1, -1)) if _agrees(one, signal)), None)


def _is_near(signals: Sequence[Mapping[str, Any]]) -> ds.Expression:
    """Say which answers have the conversation of a signal, or the person where one of both names no conversation."""
    chats, people, without_chat = (
        pa.array(some - {None}, pa.string())
        for some in (
            {one["chat_id"] for one in signals},
            {one["user_id"] for one in signals},
            {one["user_id"] for one in signals if one["chat_id"] is None},
        )
    )
    chat, user = ds.field("chat_id"), ds.field("user_id")
    return chat.isin(chats) | user.isin(without_chat) | (chat.is_null() & user.isin(people))


def _uncertain(answers: pa.Table, until: datetime, signals: pa.Table) -> pa.Table:
    """Return the signals that may be about these answers, but for those of which that is certain.

    Certain is one that is earlier than `until` and agrees with an answer that was asked for before it.
    """
    numbers, ids = _ids(answers)
    wanted = pc.is_in(ids, signals["response_id"].unique().drop_null())
    numbers, ids = numbers.filter(wanted), ids.filter(wanted)
    may_be = pc.or_(pc.is_null(signals["response_id"]), pc.is_in(signals["response_id"], ids))
    signals = signals.filter(pc.and_(may_be, pc.fill_null(pc.not_equal(signals["origin"], SignalOrigin.LABEL), True)))
    number = numbers.take(pc.index_in(signals["response_id"], ids))
    asked, chat, user = (answers[name].take(number) for name in ("requested_at", "chat_id", "user_id"))
    at = signals["signaled_at"]
    conditions = [
        pc.fill_null(pc.equal(chat, signals["chat_id"]), False),
        pc.fill_null(pc.equal(user, signals["user_id"]), True),
        pc.fill_null(pc.less_equal(asked, at), False),
        pc.fill_null(pc.less(at, pa.scalar(until, TIMESTAMP)), False),
    ]
    is_certain = conditions[0]
    for condition in conditions[1:]:
        is_certain = pc.and_(is_certain, condition)
    return signals.filter(pc.invert(is_certain))


def _read_about(logs: DayReader, signals: Sequence[Mapping[str, Any]], where: ds.Expression | None) -> pa.Table:
    """Read the answers that decide which one each of the signals is about, a few days at a time.

    Those are the ones that have an id of the signals, and of answers without one those of their conversations and
    people. Where one word is the id of millions of answers, `_deciding` says which of them are kept.
    """
    if not signals:
        return _JOINED.empty_table()
    named = pa.array({_named(one) for one in signals} - {None}, pa.string())
    ids = ({one["response_id"] for one in signals} - {None}).union(named.to_pylist())
    is_near = _is_near(signals) | ds.field("event_id").isin(named)
    found = [_JOINED.empty_table()]
    days = logs.days()
    for some in (days[begin : begin + _DAYS_AT_ONCE] for begin in range(0, len(days), _DAYS_AT_ONCE)):
        if ids:
            rows = logs.read_rows(["response_id", "response_ids", "event_id"], ids, _READ, some)
            found.append(_deciding(rows if where is None else rows.filter(where), signals, is_near))
        if any(one["response_id"] is None for one in signals):
            is_unnamed = ds.field("response_id").is_null() & is_near
            found.append(logs.read(JOIN_COLUMNS, is_unnamed if where is None else is_unnamed & where, some))
    return pa.concat_tables([one.select(JOIN_COLUMNS).cast(_JOINED) for one in found])


def _deciding(answers: pa.Table, signals: Sequence[Mapping[str, Any]], is_near: ds.Expression) -> pa.Table:
    """Leave out answers that no signal can mean, but for two of each id: they show that it is not unique."""
    pairs = _pairs(answers, signals)
    ends = pairs.group_by("id").aggregate([("event_id", "min"), ("event_id", "max")])
    kept = pa.chunked_array([*ends["event_id_min"].chunks, *ends["event_id_max"].chunks], pa.string())
    return answers.filter(is_near | ds.field("event_id").isin(kept.combine_chunks()))


def _agrees(answer: _Answer, signal: Mapping[str, Any]) -> bool:
    chat_id, user_id = signal["chat_id"], signal["user_id"]
    if chat_id is None or answer.chat_id is None:
        return user_id is not None and answer.user_id == user_id
    is_same_person = user_id is None or answer.user_id is None or answer.user_id == user_id
    return answer.chat_id == chat_id and is_same_person


def _named(signal: Mapping[str, Any]) -> str | None:
    """Return the row that a signal names; what a client sent with a rating is not asked."""
    if signal["origin"] not in (SignalOrigin.IMPLICIT, SignalOrigin.LABEL):
        return None
    named = (members_of(signal["details"]) or {}).get("event_id")
    return named if isinstance(named, str) and named else None
