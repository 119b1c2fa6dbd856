"""Scores of one metric within a period, the latest days first, and texts of some answers; pruned by date."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_details import AnswerScore, score_of
from lake.queries.latest_rows import LATEST_COLUMNS, each_once, latest_scores
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.spec.table_spec import TIMESTAMP
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

_PLACE = ("date", "event_id", "response_id", "requested_at")
_READ = tuple(dict.fromkeys((*LATEST_COLUMNS, *_PLACE)))
_SCORED = pa.schema(
    [("date", pa.date32()), ("event_id", pa.string()), ("response_id", pa.string()), ("requested_at", TIMESTAMP),
     ("value", pa.float64())]
)  # fmt: skip
_INSTANT = timedelta(microseconds=1)


def metric_scores(
    lake: Lake, deployment: str | None, metric: str, version: str, since: datetime, until: datetime, enough: int
) -> pa.Table:
    """Return the finite values of a metric's version for answers from `since` on and before `until`, one an answer.

    Days are read whole, the latest first, until there are `enough`. The rows have the answer's address, `response_id`,
    `requested_at` and `value`.
    """
    period = RequestPeriod(since, until)
    reader = DayReader(lake.table(SCORES, deployment), since.astimezone(UTC).date(), _last_day(until))
    where = (
        (ds.field("metric") == metric) & (ds.field("metric_version") == version) & within("requested_at", since, until)
    )
    parts, found = [_SCORED.empty_table()], 0
    for day in reader.days():
        rows = latest_scores(reader.read(_READ, where, [day], period))
        rows = rows.filter(pc.fill_null(pc.is_finite(rows["value"]), False)).select(_SCORED.names).cast(_SCORED)
        parts.append(rows)
        found += rows.num_rows
        if found >= enough:
            break
    return pa.concat_tables(parts)


def texts_of_answers(
    lake: Lake, deployment: str | None, answers: pa.Table, columns: Sequence[str], characters: int
) -> dict[str, dict[str, Any]]:
    """Return by `event_id` these text columns of answers (rows of `metric_scores`), each cut to so many characters.

    An answer that has been erased since it was scored is absent.
    """
    found: dict[str, dict[str, Any]] = {}
    if not answers.num_rows:
        return found
    ends = pc.min_max(answers["date"]).as_py()
    reader = DayReader(lake.table(PARSED_LOGS, deployment), ends["min"], ends["max"])
    for day in pc.unique(answers["date"]).to_pylist():
        of_day = answers.filter(pc.equal(answers["date"], day))
        asked = pc.min_max(of_day["requested_at"]).as_py()
        ids = of_day["event_id"].to_pylist()
        rows = reader.read_rows(
            ["event_id"], ids, ("event_id", "ingested_at", *columns), [day], RequestPeriod(asked["min"], asked["max"])
        )
        rows = each_once(rows).select(["event_id", *columns])
        for name in columns:
            cut = pc.utf8_slice_codeunits(rows[name], 0, characters)
            rows = rows.set_column(rows.schema.get_field_index(name), name, cut)
        found |= {row["event_id"]: row for row in rows.to_pylist()}
    return found


def scores_of_answers(lake: Lake, deployment: str | None, answers: pa.Table) -> dict[str, list[AnswerScore]]:
    """Return by `event_id` the latest score of each metric of answers (rows of `metric_scores`)."""
    found: dict[str, list[AnswerScore]] = {}
    if not answers.num_rows:
        return found
    days = pc.min_max(answers["date"]).as_py()
    asked = pc.min_max(answers["requested_at"]).as_py()
    reader = DayReader(lake.table(SCORES, deployment), days["min"], days["max"])
    ids, period = answers["event_id"].to_pylist(), RequestPeriod(asked["min"], asked["max"])
    rows = reader.read_rows(["event_id"], ids, SCORES.schema.names, pc.unique(answers["date"]).to_pylist(), period)
    for row in latest_scores(rows).to_pylist():
        found.setdefault(row["event_id"], []).append(score_of(row, is_latest=True))
    return found


def _last_day(until: datetime) -> Any:
    return (until - _INSTANT).astimezone(UTC).date()
