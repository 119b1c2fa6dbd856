"""The audit log: what was noted is written, late if need be; what is lost is counted."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.spec.root_tables import AUDIT
from lake.spec.service_vocabulary import AuditAction
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.access.audit import MOST_WAITING, AuditLog
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.exposition import without_installation
from tests.monitor.conftest import NOW
from tests.servers import wait_for


@pytest.fixture
def audit(lake: Lake, clock: Any) -> AuditLog:
    return AuditLog(lake, clock)


def stored(lake: Lake) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lake.table(AUDIT).read(AUDIT.schema.names).to_pylist()
    return rows


def broken(*_: object) -> None:
    raise OSError("no space left on device")


def test_a_row_says_who_did_what(audit: AuditLog, lake: Lake, clock: Any) -> None:
    """With its time to the microsecond, the deployment, the answer, and what else there is."""
    clock.advance(seconds=7, microseconds=8)
    audit.note("ann", AuditAction.READ_TEXTS, "rag-search", "event-1", "one of the worst")
    audit.note(None, AuditAction.SILENCE)
    assert audit.write()
    assert audit.waiting == 0
    empty = {"deployment": None, "event_id": None, "detail": None}
    at = {"date": NOW.date(), "at": clock()}
    assert stored(lake) == [
        at | {"who": "ann", "action": "read_texts", "deployment": "rag-search", "event_id": "event-1"}
        | {"detail": "one of the worst"},
        at | {"who": None, "action": "silence"} | empty,
    ]  # fmt: skip


def test_nothing_noted_is_no_commit(audit: AuditLog, lake: Lake) -> None:
    """No table is made for nothing."""
    assert audit.write()
    assert lake.table(AUDIT).version() is None


def test_a_lake_that_refuses_delays_and_loses_nothing(
    audit: AuditLog, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows wait, the problem is said, and once the lake takes them they are there, each once."""
    audit.note("ann", AuditAction.SIGN_IN)
    with monkeypatch.context() as patch:
        patch.setattr(Table, "append", broken)
        assert not audit.write()
        assert "no space left" in str(audit.problem)
        audit.note("ann", AuditAction.SIGN_OUT)
        assert "2 rows wait, 0 are lost" in str(audit.problem)
    assert audit.write()
    assert audit.problem is None
    assert sorted(row["action"] for row in stored(lake)) == ["sign_in", "sign_out"]


