"""Positions of a reader in a table that is appended to, removed and made anew."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

from lake.delta_log.change import Change
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.positions import read_new

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def append(lake: Lake, *names: str) -> None:
    rows = [{"event_id": name, "date": NOON.date(), "requested_at": NOON} for name in names]
    lake.table(PARSED_LOGS, "app").append(PARSED_LOGS.rows(rows))


def read(lake: Lake, position: int | None) -> Change:
    return read_new(lake.table(PARSED_LOGS, "app"), position, ["event_id"])


def names(change: Change) -> list[str]:
    return sorted(change.rows["event_id"].to_pylist())


def test_only_rows_after_the_position_come(tmp_path: Path) -> None:
    """The first read gives all; a later one what came since, and nothing where nothing came."""
    lake = Lake(str(tmp_path))
    append(lake, "a", "b")
    first = read(lake, None)
    append(lake, "c")
    second = read(lake, first.version)
    third = read(lake, second.version)
    assert [names(change) for change in (first, second, third)] == [["a", "b"], ["c"], []]
    assert not any(change.repeats for change in (first, second, third))
    assert first.version is not None
    assert second.version is not None
    assert first.version < second.version == third.version


def test_a_table_that_was_made_anew_comes_whole_and_its_positions_are_greater(tmp_path: Path) -> None:
    """Also a second time: a position that was reached once is never reached again."""
    lake = Lake(str(tmp_path))
    append(lake, "a")
    append(lake, "b")
    position = read(lake, None).version
    for name in ("c", "d"):
        shutil.rmtree(tmp_path / "app")
        append(lake, name)
        change = read(lake, position)
        assert (names(change), change.repeats) == ([name], True)
        assert change.version is not None
        assert position is not None
        assert change.version > position
        position = change.version
        append(lake, f"{name}, later")
        change = read(lake, position)
        assert (names(change), change.repeats) == ([f"{name}, later"], False)
        position = change.version


def test_times_in_the_log_are_utc(tmp_path: Path) -> None:
    """Statistics of a file are read by other programs: their times end in Z, as Delta's protocol asks."""
    append(Lake(str(tmp_path)), "a")
    log = (tmp_path / "app" / "parsed_logs" / "_delta_log" / f"{1:020}.json").read_text()
    added = [json.loads(line)["add"] for line in log.splitlines() if '"add"' in line]
    assert json.loads(added[0]["stats"])["minValues"]["requested_at"] == "2026-11-20T12:00:00.000000Z"
