"""New answers: rows of `parsed_logs` that no earlier pass has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from evaluator.answers.answer import ANSWER_COLUMNS
from evaluator.answers.tables import DeploymentTables
from lake.tables.positions import read_new

FROM_LOGS = "evaluate:parsed_logs"
NEWEST = "evaluate:newest_ingested_at"
"""Microseconds since 1970: where to go on if the log of `parsed_logs` no longer reaches back to FROM_LOGS."""

WAITED_UNTIL = "evaluate:waited_until"
"""Microseconds since 1970: answers whose contexts may still come have waited if they were written until then."""

POSITIONS = (FROM_LOGS, NEWEST)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class NewAnswers:
    """Rows, and how far `parsed_logs` is read with them, by the names of `POSITIONS`.

    Where all or some were read again, for want of a history, those with a score are left out.
    """

    rows: pa.Table
    reached: Mapping[str, int]


def new_answers(
    tables: DeploymentTables, seen: Mapping[str, int], columns: Sequence[str] = ANSWER_COLUMNS
) -> NewAnswers:
    """Read what came since `seen`, the positions in `scores`; of what may have come before, that which has no score."""
    newest = None if NEWEST not in seen else _EPOCH + seen[NEWEST] * _MICROSECOND
    change = read_new(tables.logs, seen.get(FROM_LOGS), columns, newest)
    rows = change.rows
    if change.repeats:
        scored = tables.scores.read(["event_id"])["event_id"].combine_chunks()
        rows = rows.filter(pc.invert(pc.is_in(rows["event_id"], scored)))
    # A table that was made anew may hold older rows than the one before.
    latest = max((at for at in (newest, change.newest) if at is not None), default=None)
    reached = {FROM_LOGS: change.version, NEWEST: None if latest is None else (latest - _EPOCH) // _MICROSECOND}
    return NewAnswers(rows, {name: at for name, at in reached.items() if at is not None})
