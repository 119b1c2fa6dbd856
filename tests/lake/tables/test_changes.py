"""Notes of the tables that have new rows, where they cannot be written."""

from __future__ import annotations

import pytest

from lake.spec.schemas import SCORES
from lake.tables.changes import ChangeNotes
from lake.tables.table import Table


def test_a_note_that_cannot_be_written_is_logged_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def away() -> Table:
        raise OSError("the store is away")

    ChangeNotes(away).note(SCORES, "app", 1)
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "lake.tables.changes")
    assert record.getMessage() == ("no row in _changes says that tables have new rows: OSError: the store is away")
