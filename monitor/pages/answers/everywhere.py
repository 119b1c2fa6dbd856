"""Answers of any deployment that match a search: in which deployments they are, how many, and the latest of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from lake.queries.answer_search import AnswerPage
from monitor.pages.answers.addresses import Visible
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.news import open_incident

_MOST = 50
"""Deployments that are searched: those with an open incident, then those with the most requests."""
_SECONDS = 5.0
"""After which no further deployment is searched: a person waits."""


@dataclass(frozen=True)
class FoundIn:
    """What one deployment has: the list of it, and its beginning."""

    query: AnswerQuery
    page: AnswerPage

    @property
    def is_in_comment(self) -> bool:
        """Whether a comment on one of its answers has all words that are searched."""
        return any(row.says_words for row in self.page.rows)


@dataclass(frozen=True)
class FoundEverywhere:
    """Deployments with answers that match, and how many were and were not searched.

    Where no answer has all words that are searched, they are those whose answers have the most of them. Those with the
    words in a comment come first, and then those with the latest answers.
    """

    deployments: tuple[FoundIn, ...]
    searched: int
    left: int

    @property
    def in_comments(self) -> tuple[FoundIn, ...]:
        """Those with the words in one comment."""
        return tuple(one for one in self.deployments if one.is_in_comment)

    @property
    def elsewhere(self) -> tuple[FoundIn, ...]:
        """The others."""
        return tuple(one for one in self.deployments if not one.is_in_comment)

    @property
    def total(self) -> int:
        """Answers that match, of all these deployments."""
        return sum(one.page.total for one in self.deployments)


def find_everywhere(
    seen: Visible,
    query: AnswerQuery,
    find: Callable[[AnswerQuery], AnswerPage],
    monotonic: Callable[[], float] = time.monotonic,
) -> FoundEverywhere:
    """Search the deployments that a reader may search so; `find` gives the beginning of the list of one."""
    names, until = _names(seen, query), monotonic() + _SECONDS
    found: list[FoundIn] = []
    for name in names[:_MOST]:
        if found and monotonic() > until:
            break
        of_one = query.of_deployment(name)
        found.append(FoundIn(of_one, find(of_one)))
    most = max((one.page.words for one in found), default=0)
    matching = (one for one in found if one.page.rows and one.page.words == most)
    ordered = sorted(matching, key=_place, reverse=True)
    return FoundEverywhere(tuple(ordered), len(found), len(names) - len(found))


def _place(found: FoundIn) -> tuple[bool, datetime]:
    return found.is_in_comment, max(row.requested_at for row in found.page.rows)


def _names(seen: Visible, query: AnswerQuery) -> list[str]:
    names: Iterable[str] = (name for name in seen.states if not query.is_of_people or seen.may_read_texts(name))

    def place(name: str) -> tuple[bool, int, str]:
        state = seen.states[name]
        return open_incident(state) is None, -state.requests.total, name

    return sorted(names, key=place)
