"""Search for answers of one deployment within a period, a page at a time, pruned by date."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_rows import CALLED_TOOLS, IS_ENTRY, IS_RATABLE
from lake.queries.comments import comment_of, members_of
from lake.queries.failures import FAILURE_COLUMNS, AnswerStatus, calls_tool, failures_of, refusing_texts, status_of
from lake.queries.latest_rows import LATEST_COLUMNS, each_once, latest_scores
from lake.queries.ratings import (
    IS_LABEL,
    IS_RATING,
    LABEL_COLUMNS,
    RATING_COLUMNS,
    AnswerLabel,
    AnswerRating,
    comments_of,
    labels_of,
    ratings_of,
)
from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, with_namesakes
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TIMESTAMP
from lake.spec.vocabulary import REFUSAL, FailureKind
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake
from runtime.searched_words import excerpt, wanted_words, words_in

EXCERPT_CHARACTERS = 200
"""The most characters of a question or an answer in a row of a page."""

_SEARCHED = (*JOIN_COLUMNS, "ingested_at", "status", "error")
_SHOWN = (
    "event_id", "date", "response_id", "response_ids", "requested_at", "ingested_at", "status", "error", "question",
    "answer", "finish_reason", "answer_kind", "tool_calls", "model", "chat_id", "user_id", "project_id", "client",
    "duration_ms", "price",
)  # fmt: skip
_SAME = (
    "event_id", "date", "response_id", "requested_at", "error", "model", "chat_id", "duration_ms", "price", "user_id",
    "project_id", "client",
)  # fmt: skip
_VALUE_COLUMNS = ("event_id", "metric", "value")
_FOUND = pa.schema(
    [
        ("date", pa.date32()),
        ("event_id", pa.string()),
        ("requested_at", TIMESTAMP),
        ("sort_value", pa.float64()),
        ("words", pa.int64()),
    ]
)
_DAY = timedelta(days=1)
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True)
class AnswerRow:
    """An answer in a list; `date` and `event_id` are its address within the deployment.

    `values` has each metric's latest value, null where it could not be computed. `question` and `answer` are excerpts.
    """

    deployment: str | None
    date: date
    event_id: str
    response_id: str | None
    requested_at: datetime
    question: str | None
    answer: str | None
    status: AnswerStatus
    http_status: int | None
    error: str | None
    failures: tuple[FailureKind, ...]
    rating: AnswerRating
    label: AnswerLabel
    values: Mapping[str, float | None]
    model: str | None = None
    chat_id: str | None = None
    duration_ms: int | None = None
    price: float | None = None
    user_id: str | None = None
    project_id: str | None = None
    client: str | None = None
    comments: tuple[str, ...] = ()
    """Of ratings, the latest first; excerpts."""
    says_words: bool = False
    """Whether one comment has all words that are searched."""


@dataclass(frozen=True)
class AnswerPage:
    """A page of the answers that match a filter, and how many match in all; each has so many of the `words`."""

    filter: AnswerFilter
    rows: tuple[AnswerRow, ...]
    total: int
    words: int = 0

    @property
    def has_more(self) -> bool:
        """Whether there is a later page."""
        return self.filter.page * self.filter.page_size < self.total


def find_answers(lake: Lake, wanted: AnswerFilter) -> AnswerPage:
    """Find the answers that match a filter, and read those of its page.

    Only files of the period's days are opened, and texts are read of the page's answers alone, unless `words` asks for
    those of all. Of other days the ids are read where a rating came after the period, or is of another conversation or
    person than the answer that has its id. Of rows with the same `event_id` the one that was written first counts.
    """
    return _Search(lake, wanted).page()


def find_answer_ids(lake: Lake, wanted: AnswerFilter) -> tuple[str, ...]:
    """Return the `event_id` of the answers of a filter's page, in their order; only what the filter needs is read."""
    return tuple(_Search(lake, wanted).found()[0]["event_id"].to_pylist())


