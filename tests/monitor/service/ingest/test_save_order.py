"""When the state is saved: after its alerts are recorded, with all handlers as far, whatever the clock does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lake.spec.schemas import ALERTS
from lake.spec.state_tables import MONITOR_STATE
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.detect.limits import Limits
from monitor.service.monitor import Monitor
from tests.monitor.service.ingest.test_damaged_state import METRIC, refreshed


class Killed(BaseException):
    """Stands for the end of a process: no step catches it."""


def saved_at(lake: Lake) -> Any:
    (row,) = lake.table(MONITOR_STATE, "rag").read(["saved_at"]).to_pylist()
    return row["saved_at"]


def new_scores(rows: Any, clock: Any, value: float) -> None:
    about = {"requested_at": clock(), "date": clock().date()}
    rows.scores("rag", *(about | {"value": value, "response_id": f"{clock()} {n}"} for n in range(20)))


@pytest.mark.parametrize("error", [OSError("the store is away"), Killed()], ids=["error", "kill"])
def test_an_alert_that_was_not_recorded_is_recorded_once_after_a_restart(
    make_monitor: Callable[[], Monitor],
    lake: Lake,
    rows: Any,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    """The state of a stream that fell is not saved before the alert is in the lake."""
    rows.hours("rag", 24 * 4, lambda _: 0.8, METRIC)
    first = make_monitor()
    refreshed(first)
    for _ in range(6):
        clock.advance(hours=1)
        new_scores(rows, clock, 0.3)
    clock.advance(hours=3)
    append = Table.append

    def failing(table: Table, *given: Any, **more: Any) -> None:
        if table.spec is ALERTS:
            raise error
        append(table, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Table, "append", failing)
        try:
            first.refresh()
        except Killed:
            pass
        else:
            assert first.failures["record_alerts"] > 0
    assert lake.table(ALERTS, "rag").version() is None
    refreshed(make_monitor())
    refreshed(make_monitor())
    assert lake.table(ALERTS, "rag").read(["change"])["change"].to_pylist() == ["firing"]


def test_a_clock_that_was_set_back_does_not_stop_saving(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any
) -> None:
    """What comes then is saved, however far ahead the clock was."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    clock.advance(days=30)
    monitor = make_monitor()
    refreshed(monitor)
    before = saved_at(lake)
    clock.advance(days=-30, minutes=5)
    rows.logs("rag", {"requested_at": clock(), "date": clock().date()})
    refreshed(monitor)
    assert saved_at(lake) < before


def test_nothing_is_saved_while_a_handler_of_answers_lags(
    make_monitor: Callable[[], Monitor], lake: Lake, rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers that limits refused come to them again after a restart, each once."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    monitor = make_monitor()
    refreshed(monitor)
    before = saved_at(lake)
    clock.advance(hours=2)
    rows.logs("rag", *({"requested_at": clock(), "date": clock().date(), "response_id": str(n)} for n in range(7)))

    def refused(*_: Any, **__: Any) -> None:
        raise ValueError("not these")

    with monkeypatch.context() as patched:
        patched.setattr(Limits, "add_answers", refused)
        monitor.refresh()
        assert monitor.failures["find_floors"] == 1
        assert saved_at(lake) == before
    taken: list[int] = []
    add = Limits.add_answers

    def counted(limits: Limits, name: str, rows: Any, **more: Any) -> None:
        taken.append(rows.num_rows)
        add(limits, name, rows, **more)

    monkeypatch.setattr(Limits, "add_answers", counted)
    refreshed(make_monitor())
    assert sum(taken) == 7
