"""A batch: rows for each table, made from lines, and counts of stored, rejected, duplicate and filtered lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collector.commit.position import Partition
from collector.commit.table_rows import RowPosition, TableRows
from collector.parsing import LogRecord, Rejection, SignalRecord
from lake import PARSED_LOGS, REJECTED, USER_SIGNALS, LineOutcome, TableSpec

TableKey = tuple[TableSpec, str | None]

_NAMES = {
    PARSED_LOGS: LogRecord.__struct_fields__,
    USER_SIGNALS: SignalRecord.__struct_fields__,
    REJECTED: (*Rejection.__struct_fields__, "date"),
}
_COUNTED_AS = {PARSED_LOGS: LineOutcome.STORED, USER_SIGNALS: LineOutcome.SIGNALS, REJECTED: LineOutcome.REJECTED}


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
class Section:
    """The part of a batch that came from one partition."""

    first_offset: int
    offset: int
    bytes: int = 0
    exhausted_size: int | None = None
    newest_requested_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    reasons: Counter[str] = field(default_factory=Counter)


class Batch:
    """Rows and counts that are committed together; `opened_at` is a time of the monotonic clock."""

    def __init__(self, opened_at: float) -> None:
        self.opened_at = opened_at
        self.bytes = 0
        self.held = 0
        """Approximate bytes that its rows take in memory."""
        self.rows: dict[TableKey, TableRows] = {}
        self.sections: dict[Partition, Section] = {}

    def section(self, partition: Partition, offset: int) -> Section:
        """Return the section of this partition; a new one starts at `offset`."""
        return self.sections.setdefault(partition, Section(offset, offset))

    def put(self, key: TableKey, position: RowPosition, values: tuple[Any, ...], size: int, now: datetime) -> None:
        """Add a row to its table; `values` are the fields of its record, `size` its approximate bytes."""
        rows = self.rows.get(key)
        if rows is None:
            rows = self.rows[key] = TableRows(key[0], _NAMES[key[0]])
        self.held -= rows.held
        rows.add(position, values, size, now)
        self.held += rows.held

    def drop(self, key: TableKey, row: int) -> None:
        """Remove a row and count it as a duplicate, because another collector has stored its line."""
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
