"""Scope of an erasure: ids of the calls that are a person's, a conversation's or an answer's, and their texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.erasure.quotations import Quotations


@dataclass(frozen=True)
class Subject:
    """Whose rows are meant: exactly one of the three is given, else ValueError.

    `response` is an id of the answer that no other answer has, or the `event_id` of its row.
    """

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
class OwnRows:
    """Ids of rows of a table that are the subject's although they name its answer by a shared id.

    Of those `in_doubt`, a part of `ids`, nothing says whose they are. `left` counts rows of which nothing does, and
    that hold no words: these stay.
    """

    ids: set[str] = field(default_factory=set)
    in_doubt: set[str] = field(default_factory=set)
    left: int = 0


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
    """Ids of the answers of these calls; once all is found, those that no other call has."""
    shared_ids: set[str] = field(default_factory=set)
    """Ids of the answers of these calls that other calls have too."""
    trace_ids: set[str] = field(default_factory=set)
    chats: set[str] = field(default_factory=set)
    """Conversations of the subject's own calls."""
    texts: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    """Those of the texts that are answers."""
    calls: dict[str | None, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    """These calls by deployment: their ids, `date`, `requested_at` and `is_entry`."""
    namesakes: dict[str | None, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """By deployment and shared id: the `event_id` of one other call that has it."""
    said: set[tuple[str, str]] = field(default_factory=set)
    """Questions with their answers, as `one_line` gives them; known where there are shared ids."""
    cases: OwnRows = field(default_factory=OwnRows)
    """Cases of ground truth that were made of these calls."""
    signals: OwnRows = field(default_factory=OwnRows)
    """Signals that name these calls by a shared id, or by none."""
    other_people: set[str] = field(default_factory=set)
    """Users and conversations of other calls that lines with a shared id name."""

    @cached_property
    def days(self) -> pa.Array:
        """Dates of these calls, with the days before and after them, as clocks differ; for when they are found."""
        days = {call["date"].toordinal() for calls in self.calls.values() for call in calls if call["date"] is not None}
        near = {day + step for day in days for step in (-1, 0, 1)}
        return pa.array([date.fromordinal(day) for day in near if 1 <= day <= date.max.toordinal()], pa.date32())

    @cached_property
    def in_lines(self) -> Quotations:
        """Ids and texts as they stand in lines that could not be read; for when all is found."""
        ids = {self.subject.id, *self.response_ids, *self.trace_ids} - self.shared_ids
        return Quotations(self.texts, ids if self.subject.response else ids | self.chats)

    @cached_property
    def shared_in_lines(self) -> Quotations:
        """Shared ids as they stand in lines that could not be read; for when all is found."""
        return Quotations((), self.shared_ids)

    def is_of_days(self, column: pa.Array) -> pa.Array:
        """Whether rows can be about these calls by a date. True for no date, and for no calls."""
        if not len(self.days):
            return pc.or_(pc.is_null(column), True)
        return pc.or_(pc.is_null(column), pc.is_in(column, self.days))

    def is_since_first_day(self, column: pa.Array) -> pa.Array:
        """Whether rows can have followed these calls by a date. True for no date, and for no calls."""
        first = pc.min(self.days)
        return pc.fill_null(pc.greater_equal(column, first), True)


def is_in(column: pa.Array, values: Iterable[str]) -> pa.Array:
    """Whether each cell is one of the values; a null is none of them."""
    return pc.is_in(column, strings(values), skip_nulls=True)


def strings(values: Iterable[str]) -> pa.Array:
    """Return values as an array, in order."""
    return pa.array(sorted(values), pa.string())


def one_line(text: str | None) -> str:
    """Return a text without what editors and forms change of it: ends of lines, and how many blanks there are."""
    return " ".join((text or "").split())
