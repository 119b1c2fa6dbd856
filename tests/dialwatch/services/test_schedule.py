from __future__ import annotations

import logging
import threading
import time
from datetime import datetime, timedelta, tzinfo

import apscheduler.schedulers.base
import pytest

import dialwatch.services.schedule
import runtime.clocks
from dialwatch.services.schedule import Schedule


def test_passes_follow_each_other_and_never_overlap() -> None:
    """A pass longer than the interval is not started twice; the next ones run after it."""
    running, done = threading.Lock(), threading.Semaphore(0)
    overlaps = []

    def run_pass() -> None:
        if not running.acquire(blocking=False):
            overlaps.append(True)
            return
        try:
            threading.Event().wait(0.05)
        finally:
            running.release()
            done.release()

    with Schedule(run_pass, every=0.01):
        assert all(done.acquire(timeout=60) for _ in range(3))
    assert not overlaps


def test_a_pass_that_raises_is_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    """The log says that it failed, why, and what to look at."""
    passes, again = iter([RuntimeError("the lake is away")]), threading.Event()

    def run_pass() -> None:
        for error in passes:
            raise error
        again.set()

    with caplog.at_level(logging.ERROR), Schedule(run_pass, every=0.01):
        assert again.wait(60)
    assert "check that the lake is reachable" in caplog.text
    assert "the lake is away" in caplog.text


def test_a_pass_that_looks_at_stop_ends_early_and_none_begins_after_it() -> None:
    """Stopping asks the pass that runs to stop; somebody else may ask too, and need not wait."""
    stop, started, passes = threading.Event(), threading.Event(), []

    def run_pass() -> None:
        passes.append(stop.is_set())
        started.set()
        stop.wait(60)

    with Schedule(run_pass, every=0.01, stop=stop):
        assert started.wait(60)
    assert stop.is_set()
    with Schedule(run_pass, every=0.01, stop=stop):
        threading.Event().wait(0.1)
    assert passes == [False]


def test_stop_waits_for_the_pass_that_runs_and_may_be_called_again() -> None:
    """After stop nothing is half done and nothing starts."""
    started, ended = threading.Event(), threading.Event()

    def run_pass() -> None:
        started.set()
        threading.Event().wait(0.05)
        ended.set()

    schedule = Schedule(run_pass, every=3600)
    schedule.stop()
    schedule.start()
    assert started.wait(60)
    schedule.stop()
    assert ended.is_set()
    schedule.stop()


class SetClock(datetime):
    """The clock of the machine as a test sets it; the monotonic one goes on as it does."""

    by = timedelta(0)

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + cls.by


@pytest.mark.parametrize("hours", [-1, 1])
def test_passes_go_on_where_the_clock_is_set(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    """A clock that is set back by an hour stops no pass for an hour, and one that is set forward repeats none."""
    for module in (apscheduler.schedulers.base, dialwatch.services.schedule, runtime.clocks):
        monkeypatch.setattr(module, "datetime", SetClock)
    monkeypatch.setattr(SetClock, "by", timedelta(0))
    done = threading.Semaphore(0)
    with Schedule(done.release, every=0.05):
        assert all(done.acquire(timeout=60) for _ in range(3))
        SetClock.by = timedelta(hours=hours)
        assert all(done.acquire(timeout=20) for _ in range(5))
        SetClock.by = timedelta(0)
        assert all(done.acquire(timeout=20) for _ in range(5))


def test_the_next_pass_comes_when_it_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set forward brings no pass of an hour's time before that hour is over."""
    for module in (apscheduler.schedulers.base, dialwatch.services.schedule, runtime.clocks):
        monkeypatch.setattr(module, "datetime", SetClock)
    monkeypatch.setattr(SetClock, "by", timedelta(0))
    done = threading.Semaphore(0)
    schedule = Schedule(done.release, every=3600)
    with schedule:
        assert done.acquire(timeout=60)
        SetClock.by = timedelta(hours=5)
        schedule._scheduler.wakeup()
        assert not done.acquire(timeout=1)


def test_a_store_that_is_away_is_one_line_of_log(caplog: pytest.LogCaptureFixture) -> None:
    """A traceback is for errors that nobody knows."""
    errors, again = iter([ConnectionRefusedError("no\nstore"), RuntimeError("what is this?")]), threading.Event()

    def run_pass() -> None:
        for error in errors:
            raise error
        again.set()

    with Schedule(run_pass, every=0.01):
        assert again.wait(60)
    known, unknown = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert known.exc_info is None
    assert known.getMessage().endswith("ConnectionRefusedError: no store")
    assert unknown.exc_info is not None


@pytest.mark.parametrize("raises", [True, False])
def test_a_pass_that_failed_is_tried_again_soon(raises: bool) -> None:
    """An outage of a minute does not cost an hour: the waits double, and end with a pass that goes well."""
    times: list[float] = []
    well = threading.Event()

    def run_pass() -> str | None:
        times.append(time.monotonic())
        if len(times) == 4:
            well.set()
        elif raises:
            raise OSError("the lake is away")
        else:
            return "1 table was not looked after"
        return None

    with Schedule(run_pass, every=3600, retry=0.1):
        assert well.wait(60)
        threading.Event().wait(1.0)
    assert len(times) == 4
    assert times[3] - times[0] >= 0.7


def test_a_pass_that_is_woken_runs_at_once_and_after_one_that_is_running() -> None:
    """Not only when the next one is due, in an hour."""
    begun, go_on, passes = threading.Semaphore(0), threading.Semaphore(0), []

    def run_pass() -> None:
        begun.release()
        assert go_on.acquire(timeout=60)
        passes.append(True)

    with Schedule(run_pass, every=3600) as schedule:
        assert begun.acquire(timeout=60)
        schedule.wake()
        schedule.wake()
        go_on.release(3)
        assert begun.acquire(timeout=60)
        while len(passes) < 2:
            time.sleep(0.01)
        assert not begun.acquire(timeout=0.2)
        schedule.wake()
        assert begun.acquire(timeout=60)
