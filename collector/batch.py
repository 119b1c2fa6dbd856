"""A batch: the rows that some lines became, per table, and the count of what happened to every line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collector.position import Partition
from lake import REJECTED, TableSpec

TableKey = tuple[TableSpec, str | None]


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


@dataclass(frozen=True, slots=True)
class Row:
    """A row on its way: where its line stands, and its columns but `source` and `ingested_at`."""

    partition: Partition
    offset: int
    columns: dict[str, Any]


class Batch:
    """Rows and counts that are committed together."""

    def __init__(self, opened_at: datetime) -> None:
        self.opened_at = opened_at
        self.bytes = 0
        self.rows: defaultdict[TableKey, list[Row]] = defaultdict(list)
        self.sections: dict[Partition, Section] = {}

    def section(self, partition: Partition, offset: int) -> Section:
        """Give the part for this partition; `offset` is where it starts if it is new."""
        return self.sections.setdefault(partition, Section(offset, offset))

    def put(self, spec: TableSpec, partition: Partition, offset: int, columns: dict[str, Any]) -> None:
        """Add a row to the table that it belongs to."""
        deployment = columns["deployment"] if spec is not REJECTED else None
        self.rows[spec, deployment].append(Row(partition, offset, columns))

    def counts(self) -> Counts:
        """What became of all lines of the batch."""
        return sum((section.counts for section in self.sections.values()), Counts())
