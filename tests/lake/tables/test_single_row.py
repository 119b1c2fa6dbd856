"""The table of a single row: who wrote it last may write it again, and nobody else without having read it."""

from __future__ import annotations

import pytest

from lake.delta_log.change import LostRaceError
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from lake.tables.single_row import SingleRow


def test_its_writer_replaces_it_again_and_again(lake_of_each_kind: Lake) -> None:
    """Without reading in between, from the first row on; the last one is the row."""
    row = SingleRow(lake_of_each_kind.table(MONITOR_STATE, "app"))
    for number in range(4):
        row.write({"format": number})
        assert SingleRow(lake_of_each_kind.table(MONITOR_STATE, "app")).read()["format"] == number  # type: ignore[index]


def test_another_writer_is_refused_until_it_has_read_the_row(lake_of_each_kind: Lake) -> None:
    """And whoever wrote before it too, then."""
    one, other = (SingleRow(lake_of_each_kind.table(MONITOR_STATE, "app")) for _ in range(2))
    one.write({"format": 1})
    with pytest.raises(LostRaceError):
        other.write({"format": 2})
    assert other.read()["format"] == 1  # type: ignore[index]
    other.write({"format": 3})
    with pytest.raises(LostRaceError):
        one.write({"format": 4})
    assert one.read()["format"] == 3  # type: ignore[index]
