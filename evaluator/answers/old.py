"""Old answers: rows of `parsed_logs` that the service has read, which a backfill may score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers.answer import ANSWER_COLUMNS
from evaluator.answers.late_contexts import may_get_contexts
from evaluator.answers.new import FROM_LOGS, POSITIONS, WAITED_UNTIL, new_answers
from evaluator.answers.tables import DeploymentTables
from lake.queries.answer_rows import IS_ANSWER
from lake.spec.schemas import PARSED_LOGS
from lake.tables.pass_transaction import BACKFILLS, PASSES, PassTransaction

ANSWERS_AT_ONCE = 1_000
"""So many are read, scored and committed together."""


@dataclass(frozen=True)
class Period:
    """A stretch of time of requests, `until` not included."""

    since: datetime
    until: datetime

    def answers(self, day: date | None = None) -> ds.Expression:
        """Let through the answers of the period, or those of one of its days."""
        return self.requests(day) & IS_ANSWER

    def requests(self, day: date | None = None) -> ds.Expression:
        """Let through rows, also of `scores`, that are about requests of the period, or of one of its days."""
        asked, dated = ds.field("requested_at"), ds.field("date")
        first, last = (self.since.astimezone(UTC).date(), self.until.astimezone(UTC).date())
        days = (dated >= pa.scalar(first)) & (dated <= pa.scalar(last)) if day is None else dated == pa.scalar(day)
        return days & (asked >= _moment(self.since)) & (asked < _moment(self.until))


@dataclass(frozen=True)
class BackfillPass:
    """How far the service and earlier backfills have come with a deployment, and the pass that goes on from there.

    `waited_until` is the moment up to which answers have waited long enough for their contexts, in microseconds since
    1970. What `transaction` appends collides with other backfills and with erasures; before the first pass of the
    service also with that, which scores all that is there.
    """

    transaction: PassTransaction
    waited_until: int

    @classmethod
    def of(cls, tables: DeploymentTables, now: datetime, context_grace: float) -> BackfillPass:
        """Return a new pass over old answers."""
        transaction = PassTransaction(tables.scores, (*POSITIONS, WAITED_UNTIL), (BACKFILLS, PASSES))
        by_the_clock = int((now - timedelta(seconds=context_grace)).timestamp() * 1_000_000)
        begun = cls(transaction, transaction.committed.get(WAITED_UNTIL, by_the_clock))
        if begun.has_service_pass:
            transaction.beside(PASSES)
        return begun

    @property
    def has_service_pass(self) -> bool:
        """Whether the service has had a pass: then it will score all that it has not read yet."""
        return FROM_LOGS in self.transaction.committed


@dataclass(frozen=True)
class AnswerBatch:
    """Rows of at most `ANSWERS_AT_ONCE` answers, and how many more were left to the service."""

    rows: pa.Table
    left: int


def answers_a_day(tables: DeploymentTables, period: Period) -> dict[date, int]:
    """Count the answers of each day of a period, latest day first."""
    counted: Counter[date] = Counter()
    if tables.logs.version() is None:
        return {}
    for rows in _read(tables.logs.dataset(), period.answers(), ["date"]):
        for entry in rows["date"].value_counts().to_pylist():
            counted[entry["values"]] += entry["counts"]
    return dict(sorted(counted.items(), reverse=True))


def old_answers(
    tables: DeploymentTables,
    period: Period,
    day: date,
    backfill_pass: BackfillPass,
    columns: Sequence[str] = ANSWER_COLUMNS,
) -> Iterator[AnswerBatch]:
    """Read a day's answers without those that the service has still to score.

    Those are new to it, or wait for their contexts. In memory are the rows of a row group or two. Raises
    FileNotFoundError where a file is gone before it was read.
    """
    logs = tables.logs.dataset()
    # After the look at the rows: each of them that is new to the service is then among these.
    unread = _unread(tables, backfill_pass)
    for rows in _batches(_read(logs, period.answers(day), columns)):
        ready = rows.filter(~may_get_contexts(backfill_pass.waited_until))
        if unread is not None:
            ready = ready.filter(pc.invert(pc.is_in(ready["event_id"], unread)))
        yield AnswerBatch(ready, rows.num_rows - ready.num_rows)


def _unread(tables: DeploymentTables, backfill_pass: BackfillPass) -> pa.Array | None:
    if not backfill_pass.has_service_pass:
        return None
    rows: pa.Table = new_answers(tables, backfill_pass.transaction.committed, ["event_id"]).rows
    return rows["event_id"].combine_chunks()


def _read(logs: ds.Dataset, where: ds.Expression, columns: Sequence[str]) -> Iterator[pa.Table]:
    # One row group after the other: a scan of the dataset reads ahead, and would soon hold all texts of a day.
    for file in logs.get_fragments(filter=where):
        for group in file.split_by_row_group(where, schema=logs.schema):
            rows = group.to_table(schema=logs.schema, columns=list(columns), filter=where)
            if rows.num_rows:
                yield rows


def _batches(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    held: list[pa.Table] = []
    for part in parts:
        held.append(part)
        if sum(one.num_rows for one in held) >= ANSWERS_AT_ONCE:
            rows = pa.concat_tables(held)
            whole = rows.num_rows - rows.num_rows % ANSWERS_AT_ONCE
            yield from (rows.slice(start, ANSWERS_AT_ONCE) for start in range(0, whole, ANSWERS_AT_ONCE))
            held = [rows.slice(whole)]
    if held and (rows := pa.concat_tables(held)).num_rows:
        yield rows


def _moment(at: datetime) -> pa.Scalar:
    return pa.scalar(at, PARSED_LOGS.schema.field("requested_at").type)
