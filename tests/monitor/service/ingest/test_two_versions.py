"""Two monitors of different versions on one lake, as in a rolling upgrade: neither can read the state of the other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from monitor.service.ingest import checkpoints
from monitor.service.monitor import Monitor

METRIC = "faithfulness_kprecision"
OTHER_FORMAT = 12345


class OtherVersion:
    """A monitor whose state has another format."""

    def __init__(self, monitor: Monitor, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monitor = monitor
        self._monkeypatch = monkeypatch

    def refresh(self) -> None:
        with self._monkeypatch.context() as other:
            other.setattr(checkpoints, "FORMAT", OTHER_FORMAT)
            self.monitor.refresh()


def hour_of(rows: Any, clock: Any, *monitors: Any) -> None:
    """Write scores of an hour, and have each monitor refresh twice."""
    at = clock()
    rows.scores("rag", *({"requested_at": at, "date": at.date(), "value": 0.8, "metric": METRIC} for _ in range(20)))
    rows.batch(lines=1, stored=1)
    clock.advance(hours=1)
    for _ in range(2):
        for monitor in monitors:
            monitor.refresh()


def format_of(lake: Lake, spec: TableSpec) -> int:
    table = lake.table(spec, "rag" if spec.per_deployment else None)
    return table.read(["format"])["format"].to_pylist()[0]


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which states could not be read, so that all of their rows were, in order."""
    found: list[str] = []
    load = checkpoints.Checkpoints.load

    def noted(self: Any, spec: TableSpec, deployment: str | None) -> Any:
        try:
            return load(self, spec, deployment)
        except checkpoints.StateError:
            found.append(f"{checkpoints.FORMAT == OTHER_FORMAT} {spec.name}")
            raise

    monkeypatch.setattr(checkpoints.Checkpoints, "load", noted)
    return found


@pytest.fixture
def upgrade(
    make_monitor: Callable[[], Monitor], rows: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[OtherVersion, Monitor]:
    """A monitor of the version before, at work, and a new one that has just started."""
    rows.hours("rag", 24 * 3, lambda _: 0.8, METRIC)
    rows.batch(lines=1, stored=1)
    before, new = OtherVersion(make_monitor(), monkeypatch), make_monitor()
    hour_of(rows, clock, before)
    hour_of(rows, clock, before, new)
    return before, new


def test_the_state_of_another_version_is_learned_anew_once(
    upgrade: tuple[OtherVersion, Monitor], lake: Lake, rows: Any, clock: Any, learned: list[str], caplog: Any
) -> None:
    """By the monitor that starts; the other goes on from memory, says so once, and both have the same readings."""
    before, new = upgrade
    caplog.set_level("INFO", "monitor.ingest")
    for _ in range(10):
        hour_of(rows, clock, before, new)
    assert learned == []
    assert (before.monitor.failures, new.failures) == ({}, {"restore_state": 2})
    messages = [record.getMessage() for record in caplog.records if "another version" in record.getMessage()]
    assert len(messages) == len(set(messages))
    assert before.monitor.snapshot is not None
    assert new.snapshot is not None
    readings = [one.deployments["rag"].readings for one in (before.monitor.snapshot, new.snapshot)]
    assert readings[0] == readings[1]
    assert format_of(lake, MONITOR_STATE) == format_of(lake, ROOT_STATE) != OTHER_FORMAT
    assert not before.monitor.saves_states()


def test_who_is_left_alone_learns_anew_once_and_saves(
    upgrade: tuple[OtherVersion, Monitor], lake: Lake, rows: Any, clock: Any, learned: list[str]
) -> None:
    """The new version was taken back: some hours later the one before saves again, without what was erased."""
    before, _ = upgrade
    rows.logs("rag", {"response_id": "answer-of-kim", "event_id": "call-of-kim", "user_id": "kim"})
    at = clock() - timedelta(minutes=1)
    score = {"event_id": "call-of-kim", "response_id": "answer-of-kim", "value": 0.0}
    rows.scores("rag", {"requested_at": at, "date": at.date()} | score)
    hour_of(rows, clock, before)
    erase(lake, Subject(user="kim"), clock())
    for _ in range(8):
        hour_of(rows, clock, before)
    assert learned == [f"True {MONITOR_STATE.name}"]
    assert format_of(lake, MONITOR_STATE) == format_of(lake, ROOT_STATE) == OTHER_FORMAT
    assert not any("kim" in text for text in lake.table(MONITOR_STATE, "rag").read(["texts"])["texts"].to_pylist())
