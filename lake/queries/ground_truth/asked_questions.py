"""Query of how often the questions of cases were asked of late, and by which metrics answers to them are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.answer_rows import CASE_QUESTION_COLUMNS, IS_ANSWER, CaseQuestion, case_question
from lake.queries.ground_truth.question_keys import normalised_question
from lake.queries.latest_rows import each_once
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.day_reading import DayReader, within
from lake.tables.lake import Lake

ENOUGH = 10_000
"""Answers that are looked at, those of the latest days: of a day with more, so many."""
_READ = tuple(dict.fromkeys(("event_id", "ingested_at", "documents", *CASE_QUESTION_COLUMNS)))
Asked = Counter[int]
"""How often each question was asked, by a hash of it: who keeps this keeps no texts."""


def questions_asked(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> Asked:
    """Count the questions of answers from `since` on and before `until`, of `ENOUGH` answers at most."""
    counts: Asked = Counter()
    reader = DayReader(lake.table(PARSED_LOGS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    left = ENOUGH
    for day in reader.days():
        rows = reader.read(_READ, IS_ANSWER & within("requested_at", since, until), [day], most=left)
        for row in each_once(rows).to_pylist():
            if (asked := case_question(row)) is not None:
                counts[_key(asked, row["documents"])] += 1
        left -= rows.num_rows
        if left <= 0:
            break
    return counts


def times_asked(asked: Asked, cases: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return by `case_id` how many of the answers are to the question of a case.

    They are as answers are compared with cases: the same words but for their spelling, about the same documents, in the
    same conversation where the question needs one.
    """
    return {
        case["case_id"]: asked[_key(CaseQuestion(case["question"] or "", case["conversation_hash"]), case["documents"])]
        for case in cases
    }


def comparing_metrics(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> tuple[str, ...]:
    """Return the metrics that compared answers of a period with cases, in their order."""
    reader = DayReader(lake.table(SCORES, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where = ds.field("reference_match").is_valid() & within("requested_at", since, until)
    found: pa.ChunkedArray = reader.read(["metric"], where)["metric"]
    return tuple(sorted(pc.unique(found.drop_null()).to_pylist()))


def _key(question: CaseQuestion, documents: Iterable[str] | None) -> int:
    return hash((normalised_question(question.text), question.conversation_hash, frozenset(documents or ())))
