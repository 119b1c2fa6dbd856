from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from lake.maintenance.retention import drop_before
from lake.spec.case_tables import REPLAYS
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import ALERTS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_whole_dates_go(tmp_path: Path) -> None:
    """Rows of older dates are gone, those of the first date that is kept stay, and a reader finds nothing new."""
    table = Lake(str(tmp_path)).table(SCORES, "rag-app")
    for days in range(4):
        day = NOW.date() - timedelta(days=days)
        table.append(SCORES.rows([{"score_id": str(days), "date": day}]))
    seen = table.read_since(None)
    first = NOW.date() - timedelta(days=1)
    assert drop_before(table, first, dry_run=True).dates == 2
    assert drop_before(table, first).files == 2
    assert sorted(table.read(["score_id"])["score_id"].to_pylist()) == ["0", "1"]
    assert table.read_since(seen.version).rows.num_rows == 0
    assert drop_before(table, first).files == 0


def test_the_newest_baseline_of_replays_stays(tmp_path: Path) -> None:
    """The answers that later runs are compared with; those of older baselines and of other runs go."""
    table = Lake(str(tmp_path)).table(REPLAYS, "rag-app")
    for run, is_baseline in enumerate((True, True, False)):
        at = NOW - timedelta(days=40 - run)
        row = {"run_id": f"run-{run}", "run_started_at": at, "date": at.date(), "is_baseline": is_baseline}
        table.append(REPLAYS.rows([row | {"case_id": case} for case in ("a", "b")]))
    assert drop_before(table, NOW.date()).files == 2
    assert table.read(["run_id"])["run_id"].to_pylist() == ["run-1", "run-1"]
    assert drop_before(table, NOW.date()).files == 0


def test_a_table_without_dates_is_refused(tmp_path: Path) -> None:
    """Ground truth and alerts do not age by the day: asking for it is an error that names the table."""
    with pytest.raises(ValueError, match="alerts has no dates"):
        drop_before(Lake(str(tmp_path)).table(ALERTS, "rag-app"), NOW.date())


def batch(table: Table, name: str, offset: int, day: date, size: int | None = None) -> None:
    source = {"kind": "file", "name": name, "partition": f"key-{name}", "offset": offset}
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    counts = {"bytes": 10, "lines": 3, "stored": 2, "signals": 0, "duplicates": 1, "rejected": 0, "filtered": 0}
    row = {"date": day, "source": source, "first_offset": offset - 10, "exhausted_size": size, "committed_at": at}
    table.append(BATCHES.rows([row | counts]))


def test_the_books_forget_no_position_and_no_count(tmp_path: Path) -> None:
    """Old rows of the books become one a source: its last position, the file's end if it was found, and the sums."""
    table = Lake(str(tmp_path)).table(BATCHES)
    old = NOW.date() - timedelta(days=40)
    for offset, size in ((10, None), (20, None), (20, 20)):
        batch(table, "one", offset, old, size)
    batch(table, "two", 10, old)
    batch(table, "one", 30, NOW.date())
    assert drop_before(table, NOW.date()).files == 4
    rows = table.read().sort_by([("committed_at", "ascending")]).to_pylist()
    marks = {(row["source"]["name"], row["source"]["offset"], row["exhausted_size"], row["lines"]) for row in rows}
    assert marks == {("one", 20, 20, 9), ("two", 10, None, 3), ("one", 30, None, 3)}
    version = table.version()
    assert drop_before(table, NOW.date()).files == 0
    assert table.version() == version
