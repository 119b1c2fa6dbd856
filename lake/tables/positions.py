"""Positions in a table: numbers that never go back, also where the table is removed and made anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lake.delta_log.change import Change, TableReplacedError
from lake.tables.table import Table

_PER_TABLE = 1 << 32
"""A position is a version, and for each time that the table was made anew this more."""


def read_new(table: Table, position: int | None, columns: Sequence[str], newest: datetime | None = None) -> Change:
    """Read what came after a position, as `Table.read_since` does; the change's `version` is the position reached.

    Of a table that was removed and made anew all rows come, and `repeats` is true.
    """
    replaced, version = (0, None) if position is None else divmod(position, _PER_TABLE)
    try:
        change = table.read_since(version, columns, newest)
    except TableReplacedError:
        replaced, change = replaced + 1, replace(table.read_since(None, columns), repeats=True)
    return change if change.version is None else replace(change, version=replaced * _PER_TABLE + change.version)


def was_replaced(position: int, reached: int) -> bool:
    """Whether the table was made anew between a position and one that was reached later."""
    return reached // _PER_TABLE > position // _PER_TABLE
