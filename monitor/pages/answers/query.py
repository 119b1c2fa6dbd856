"""Query of the list of answers: what the form's fields say, as the filter that the lake is searched by."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlencode

from pydantic import ConfigDict

from lake.queries.answer_filter import AnswerFilter
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.spec.schemas import deployment_of
from lake.spec.vocabulary import FailureKind
from runtime.searched_words import wanted_words

WordT = TypeVar("WordT", bound=StrEnum)

MOST_DAYS = 92
"""Days of a period that one search reads."""
PAGE_SIZE = 25
_USUAL_DAYS = 7
_MOST_CHARACTERS = 10_000
_OF_THE_LIST = frozenset(
    ("deployment", "since", "until", "start_time", "sort", "order", "page", "entries_only", "columns")
)
"""Fields that say of which period answers are listed, and how."""
_DAY = timedelta(days=1)


class Column(StrEnum):
    """Columns of the list besides the time; `heading` is what the page writes above each."""

    TEXTS = "texts"
    SCORES = "scores"
    RATING = "rating"
    STATUS = "status"
    TIME = "time"
    COST = "cost"
    MODEL = "model"
    CLIENT = "client"
    USER = "user"
    CONVERSATION = "conversation"

    @property
    def heading(self) -> str:
        """Words for people."""
        return _HEADINGS[self]


_HEADINGS = {
    Column.TEXTS: "Question and answer",
    Column.SCORES: "Scores",
    Column.RATING: "Rating, comment, label",
    Column.STATUS: "Status",
    Column.TIME: "Seconds",
    Column.COST: "Cost",
    Column.MODEL: "Model",
    Column.CLIENT: "Client (project, header)",
    Column.USER: "User",
    Column.CONVERSATION: "Conversation",
}
USUAL_COLUMNS = (Column.TEXTS, Column.SCORES, Column.RATING, Column.STATUS)


class BadQueryError(ValueError):
    """A field of the form that cannot be used; the message says what it takes."""


@dataclass(frozen=True)
class AnswerQuery:
    """The fields of the form. `since` and `until` are days (UTC), both included; `sort` is `time` or a metric."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    deployment: str
    since: date
    """First day in UTC; without it the last week."""
    until: date
    """Last day in UTC; without it today."""
    start_time: datetime | None = None
    """Only answers that were asked for at this time of the first day or later, such as 2026-11-20T21:30Z."""
    metric: str = ""
    """Metric that `below` is about."""
    below: float | None = None
    """Only answers with a score below it."""
    rating: AnswerRating | None = None
    label: AnswerLabel | None = None
    status: AnswerStatus | None = None
    failure: FailureKind | None = None
    tool: str = ""
    """Name of a tool that the turn of the answer called; with the failure `tool_error` that call failed."""
    id: str = ""
    """Part of a response id or of an event id."""
    words: str = ""
    """Words of the question, the answer or a comment, in any order: all, else the most; for who may read texts."""
    comment: str = ""
    """Words that a comment of a rating contains, in any order; for who may read texts."""
    client: str = ""
    """The project of the API key, or what the client says in its header; for who may read texts."""
    user: str = ""
    """The user's id as the lake stores it; for who may read texts."""
    model: str = ""
    slower_than: float | None = None
    """Only answers that took more seconds."""
    cost_over: float | None = None
    """Only answers that cost more, with all that they called."""
    sort: str = "time"
    """`time` or a metric."""
    order: str = "desc"
    """`asc` or `desc`."""
    page: int = 1
    """From 1."""
    entries_only: bool = True
    """Whether calls between applications, and what evaluations and tests asked, are left out."""
    columns: tuple[Column, ...] = USUAL_COLUMNS
    """Columns of the page, divided by commas; CSV and JSON have all."""

    @property
    def wanted_words(self) -> list[str]:
        """Those of `words` that are looked for."""
        return wanted_words(self.words)

    @classmethod
    def read(cls, given: Mapping[str, str], now: datetime) -> AnswerQuery:
        """Read the fields of an address; one that is absent or empty has its usual value.

        Without days it is the last week. With a limit of a metric, and no order, the lowest score comes first.

        Raises BadQueryError.
        """
        fields = {name: value for name, value in given.items() if value.strip()}
        until, start_time = _day(fields, "until", now.date()), time_of(fields, "start_time")
        usual = start_time.date() if start_time else min(until, now.date()) - (_USUAL_DAYS - 1) * _DAY
        since = _day(fields, "since", usual)
        if since > until:
            raise BadQueryError("The first day must not be after the last day")
        if until - since >= MOST_DAYS * _DAY:
            raise BadQueryError(
                f"A period has at most {MOST_DAYS} days: choose a later first day or an earlier last day"
            )
        metric, below = fields.get("metric", ""), _number(fields, "below", "The limit of a score")
        if below is not None and not metric:
            raise BadQueryError("A score below a number needs a metric: choose one")
        return cls(
            deployment=fields.get("deployment", ""),
            since=since,
            until=until,
            # Of another first day, as a form may send it, it says nothing.
            start_time=start_time if start_time and start_time.date() == since else None,
            metric=metric,
            below=below,
            rating=_one_of(fields, "rating", AnswerRating),
            label=_one_of(fields, "label", AnswerLabel),
            status=_one_of(fields, "status", AnswerStatus),
            failure=_one_of(fields, "failure", FailureKind),
            tool=_text(fields, "tool", "The name of a tool has"),
            id=fields.get("id", "").strip(),
            words=_text(fields, "words", "The words to search have"),
            comment=_text(fields, "comment", "The words to search in comments have"),
            client=_text(fields, "client", "The name of a client has"),
            user=_text(fields, "user", "The id of a user has"),
            model=_text(fields, "model", "The name of a model has"),
            slower_than=_number(fields, "slower_than", "A limit in seconds"),
            cost_over=_number(fields, "cost_over", "A limit of costs"),
            sort=fields.get("sort", metric if below is not None else "time"),
            order=_order(fields, "asc" if below is not None else "desc"),
            page=_page(fields),
            entries_only=_flag(fields, "entries_only"),
            columns=_columns(fields),
        )

    def filter(self, page_size: int = PAGE_SIZE) -> AnswerFilter:
        """Return what to search the lake by."""
        return AnswerFilter(
            deployment=deployment_of(self.deployment),
            since=self.start_time or datetime.combine(self.since, time(), UTC),
            until=datetime.combine(self.until, time(), UTC) + _DAY,
            metric=self.metric or None,
            below=self.below,
            rating=self.rating,
            label=self.label,
            status=self.status,
            failure=self.failure,
            tool=self.tool,
            id_part=self.id,
            words=self.words,
            comment=self.comment,
            user=self.user,
            client=self.client,
            model=self.model,
            slower_than=self.slower_than,
            cost_over=self.cost_over,
            sort=None if self.sort == "time" else self.sort,
            ascending=self.order == "asc",
            page=self.page,
            page_size=page_size,
            entries_only=self.entries_only,
        )

    def with_page(self, page: int) -> AnswerQuery:
        """Return the query of another page of the same list."""
        return replace(self, page=page)

    def of_deployment(self, name: str) -> AnswerQuery:
        """Return the same query of one deployment."""
        return replace(self, deployment=name)

    @property
    def is_narrow(self) -> bool:
        """Whether it asks for more than the answers of a period."""
        return bool(self.narrowing().keys() - {"metric"})

    def narrowing(self) -> dict[str, str]:
        """Return the fields that ask for more than the answers of a period and their order, as an address has them."""
        return {name: value for name, value in self.fields().items() if name not in _OF_THE_LIST}

    @property
    def is_of_people(self) -> bool:
        """Whether it tells of texts or of who asked: only who may read texts may search so."""
        return bool(self.words or self.comment or self.user or self.client)

    def with_calls(self) -> AnswerQuery:
        """Return the query that finds calls between applications, too."""
        return replace(self, entries_only=False, page=1)

    def address(self, path: str = "/answers", **further: str) -> str:
        """Return the path with this query; the same query always has the same."""
        return f"{path}?{urlencode(self.fields() | further, errors='replace')}"

    def fields(self) -> dict[str, str]:
        """Return the fields that are not empty, as an address writes them."""
        fields = {
            "deployment": self.deployment,
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "start_time": self.start_time.isoformat() if self.start_time else "",
            "metric": self.metric,
            "below": _written(self.below),
            "rating": self.rating or "",
            "label": self.label or "",
            "status": self.status or "",
            "failure": self.failure or "",
            "tool": self.tool,
            "id": self.id,
            "words": self.words,
            "comment": self.comment,
            "client": self.client,
            "user": self.user,
            "model": self.model,
            "slower_than": _written(self.slower_than),
            "cost_over": _written(self.cost_over),
            "sort": self.sort,
            "order": self.order,
            "page": "" if self.page == 1 else str(self.page),
            "entries_only": "" if self.entries_only else "false",
            "columns": "" if self.columns == USUAL_COLUMNS else ",".join(self.columns),
        }
        return {name: value for name, value in fields.items() if value}


