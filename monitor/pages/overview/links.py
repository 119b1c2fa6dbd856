"""Links from the overview's figures to the answers that they count."""

from __future__ import annotations

from typing import Any

from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerRating
from lake.spec.vocabulary import DISLIKES
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.overview.rows import Row, WorstMetric
from monitor.pages.period import Period


def failed(row: Row, period: Period) -> str:
    """Give the list of what failed, calls between applications included: the figure counts them, too."""
    return _list(row, period, status=AnswerStatus.FAILED, entries_only=False)


def disliked(row: Row, period: Period) -> str:
    """Give the list of the answers that people disliked."""
    return _list(row, period, rating=AnswerRating.DISLIKED)


def worst_first(row: Row, worst: WorstMetric, period: Period) -> str:
    """Give the list of all answers, those with the worst score first; of people's ratings the disliked ones."""
    if worst.metric == DISLIKES:
        return disliked(row, period)
    return _list(row, period, sort=worst.metric, order="desc" if worst.lower_is_better else "asc")


def _list(row: Row, period: Period, **fields: Any) -> str:
    return AnswerQuery(row.name, period.begin.date(), period.end.date(), **fields).address()
