"""All rows of a table as it is at one moment, day by day: a year of them need not be in memory at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date

import pyarrow as pa
import pyarrow.dataset as ds

from lake.delta_log.delta_log import DataFile, day_of
from lake.tables.table import Table

NO_DAY = date.min
"""Stands for the rows without a date, and for all rows of a table that has no dates."""


class History:
    """The rows of one version of a table, to be read in portions of whole days.

    Not safe for use by several threads at once. Files stay readable for as long as replaced ones are kept
    (`lake.vacuum_after`); later reads raise FileNotFoundError.
    """

    def __init__(self, table: Table, since: date | None = None) -> None:
        """`since` leaves out the days before it, but not the rows without a date."""
        self._table = table
        self.version: int | None = None
        """None where there is no table."""
        self._files: dict[date, list[DataFile]] = {}
        self._rows: Counter[date] = Counter()
        found = table.files_of_version()
        if found is None:
            return
        self.version, files = found
        for file in files:
            day = day_of(file) or NO_DAY
            if since is None or day >= since or day == NO_DAY:
                self._files.setdefault(day, []).append(file)
                self._rows[day] += file.rows or 0

    @property
    def days(self) -> Mapping[date, int]:
        """How many rows each day has, the earliest first."""
        return {day: self._rows[day] for day in sorted(self._rows)}

    def read(
        self, columns: Mapping[str, ds.Expression], after: date | None, until: date, where: ds.Expression | None = None
    ) -> pa.Table:
        """Read these columns of the days after `after`, None being from the first on, up to `until`, included."""
        days = [day for day in sorted(self._files) if (after is None or day > after) and day <= until]
        return self._table.read_files([file for day in days for file in self._files[day]], columns, where)
