"""A batch: rows for each table, made from lines, and counts of stored, rejected, duplicate and filtered lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from collector.commit.position import Content, Partition
from collector.commit.table_rows import RowPosition, TableRows
from collector.parsing import LogRecord, Rejection, SignalRecord
from lake.spec.root_tables import REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.service_vocabulary import LineOutcome
from lake.spec.table_spec import TableSpec

TableKey = tuple[TableSpec, str | None]

_NAMES = {
    PARSED_LOGS: LogRecord.__struct_fields__,
    USER_SIGNALS: SignalRecord.__struct_fields__,
    REJECTED: (*Rejection.__struct_fields__, "date"),
}
_COUNTED_AS = {PARSED_LOGS: LineOutcome.STORED, USER_SIGNALS: LineOutcome.SIGNALS, REJECTED: LineOutcome.REJECTED}


class BatchState(StrEnum):
    """What has become of a batch; it moves from each state to the next one only."""

    FILLING = "filling"
    """It takes lines."""
    SEALED = "sealed"
    """It takes no more lines, and is to be committed; rows that others have stored are dropped from it."""
    STORED = "stored"
    """All of its rows are in their tables, and `_batches` does not say so yet."""
    COMMITTED = "committed"
    """`_batches` has its counts and positions, and sources may forget its lines."""


class IncompleteBatchError(RuntimeError):
    """A batch has not as many rows as it counts lines: it must not be committed, and its lines must be read again."""


@dataclass
class Counts:
    """Number of lines, in all and by outcome. `lines` is counted at arrival, the others when the outcome is known."""

    lines: int = 0
    stored: int = 0
    signals: int = 0
    duplicates: int = 0
    rejected: int = 0
    filtered: int = 0

    def add_up(self) -> bool:
        """Whether the outcomes add up to the number of lines."""
        return self.lines == self.stored + self.signals + self.duplicates + self.rejected + self.filtered

    def __add__(self, other: Counts) -> Counts:
        """Add the counts field by field."""
        return Counts(*(getattr(self, name) + getattr(other, name) for name in Counts.__dataclass_fields__))


@dataclass
class PartitionSection:
    """The part of a batch that came from one partition."""

    first_offset: int
    offset: int
    bytes: int = 0
    exhausted_size: int | None = None
    content: Content | None = None
    newest_requested_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    reasons: Counter[str] = field(default_factory=Counter)


class Batch:
    """Rows, counts and positions that are committed together; `opened_at` is a time of the monotonic clock.

    Only a batch whose state is FILLING takes lines: later ones would be counted with rows that are encoded already.
    """

    def __init__(self, opened_at: float) -> None:
        self.opened_at = opened_at
        self.state = BatchState.FILLING
        self.bytes = 0
        self.held = 0
        """Approximate bytes that its rows take in memory."""
        self.is_full = False
        """Whether rows could not be encoded as they came: no line should be added to them."""
        self.rows: dict[TableKey, TableRows] = {}
        self.sections: dict[Partition, PartitionSection] = {}

    def section(self, partition: Partition, offset: int) -> PartitionSection:
        """Return the section of this partition, to add lines to; a new one starts at `offset`."""
        self.require(BatchState.FILLING)
        return self.sections.setdefault(partition, PartitionSection(offset, offset))

    def put(self, key: TableKey, position: RowPosition, values: tuple[Any, ...], size: int, now: datetime) -> None:
        """Add a row to its table; `values` are the fields of its record, `size` its approximate bytes."""
        if self.state is not BatchState.FILLING:
            self.require(BatchState.FILLING)
        rows = self.rows.get(key)
        if rows is None:
            rows = self.rows[key] = TableRows(key[0], _NAMES[key[0]])
        self.held -= rows.held
        rows.add(position, values, size, now)
        self.held += rows.held
        if rows.is_full:
            self.is_full = True

    def require(self, *states: BatchState) -> None:
        """Raise RuntimeError if the batch is in none of these states."""
        if self.state not in states:
            raise RuntimeError(f"the batch is {self.state}, where it must be {' or '.join(states)}")

    def advance(self, state: BatchState) -> None:
        """Move to the next state; raises RuntimeError if it is not the next one."""
        order = list(BatchState)
        self.require(order[order.index(state) - 1])
        self.state = state

    def require_all_rows(self) -> None:
        """Raise IncompleteBatchError if there are not as many rows, less dropped ones, as lines with that outcome."""
        counts = self.counts()
        for spec, outcome in _COUNTED_AS.items():
            held = sum(len(rows.positions) - len(rows.dropped) for key, rows in self.rows.items() if key[0] is spec)
            if held != getattr(counts, outcome):
                raise IncompleteBatchError(
                    f"a batch counts {getattr(counts, outcome)} lines as {outcome} and holds {held} rows for "
                    f"{spec.name}: it is not committed, and its lines are read again; please report it"
                )

    def drop(self, key: TableKey, row: int) -> None:
        """Remove a row and count it as a duplicate, because another collector has stored its line."""
        self.require(BatchState.SEALED)
        rows = self.rows[key]
        if row not in rows.dropped:
            rows.dropped.add(row)
            counts = self.sections[rows.positions[row].partition].counts
            counted = _COUNTED_AS[key[0]]
            setattr(counts, counted, getattr(counts, counted) - 1)
            counts.duplicates += 1

    def counts(self) -> Counts:
        """Sum of the counts of all sections."""
        return sum((section.counts for section in self.sections.values()), Counts())