def _day(fields: Mapping[str, str], name: str, usual: date) -> date:
    if name not in fields:
        return usual
    try:
        day = date.fromisoformat(fields[name].strip())
    except ValueError:
        raise BadQueryError("A day is written as 2026-11-20") from None
    _check_year(day)
    return day


def _check_year(day: date) -> None:
    if not 1970 <= day.year < 9999:
        raise BadQueryError("A day is one since 1970")


def time_of(fields: Mapping[str, str], name: str) -> datetime | None:
    """Read the time of a field; None where it is absent. Raises BadQueryError."""
    if name not in fields:
        return None
    try:
        at = datetime.fromisoformat(fields[name].strip())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadQueryError("A time is written as 2026-11-20T21:30Z") from None
    _check_year(at.date())
    return at


def _number(fields: Mapping[str, str], name: str, what: str) -> float | None:
    if name not in fields:
        return None
    try:
        number = float(fields[name].replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadQueryError(f"{what} is a number, such as 0.5")
    return number


def _written(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


def _text(fields: Mapping[str, str], name: str, what: str) -> str:
    text = fields.get(name, "")
    if len(text) > _MOST_CHARACTERS:
        raise BadQueryError(f"{what} at most {_MOST_CHARACTERS} characters")
    return text


def _one_of(fields: Mapping[str, str], name: str, words: type[WordT]) -> WordT | None:
    try:
        return words(fields[name]) if name in fields else None
    except ValueError:
        raise BadQueryError(f"A {name} is one of {', '.join(words)}") from None


def _columns(fields: Mapping[str, str]) -> tuple[Column, ...]:
    if "columns" not in fields:
        return USUAL_COLUMNS
    named = set(fields["columns"].split(","))
    if not named <= set(Column):
        raise BadQueryError(f"Columns are some of {', '.join(Column)}, divided by commas")
    return tuple(one for one in Column if one in named)


def _order(fields: Mapping[str, str], usual: str) -> str:
    order = fields.get("order", usual)
    if order not in ("asc", "desc"):
        raise BadQueryError("An order is asc or desc")
    return order


def _flag(fields: Mapping[str, str], name: str) -> bool:
    flag = fields.get(name, "true")
    if flag not in ("true", "false"):
        raise BadQueryError(f"{name} is true or false")
    return flag == "true"


def _page(fields: Mapping[str, str]) -> int:
    page = fields.get("page", "1")
    if not (page.isdecimal() and page.isascii() and len(page) < 8 and int(page) >= 1):
        raise BadQueryError("A page is a whole number from 1")
    return int(page)
