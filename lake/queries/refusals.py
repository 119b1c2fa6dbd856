"""Query of how many of a deployment's answers of a time refuse, by their texts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.answer_rows import ENTRY_COLUMNS, IS_ANSWER
from lake.queries.failures import REFUSAL_CHARACTERS
from lake.queries.latest_rows import each_once
from lake.queries.metric_scores import texts_of_answers
from lake.spec.schemas import PARSED_LOGS
from lake.spec.texts.refusals import refusal_in
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

MOST_ANSWERS = 200
"""Answers that are read, the latest."""
_READ = tuple(dict.fromkeys(("event_id", "date", "requested_at", "ingested_at", "status", *ENTRY_COLUMNS)))


class RefusedAnswers(NamedTuple):
    """How many of the latest answers with a text refuse, or say that the information is missing."""

    refusals: int
    answers: int


def refused_answers(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> RefusedAnswers:
    """Count among the latest answers from `since` on and before `until`; what their texts say is read of no others."""
    reader = DayReader(lake.table(PARSED_LOGS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where, parts, found = IS_ANSWER & within("requested_at", since, until), [], 0
    for day in reader.days():
        parts.append(each_once(reader.read(_READ, where, [day], RequestPeriod(since, until))))
        found += parts[-1].num_rows
        if found >= MOST_ANSWERS:
            break
    if not found:
        return RefusedAnswers(0, 0)
    rows = pa.concat_tables(parts)
    latest = rows.take(pc.sort_indices(rows, sort_keys=[("requested_at", "descending")])[:MOST_ANSWERS])
    texts = texts_of_answers(lake, deployment, latest, ("answer",), REFUSAL_CHARACTERS)
    answers = [one["answer"] for one in texts.values() if (one["answer"] or "").strip()]
    return RefusedAnswers(sum(refusal_in(one) is not None for one in answers), len(answers))