class _Search:
    """One search, with the tables of the deployment as they were when it began."""

    def __init__(self, lake: Lake, wanted: AnswerFilter) -> None:
        self._wanted, self._period = wanted, RequestPeriod(wanted.since, wanted.until)
        self._words, self._comment_words = wanted_words(wanted.words), wanted_words(wanted.comment)
        first, last = wanted.since.astimezone(UTC).date(), (wanted.until - _INSTANT).astimezone(UTC).date()
        self._logs = DayReader(lake.table(PARSED_LOGS, wanted.deployment), first, last)
        self._scores = DayReader(lake.table(SCORES, wanted.deployment), first, last)
        self._lake = lake
        # A rating may come long after its answer; clocks and zones of time may differ by a day.
        self._signals = DayReader(lake.table(USER_SIGNALS, wanted.deployment), first - _DAY, date.max)
        self._ratings: pa.Table | None = None
        self._labels: pa.Table | None = None
        self._known: pa.Table | None = None
        self._commenting: pa.Table | None = None

    def page(self) -> AnswerPage:
        """Return the page that the filter names."""
        of_page, total = self.found()
        words = of_page["words"][0].as_py() if of_page.num_rows else 0
        return AnswerPage(self._wanted, self._rows(of_page), total, words)

    def found(self) -> tuple[pa.Table, int]:
        """Return where the answers of the page are (columns `_FOUND`), in their order, and how many match in all."""
        parts = [self._matching(day) for day in self._logs.days()]
        found = pa.concat_tables([_FOUND.empty_table(), *parts])
        found = found.filter(pc.equal(found["words"], pc.max(found["words"])))
        order = "ascending" if self._wanted.ascending else "descending"
        by_value = order if self._wanted.sort else "descending"
        keys = [("sort_value", by_value), ("requested_at", order), ("event_id", order)]
        begin = max(self._wanted.page - 1, 0) * self._wanted.page_size
        places = pc.sort_indices(found, sort_keys=keys)
        return found.take(places[begin : begin + self._wanted.page_size]), found.num_rows

    def _matching(self, day: date) -> pa.Table:
        """Return the answers of a day that match, with what they are sorted by (columns `_FOUND`)."""
        wanted = self._wanted
        columns = dict.fromkeys((*_SEARCHED, *(("question", "answer") if wanted.words else ()), *self._of_failure()))
        parts = {"tool_calls": CALLED_TOOLS} if self._of_failure() or wanted.tool else None
        rows = each_once(self._logs.read(list(columns), self._where(), [day], self._period, parts))
        if wanted.tool:
            is_failed = wanted.failure == FailureKind.TOOL_ERROR
            rows = rows.filter(calls_tool(rows["tool_calls"], wanted.tool, failed=is_failed))
        if wanted.id_part:
            rows = rows.filter(_has_id_part(rows, wanted.id_part))
        if wanted.words:
            comments = self._searched_comments(rows)
            rows = rows.append_column("words", self._count_words(rows, comments))
            says_words = [float(_says(some, self._words)) for some in comments]
            rows = rows.append_column("says_words", pa.array(says_words, pa.float64()))
            rows = rows.filter(pc.greater_equal(pc.multiply(rows["words"], 2), len(self._words)))
        if wanted.status is not None:
            rows = rows.filter(pa.array([status == wanted.status for status in _statuses(rows)], pa.bool_()))
        if self._of_failure() and wanted.failure != FailureKind.REFUSAL:
            kinds = failures_of(rows.select(FAILURE_COLUMNS), ())
            rows = rows.filter(pa.array([wanted.failure in some for some in kinds], pa.bool_()))
        if wanted.rating is not None and rows.num_rows:
            ratings = ratings_of(rows, self._read_ratings(), self._read_known())
            rows = rows.filter(pa.array([rating == wanted.rating for rating in ratings], pa.bool_()))
        if wanted.comment and rows.num_rows:
            has_all = [_says(some, self._comment_words) for some in self._searched_comments(rows)]
            rows = rows.filter(pa.array(has_all, pa.bool_()))
        if wanted.label is not None and rows.num_rows:
            labels = labels_of(rows, self._read_labels(), self._read_known())
            rows = rows.filter(pa.array([label == wanted.label for label in labels], pa.bool_()))
        return self._with_scores(rows, day)

    def _count_words(self, rows: pa.Table, comments: Sequence[Sequence[str]]) -> pa.ChunkedArray:
        """Return how many of the words each answer has in its question, its answer or a comment."""
        texts = (rows["question"], rows["answer"], pa.array(["\n".join(some) for some in comments], pa.string()))
        found = pa.chunked_array([pa.repeat(pa.scalar(0), rows.num_rows)])
        for word in self._words:
            in_each = (pc.fill_null(pc.match_substring(one, word, ignore_case=True), False) for one in texts)
            found = pc.add(found, reduce(pc.or_, in_each).cast(pa.int64()))
        return found

    def _searched_comments(self, rows: pa.Table) -> list[tuple[str, ...]]:
        """Return the comments on each answer that have a word that is searched: only these ratings are joined."""
        if self._commenting is None:
            words = (*self._words, *self._comment_words)
            texts = [comment_of(members_of(one)) or "" for one in self._read_ratings()["details"].to_pylist()]
            has_one = [bool(words_in(text, words)) for text in texts]
            self._commenting = self._read_ratings().filter(pa.array(has_one, pa.bool_()))
        known = self._read_known() if self._commenting.num_rows else None
        return comments_of(rows, self._commenting, known)

    def _of_failure(self) -> tuple[str, ...]:
        """Columns that tell of the kind of failure."""
        names = FAILURE_COLUMNS if self._wanted.failure is not None else ()
        return tuple(name for name in names if name != "tool_calls")

    def _where(self) -> ds.Expression:
        wanted = self._wanted
        found = within("requested_at", wanted.since, wanted.until)
        if wanted.entries_only:
            found &= IS_ENTRY
        if wanted.user:
            found &= ds.field("user_id") == wanted.user
        if wanted.client:
            found &= (ds.field("project_id") == wanted.client) | (ds.field("client") == wanted.client)
        if wanted.model:
            found &= ds.field("model") == wanted.model
        if wanted.slower_than is not None:
            found &= ds.field("duration_ms") > 1000 * wanted.slower_than
        if wanted.cost_over is not None:
            found &= ds.field("price") > wanted.cost_over
        return found

    def _with_scores(self, rows: pa.Table, day: date) -> pa.Table:
        """Leave out the answers whose value is not within the bounds, and add the value that they are sorted by."""
        wanted = self._wanted
        bounded = wanted.metric is not None and (wanted.below is not None or wanted.above is not None)
        refused = wanted.failure == FailureKind.REFUSAL
        asked = {wanted.metric if bounded else None, wanted.sort, REFUSAL if refused else None}
        names = [name for name in asked if name]
        values: dict[str, dict[str, float]] = {name: {} for name in names}
        if names and rows.num_rows:
            scores = latest_scores(
                self._scores.read(LATEST_COLUMNS, ds.field("metric").isin(names), [day], self._period)
            )
            for event_id, name, value in zip(*(scores[column].to_pylist() for column in _VALUE_COLUMNS), strict=True):
                if value is not None:
                    values[name][event_id] = value
        if bounded:
            of_metric = values[wanted.metric or ""]
            within = [_is_within(of_metric.get(one), wanted) for one in rows["event_id"].to_pylist()]
            rows = rows.filter(pa.array(within, pa.bool_()))
        if refused:
            kinds = failures_of(rows.select(FAILURE_COLUMNS), _refusing(rows, values[REFUSAL]))
            rows = rows.filter(pa.array([FailureKind.REFUSAL in some for some in kinds], pa.bool_()))
        if wanted.words and not wanted.sort:
            of_each = rows["says_words"]
        else:
            sorted_by = values.get(wanted.sort or "", {})
            of_each = pa.array([sorted_by.get(one) for one in rows["event_id"].to_pylist()], pa.float64())
        days = pa.repeat(pa.scalar(day), rows.num_rows)
        words = rows["words"] if wanted.words else pa.repeat(pa.scalar(0), rows.num_rows)
        return pa.table([days, rows["event_id"], rows["requested_at"], of_each, words], schema=_FOUND)

    def _rows(self, found: pa.Table) -> tuple[AnswerRow, ...]:
        ids, days = found["event_id"].to_pylist(), set(found["date"].to_pylist())
        if not ids:
            return ()
        asked = pc.min_max(found["requested_at"]).as_py()
        period = RequestPeriod(asked["min"], asked["max"])
        rows = each_once(self._logs.read_rows(["event_id"], ids, _SHOWN, days, period))
        values: dict[str, dict[str, float | None]] = defaultdict(dict)
        for score in latest_scores(self._scores.read_rows(["event_id"], ids, LATEST_COLUMNS, days, period)).to_pylist():
            values[score["event_id"]][score["metric"]] = score["value"]
        ratings = ratings_of(rows, self._read_ratings(), self._read_known())
        comments = comments_of(rows, self._read_ratings(), self._read_known())
        labels = labels_of(rows, self._read_labels(), self._read_known())
        scored = {one: value for one, some in values.items() if (value := some.get(REFUSAL)) is not None}
        kinds = failures_of(rows.select(FAILURE_COLUMNS), _refusing(rows, scored))
        each = zip(rows.to_pylist(), kinds, ratings, comments, labels, strict=True)
        of_each = {said[0]["event_id"]: said for said in each}
        return tuple(
            self._row(*of_each[one], values[one])
            for one in ids
            if one in of_each  # erased in the meantime
        )

    def _row(
        self,
        row: Mapping[str, Any],
        failures: tuple[FailureKind, ...],
        rating: AnswerRating,
        comments: tuple[str, ...],
        label: AnswerLabel,
        values: Mapping[str, float | None],
    ) -> AnswerRow:
        same, words = {name: row[name] for name in _SAME}, self._words
        most = EXCERPT_CHARACTERS
        return AnswerRow(
            deployment=self._wanted.deployment,
            question=excerpt(row["question"], most, words),
            answer=excerpt(row["answer"], most, words),
            status=status_of(row),
            http_status=row["status"],
            failures=failures,
            rating=rating,
            comments=tuple(excerpt(one, most, words) or "" for one in comments),
            says_words=bool(words) and _says(comments, words),
            label=label,
            values=dict(sorted(values.items())),
            **same,
        )

    def _read_ratings(self) -> pa.Table:
        if self._ratings is None:
            self._ratings = self._signals.read(RATING_COLUMNS, IS_RATING)
        return self._ratings

    def _read_known(self) -> pa.Table:
        """Read what the answers of the period are named, and others that their signals may be about instead."""
        if self._known is None:
            is_signaled = self._read_ratings().num_rows or self._read_labels().num_rows
            days = self._logs.days() if is_signaled else []
            where = IS_RATABLE if self._wanted.entries_only else None
            parts = [self._logs.read(JOIN_COLUMNS, where, [day], self._period) for day in days]
            schema = pa.schema([PARSED_LOGS.schema.field(name) for name in JOIN_COLUMNS])
            answers = pa.concat_tables([schema.empty_table(), *parts])
            ratings = self._read_ratings().select(SIGNAL_JOIN_COLUMNS)
            table = self._lake.table(PARSED_LOGS, self._wanted.deployment)
            self._known = with_namesakes(table, answers, self._wanted.until, ratings, where)
        return self._known

    def _read_labels(self) -> pa.Table:
        if self._labels is None:
            self._labels = self._signals.read(LABEL_COLUMNS, IS_LABEL)
        return self._labels


def _refusing(rows: pa.Table, scored: Mapping[str, float]) -> set[str]:
    """Return the event ids of the rows that refuse by their score of `refusal`, and without one by their text."""
    texts = rows.select(["event_id", "answer", "status", "error"]).to_pylist()
    return {one for one, value in scored.items() if value > 0} | refusing_texts(texts, scored)


def _has_id_part(rows: pa.Table, part: str) -> pa.Array:
    ids = zip(
        rows["event_id"].to_pylist(), rows["response_id"].to_pylist(), rows["response_ids"].to_pylist(), strict=True
    )
    found = [any(part in (one or "") for one in (event, response, *(many or ()))) for event, response, many in ids]
    return pa.array(found, pa.bool_())


def _says(comments: Sequence[str], words: Sequence[str]) -> bool:
    """Whether one of the comments has all the words."""
    return any(words_in(one, words) == words for one in comments)


def _statuses(rows: pa.Table) -> list[AnswerStatus]:
    return [status_of(row) for row in rows.select(["status", "error"]).to_pylist()]


def _is_within(value: float | None, wanted: AnswerFilter) -> bool:
    if value is None:
        return False
    return (wanted.below is None or value < wanted.below) and (wanted.above is None or value > wanted.above)
