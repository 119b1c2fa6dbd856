"""The answer before or after another one in the list from which it was opened."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from lake.queries.answer_search import AnswerPage, AnswerRow
from monitor.pages.answers.query import AnswerQuery


class Step(StrEnum):
    """Which neighbour: the one above in the list, or the one below."""

    PREVIOUS = "previous"
    NEXT = "next"


def neighbour(
    find: Callable[[AnswerQuery], AnswerPage], query: AnswerQuery, event_id: str, step: Step
) -> tuple[AnswerRow, AnswerQuery] | None:
    """Give the neighbour of an answer on the list's page `query.page`, and the page that it stands on.

    None where the list ends there, or no longer has the answer on that page. `find` is called once or twice.
    """
    found = find(query)
    place = next((number for number, row in enumerate(found.rows) if row.event_id == event_id), None)
    if place is None:
        return None
    if step is Step.NEXT:
        if place + 1 < len(found.rows):
            return found.rows[place + 1], query
        return _first(find, query.with_page(query.page + 1), 0) if found.has_more else None
    if place:
        return found.rows[place - 1], query
    return _first(find, query.with_page(query.page - 1), -1) if query.page > 1 else None


def _first(
    find: Callable[[AnswerQuery], AnswerPage], query: AnswerQuery, place: int
) -> tuple[AnswerRow, AnswerQuery] | None:
    rows = find(query).rows
    return (rows[place], query) if rows else None
