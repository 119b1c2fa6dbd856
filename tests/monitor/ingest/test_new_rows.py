from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lake import SCORES, Lake, Subject, Table, TableReplacedError, compact, erase
from monitor import Monitor, MonitorSettings
from monitor.ingest import ingest
from monitor.ingest.new_rows import NewRows
from tests.monitor.conftest import NOW


def take(new_rows: NewRows) -> list[str]:
    taken: list[pa.Table] = []
    assert not new_rows.read(SCORES, "a", ("response_id",), {"taken": taken.append}, NOW)
    return [name for rows in taken for name in rows["response_id"].to_pylist()]


def test_rows_come_once_and_again_after_a_failure(rows: Any, lake: Lake):
    """What was handed over does not come again; what could not be used does."""
    new_rows = NewRows(lake)
    rows.scores("a", {"response_id": "one"})

    def refuse(taken: pa.Table) -> None:
        raise ValueError("not now")

    errors = new_rows.read(SCORES, "a", ("response_id",), {"taken": refuse}, NOW)
    assert str(errors["taken"]) == "not now"
    assert not new_rows.has_read(SCORES, ["a"], "taken")
    assert take(new_rows) == ["one"]
    assert take(new_rows) == []
    assert new_rows.has_read(SCORES, ["a"], "taken")
    assert not new_rows.has_read(SCORES, ["a", "b"], "taken")


def test_a_table_that_is_gone_is_not_an_empty_one(rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """A reader that opens the table anew after an error, and finds none, must not begin with the next one as if new."""
    new_rows = NewRows(lake)
    rows.scores("a", {"response_id": "one"})
    take(new_rows)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("503 SlowDown")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "read_since", fail)
        with pytest.raises(OSError, match="SlowDown"):
            take(new_rows)
    shutil.rmtree(lake.table(SCORES, "a").uri)
    with pytest.raises(TableReplacedError, match="was removed"):
        take(new_rows)


def test_a_read_that_comes_too_late_is_an_error(rows: Any, lake: Lake):
    """Where the log no longer says what is new nothing is counted twice: only a reader that begins anew goes on."""
    new_rows = NewRows(lake)
    rows.scores("a", {"response_id": "one"})
    take(new_rows)
    rows.scores("a", {"response_id": "two"})
    compact(lake.table(SCORES, "a"))
    for path in Path(lake.table(SCORES, "a").uri).rglob("*"):
        os.utime(path, (time.time() - 3600,) * 2)
    erase(lake, Subject(user="nobody"), datetime.now(UTC))
    with pytest.raises(TableReplacedError, match="are not known any more"):
        take(new_rows)
    assert sorted(take(NewRows(lake))) == ["one", "two"]


@pytest.mark.integration
def test_a_monitor_of_many_deployments_starts_the_same_with_and_without_other_processes(
    rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
):
    """Its figures and readings are those of one that reads by itself, also where the processes cannot be started."""
    for number in range(ingest._MANY_DEPLOYMENTS):
        rows.scores(f"app-{number}", {"response_id": f"r{number}", "value": number / 100})

    def started() -> tuple[Any, Mapping[str, int]]:
        monitor = Monitor(lake, MonitorSettings(), lambda: NOW)
        monitor.refresh()
        assert monitor.snapshot is not None
        return monitor.snapshot.deployments, monitor.failures

    def read_since(table: Table, *given: Any, **named: Any) -> Any:
        assert table.spec is not SCORES, "the other processes should have read it"
        return read_here(table, *given, **named)

    read_here = Table.read_since
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(Table, "read_since", read_since)
        ahead = started()
    assert len(ahead[0]) == ingest._MANY_DEPLOYMENTS
    assert not ahead[1]
    with monkeypatch.context() as alone:
        alone.setattr(ingest, "_MANY_DEPLOYMENTS", 10**6)
        assert started() == ahead
    for executable in ("/bin/false", "/no/such/file"):
        with monkeypatch.context() as broken:
            broken.setattr("sys.executable", executable)
            assert started() == ahead