def test_what_finds_no_place_is_counted(
    audit: AuditLog, monitor: Monitor, get: Callable[..., httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory is bounded; those that came first stay, and a metric and the problem say how many are lost."""
    monkeypatch.setattr(Table, "append", broken)
    monitor.audit.note("ann", AuditAction.SIGN_IN, detail="x" * 10**6)
    for _ in range(MOST_WAITING + 6):
        monitor.audit.note("ann", AuditAction.READ_TEXTS)
    assert MOST_WAITING == 10_000
    assert not monitor.audit.write()
    assert f"{MOST_WAITING} rows wait, 7 are lost" in str(monitor.audit.problem)
    metrics = without_installation(get(create_app(monitor), "/metrics").text)
    assert "dialwatch_audit_lost_rows_total 7.0" in metrics
    assert f"dialwatch_audit_waiting_rows {float(MOST_WAITING)}" in metrics


@example(["\ud800", "\udfff", "a\ud800", "\x00", "\U0010ffff"])
@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=30), min_size=5, max_size=5))
def test_any_text_can_be_stored(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """One row that Arrow refused, such as a lone surrogate, would keep all others from the lake."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    audit = AuditLog(lake, lambda: NOW)
    audit.note(texts[0], AuditAction.LABEL, texts[1], texts[2], texts[3])
    audit.note(texts[4] * 1000, AuditAction.LABEL)
    assert audit.write()
    assert [row["who"] for row in stored(lake)] == [
        text.encode("utf-8", "replace").decode() for text in (texts[0], (texts[4] * 1000)[:1000])
    ]


def test_a_thread_writes_what_is_noted(audit: AuditLog, lake: Lake) -> None:
    """While it runs, and what is left at the end."""
    with audit.running():
        audit.note("ann", AuditAction.SIGN_IN)
        wait_for(lambda: audit.waiting == 0)
        audit.note("ann", AuditAction.SIGN_OUT)
    assert sorted(row["action"] for row in stored(lake)) == ["sign_in", "sign_out"]


def test_a_slow_lake_delays_nobody(audit: AuditLog, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note returns while the lake has not answered yet; what came meanwhile is written next."""
    began, go_on = threading.Event(), threading.Event()
    append = Table.append

    def slow(table: Table, rows: Any) -> None:
        began.set()
        assert go_on.wait(60)
        append(table, rows)

    monkeypatch.setattr(Table, "append", slow)
    with audit.running():
        audit.note("ann", AuditAction.SIGN_IN)
        assert began.wait(60)
        audit.note("ann", AuditAction.SIGN_OUT)
        assert audit.waiting == 2
        go_on.set()
    assert sorted(row["action"] for row in stored(lake)) == ["sign_in", "sign_out"]


def test_a_lake_that_was_moved_away_gets_no_new_table(audit: AuditLog, tmp_path: Path) -> None:
    """Where the table is gone that was there before, the rows wait, as all writers of the lake do."""
    audit.note("ann", AuditAction.SIGN_IN)
    assert audit.write()
    shutil.rmtree(tmp_path / "lake" / "_audit")
    audit.note("ann", AuditAction.SIGN_OUT)
    assert not audit.write()
    assert audit.waiting == 1


def test_a_problem_is_logged_once_and_said_without_the_rows(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However often the lake refuses, and again after a success; what the rows hold is in no message."""

    def refuse(*_: object) -> None:
        raise OSError("no space left on device" + "; a row of ann" * 1000)

    for round_ in (1, 2):
        audit.note("ann", AuditAction.SIGN_IN)
        with monkeypatch.context() as patch:
            patch.setattr(Table, "append", refuse)
            assert not audit.write()
            assert not audit.write()
        assert str(audit.problem).startswith("_audit cannot be written; 1 rows wait, 0 are lost: OSError: no space")
        assert len(str(audit.problem)) < 1000
        assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
            "1 rows of _audit could not be written, and wait"
        ] * round_
        assert audit.write()


class Waits(threading.Event):
    """An event that is over at once, and keeps how long somebody wanted to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.seconds.append(timeout)
        return super().wait(0.001)


def test_a_lake_that_refuses_is_asked_again_more_and_more_seldom(
    audit: AuditLog, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a new row, up to a minute apart; once it takes rows, every five seconds at most."""
    stop = audit._stop = Waits()
    append, refused = Table.append, list[int]()

    def refuse_at_first(table: Table, rows: Any) -> None:
        if len(refused) % 10 < 9:
            refused.append(rows.num_rows)
            raise OSError("no space left on device")
        append(table, rows)

    monkeypatch.setattr(Table, "append", refuse_at_first)
    with audit.running():
        audit.note("ann", AuditAction.SIGN_IN)
        wait_for(lambda: len(stop.seconds) == 10)
        assert audit.waiting == 0
        assert stop.seconds[-1] == 5.0
        refused.append(0)
        audit.note("ann", AuditAction.SIGN_OUT)
        wait_for(lambda: len(stop.seconds) == 20)
    first, second = stop.seconds[:9], stop.seconds[10:19]
    assert max(first) <= 60.0
    assert min(first[6:]) > 5.0 >= first[0]
    assert second[0] <= 5.0
    assert len(stored(lake)) == 2


def test_the_end_waits_for_nothing_but_the_last_rows(
    audit: AuditLog, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread that has nothing to do ends at once; rows that the lake does not take are said to be lost."""
    with audit.running():
        pass
    assert not any(thread.name == "audit" for thread in threading.enumerate())
    assert not caplog.records
    monkeypatch.setattr(Table, "append", broken)
    audit.note("ann", AuditAction.SIGN_IN)
    with audit.running():
        pass
    assert caplog.messages[-1] == "1 rows of _audit are lost: the lake did not take them in time"
