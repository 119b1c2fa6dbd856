from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lake.delta_log.change import TableReplacedError
from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.maintenance.compaction import compact
from lake.spec.schemas import ALERTS, SCORES, USER_SIGNALS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.service.health.failures import Failures
from monitor.service.ingest import ingest as ingest_module
from monitor.service.ingest import new_rows as new_rows_module
from monitor.service.ingest.new_rows import NewRows
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
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


def test_of_the_history_no_more_is_read_than_up_to_a_day(rows: Any, lake: Lake):
    """Requests, signals and scores of all deployments are read day by day together; the rest comes with the last."""
    days = [(NOW - timedelta(days=left)).date() for left in (2, 1, 0)]
    rows.logs("a", *({"date": day} for day in days))
    rows.scores("a", *({"date": day, "value": 1.0} for day in days))
    signal = {"deployment": "a", "signaled_at": NOW, "signal": "like", "origin": "explicit"}
    signals = [signal | {"signal_id": str(day), "response_id": str(day), "date": day} for day in days]
    lake.table(USER_SIGNALS, "a").append(USER_SIGNALS.rows(signals))
    ingest = ingest_module.Ingest(lake, MonitorSettings(), Failures(), NOW)

    def counts() -> tuple[int, int, int]:
        state = ingest.deployments["a"]
        return state.requests.total, state.scores.evaluations, state.requests.signals["like"]

    found = []
    for until in (*days[:2], None):
        ingest.read_deployment("a", NOW, until)
        found.append(counts())
    assert found == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]


@pytest.mark.slow
def test_history_in_portions_gives_the_same_as_at_once(rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """Sums, readings and alerts, for portions of a few rows, and where a deployment begins later than another."""
    rows.hours("early", 24 * 6, lambda left: 0.8 if left > 30 else 0.3, "m")
    rows.hours("late", 24 * 3, lambda left: 0.8 if left > 20 else 0.3, "m")
    rows.logs("early", *({"date": (NOW - timedelta(days=n)).date()} for n in range(5)))

    def started() -> Any:
        for name in ("early", "late"):
            shutil.rmtree(lake.table(MONITOR_STATE, name).uri, ignore_errors=True)
            shutil.rmtree(lake.table(ALERTS, name).uri, ignore_errors=True)
        monitor = Monitor(lake, MonitorSettings(), lambda: NOW)
        monitor.refresh()
        assert monitor.snapshot is not None
        assert not monitor.failures
        found = monitor.snapshot.deployments.values()
        return [(one.requests, one.scores.evaluations, one.readings, one.changes, one.limits) for one in found]

    at_once = started()
    assert all(readings and changes for _, _, readings, changes, _ in at_once)
    for most in (1, 100, 1000):
        monkeypatch.setattr(new_rows_module, "MOST_ROWS", most)
        monkeypatch.setattr(ingest_module, "MOST_ROWS", most)
        assert started() == at_once
