"""Change of a table, as a reader sees it, and the errors of those who come too late."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa


class LostRaceError(RuntimeError):
    """Another writer has committed for the same `app_id` since this handle last read the table."""


class TableReplacedError(RuntimeError):
    """The table was removed and created again, so that a version of the old one means nothing: read it from None."""


@dataclass(frozen=True)
class Change:
    """Rows added to a table after a version, and the version that holds them.

    `newest` is the greatest `ingested_at` that was ever read, None in a table without that column. Where `repeats` is
    true, the rows may hold some that came before: the reader drops by their id those that it has.
    """

    rows: pa.Table
    version: int | None
    newest: datetime | None = None
    repeats: bool = False
