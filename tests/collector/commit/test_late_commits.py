"""A collector whose commits land late, or whose machine slept before one: every line is stored once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable

from collector.commit.position import Partition, Piece
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.delta_log.log_files import LocalLogFiles
from lake.maintenance.cleaning import remove_history
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.lines import chat_line

A = Partition("file", "a", "a")


def stored(lake: Lake) -> list[int]:
    rows = DeltaTable(lake.table(PARSED_LOGS, "rag-app").uri).to_pyarrow_table(columns=["source"])
    return sorted(row["source"]["offset"] for row in rows.to_pylist())


def flush_until_it_goes_well(collector: Collector) -> None:
    for _ in range(3):
        try:
            collector.flush()
            return
        except OSError:
            pass
    raise AssertionError("three tries failed")


@pytest.mark.parametrize("minutes", [0, 90])
@pytest.mark.parametrize("table", [PARSED_LOGS.name, BATCHES.name])
@pytest.mark.parametrize("lands", ["before the next try", "during the next try", "never"])
def test_a_commit_that_lands_late_stores_each_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, lands: str, minutes: int
) -> None:
    """Nobody answers it; the next try goes well, the table can be read, and so do the batches after it."""
    lake, now = Lake(str(tmp_path)), [datetime(2026, 11, 20, 12, tzinfo=UTC)]
    collector = Collector(lake, CollectorSettings(), lambda: now[0])
    collector.add(Piece(A, chat_line(1), 1))
    collector.flush()
    real, held = LocalLogFiles.create, list[Callable[[], bool]]()

    def create(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        if table not in self._uri:
            return real(self, version, commit)
        if not held:
            held.append(lambda: real(self, version, commit))
            raise TimeoutError("no answer")
        if len(held) == 1 and lands == "during the next try":
            held.append(held[0])
            held[0]()
        return real(self, version, commit)

    monkeypatch.setattr(LocalLogFiles, "create", create)
    for number in (2, 3):
        collector.add(Piece(A, chat_line(number), number))
    with pytest.raises(TimeoutError):
        collector.flush()
    # Rows that have waited for long are written again, into other files.
    now[0] += timedelta(minutes=minutes)
    if lands == "before the next try":
        held[0]()
    flush_until_it_goes_well(collector)
    collector.add(Piece(A, chat_line(4), 4))
    flush_until_it_goes_well(collector)
    assert held
    assert stored(lake) == [1, 2, 3, 4]
    assert sum(lake.table(BATCHES).read(["stored"])["stored"].to_pylist()) == 4


def test_a_collector_that_slept_before_its_commit_stores_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure has removed its file meanwhile: it is written again."""
    lake = Lake(str(tmp_path))
    collector = Collector(lake, CollectorSettings())
    collector.add(Piece(A, chat_line(1), 1))
    collector.flush()
    real, slept = LocalLogFiles.create, []

    def create(self: LocalLogFiles, version: int, commit: bytes) -> bool:
        if PARSED_LOGS.name in self._uri and not slept:
            slept.append(1)
            for path in self._table.rglob("*.parquet"):
                os.utime(path, (time.time() - 7200,) * 2)
            remove_history(Lake(str(tmp_path)).table(PARSED_LOGS, "rag-app"), datetime.now(UTC))
        return real(self, version, commit)

    monkeypatch.setattr(LocalLogFiles, "create", create)
    collector.add(Piece(A, chat_line(2), 2))
    flush_until_it_goes_well(collector)
    assert slept
    assert stored(lake) == [1, 2]
