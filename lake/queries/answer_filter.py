"""Filter, order and page of a search for answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.spec.vocabulary import FailureKind


@dataclass(frozen=True)
class AnswerFilter:
    """Filter, order and page of a search. `since` is included, `until` is not; both have a zone.

    `below` and `above` bound the value of `metric`, exclusively; answers without a value then do not match. `id_part`
    is a part of a response id or of the event id. `failure` is a kind that is among an answer's failures.
    `tool` is the name of one that its turn called; with the failure `tool_error` that call failed.
    `words` are words that the question, the answer or a comment of a rating contains, `comment` ones that one comment
    contains; in any order, in upper or lower case, and parts of longer words too (`wanted_words`). Where no answer has
    all `words`, those match that have the most of them, at least half. `user` is a `user_id` as it is stored, `client`
    a `project_id` or a `client`. `slower_than` bounds the duration in seconds, `cost_over` the price with all calls,
    both exclusively.
    `sort` is the name of a metric, None for the time of the request; answers without a value come last in either
    direction. By time, answers with all `words` in one comment come first. With `entries_only` False, calls between
    applications, and what evaluations, judges and tests asked, are searched too. Pages count from 1.
    """

    deployment: str | None
    since: datetime
    until: datetime
    metric: str | None = None
    below: float | None = None
    above: float | None = None
    rating: AnswerRating | None = None
    label: AnswerLabel | None = None
    status: AnswerStatus | None = None
    failure: FailureKind | None = None
    tool: str = ""
    id_part: str = ""
    words: str = ""
    comment: str = ""
    user: str = ""
    client: str = ""
    model: str = ""
    slower_than: float | None = None
    cost_over: float | None = None
    sort: str | None = None
    ascending: bool = False
    page: int = 1
    page_size: int = 50
    entries_only: bool = True
