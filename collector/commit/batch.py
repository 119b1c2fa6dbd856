"""A batch: the rows that some lines became, per table, and the count of what happened to every line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collector.commit.position import Partition
from collector.commit.table_rows import Place, TableRows
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
    """What became of the lines: `lines` is counted where they come in, the others where they end."""

    lines: int = 0
    stored: int = 0
    signals: int = 0
    duplicates: int = 0
    rejected: int = 0
    filtered: int = 0

    def add_up(self) -> bool:
        """Whether every line that came in ended somewhere."""
        return self.lines == self.stored + self.signals + self.duplicates + self.rejected + self.filtered

    def __add__(self, other: Counts) -> Counts:
        """Sum, field by field."""
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
        self.rows: dict[TableKey, TableRows] = {}
        self.sections: dict[Partition, Section] = {}

    def section(self, partition: Partition, offset: int) -> Section:
        """Give the part for this partition; `offset` is where it starts if it is new."""
        return self.sections.setdefault(partition, Section(offset, offset))

    def put(self, spec: TableSpec, deployment: str | None, place: Place, values: tuple[Any, ...], size: int) -> None:
        """Add a row of some `size` in bytes to the table that it belongs to; `values` are those of its record."""
        rows = self.rows.get((spec, deployment))
        if rows is None:
            rows = self.rows[spec, deployment] = TableRows(spec, _NAMES[spec])
        rows.add(place, values, size)

    def drop(self, key: TableKey, row: int) -> None:
        """Count a row as a duplicate after all: another collector has stored its line."""
        rows = self.rows[key]
        if row not in rows.dropped:
            rows.dropped.add(row)
            counts = self.sections[rows.places[row].partition].counts
            counted = _COUNTED_AS[key[0]]
            setattr(counts, counted, getattr(counts, counted) - 1)
            counts.duplicates += 1

    def counts(self) -> Counts:
        """What became of all lines of the batch."""
        return sum((section.counts for section in self.sections.values()), Counts())
