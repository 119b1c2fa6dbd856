import logging
import threading

import pytest

from dialwatch.schedule import Schedule


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
    """Stopping tells the pass that runs, and so may somebody else, who need not wait."""
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
