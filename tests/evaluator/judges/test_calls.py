import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.judges.calls import BudgetSpentError, Calls, ForgottenReplies, UnreservedError

NOON = 1_795_176_000.0
HOUR = 3600


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def calls(tmp_path: Path, clock: Clock) -> Iterator[Calls]:
    calls = Calls(tmp_path / "judges" / "calls.sqlite", clock)
    yield calls
    calls.close()


def test_a_reply_is_found_by_its_request_once_it_is_kept(calls: Calls) -> None:
    """A call under way has no reply; the first of two replies stays the reply."""
    first, second = calls.begin("strict", "key", 1.0), calls.begin("strict", "key", 1.0)
    assert calls.find("key") is None
    calls.finish(first, "one", 0.25)
    calls.finish(second, "two", 0.5)
    assert calls.find("key") == "one"
    assert calls.spent("strict") == (0.75, 0.75)


def test_a_call_under_way_counts_at_its_upper_bound(calls: Calls, tmp_path: Path, clock: Clock) -> None:
    """So it does for another process, and after a restart; one that cost nothing counts no more."""
    calls.begin("strict", "a", 2.0)
    calls.release(calls.begin("strict", "b", 4.0))
    other = Calls(tmp_path / "judges" / "calls.sqlite", clock)
    assert other.spent("strict") == (2.0, 2.0)
    assert other.spent("lenient") == (0.0, 0.0)
    other.close()


def test_a_call_that_could_go_over_a_budget_is_not_begun(calls: Calls, tmp_path: Path, clock: Clock) -> None:
    """What another process has reserved counts; a call that just fits is begun."""
    other = Calls(tmp_path / "judges" / "calls.sqlite", clock)
    other.begin("strict", "a", 6.0, per_hour=10)
    calls.begin("strict", "b", 4.0, per_hour=10)
    with pytest.raises(BudgetSpentError, match=r"the hour's budget of 10 has 0 left, the call may cost 0\.5"):
        other.begin("strict", "c", 0.5, per_hour=10)
    assert calls.spent("strict") == (10.0, 10.0)
    other.close()


def test_budgets_begin_again_with_the_hour_and_with_the_day(calls: Calls, clock: Clock) -> None:
    """A cost belongs to the hour in which its call began, however late the reply comes."""
    late = calls.begin("strict", "a", 5.0, 5, 8)
    clock.now += HOUR
    calls.begin("strict", "b", 3.0, 5, 8)
    calls.finish(late, "reply", 4.0)
    assert calls.spent("strict") == (3.0, 7.0)
    with pytest.raises(BudgetSpentError, match="the day's budget of 8 has 1 left"):
        calls.begin("strict", "c", 2.0, 5, 8)
    clock.now += 11 * HOUR
    assert calls.spent("strict") == (0.0, 0.0)
    calls.begin("strict", "d", 5.0, 5, 8)


def test_old_calls_are_forgotten_and_todays_costs_are_not(calls: Calls, clock: Clock) -> None:
    """Pruning bounds the file; it gives no budget back."""
    calls.finish(calls.begin("strict", "old", 1.0), "reply", 1.0)
    clock.now += HOUR
    calls.finish(calls.begin("strict", "new", 1.0), "reply", 1.0)
    assert calls.prune(days=1 / 24) == 1
    assert (calls.find("old"), calls.find("new")) == (None, "reply")
    assert calls.spent("strict") == (1.0, 2.0)
    clock.now += 40 * HOUR
    assert calls.prune(days=1) == 1
    assert calls.spent("strict") == (0.0, 0.0)


def test_pruning_more_than_a_day_gives_no_budget_of_today_back(calls: Calls, clock: Clock) -> None:
    """However short replies are kept, what was paid since midnight counts; what was paid before is forgotten."""
    calls.finish(calls.begin("strict", "a", 1.0), "reply", 1.0)
    clock.now += 3 * HOUR
    assert calls.prune(days=1 / 24) == 1
    assert calls.spent("strict") == (0.0, 1.0)
    clock.now += 25 * HOUR
    calls.prune(days=30)
    clock.now -= 25 * HOUR
    assert calls.spent("strict") == (0.0, 0.0)


def test_a_call_that_was_pruned_meanwhile_cannot_be_finished(calls: Calls, clock: Clock) -> None:
    """The error says what to do, and the ledger stays as it was."""
    late = calls.begin("strict", "a", 1.0)
    clock.now += HOUR
    calls.prune(days=1 / 24)
    for end in (lambda: calls.finish(late, "reply", 0.5), lambda: calls.release(late)):
        with pytest.raises(LookupError, match="Keep calls for longer than they take"):
            end()
    assert calls.spent("strict") == (0.0, 1.0)


def test_nobody_notes_a_call_between_the_look_at_a_budget_and_the_note(
    calls: Calls, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process that begins a call just then waits, and sees what this one has reserved."""

    def begin() -> None:
        other = Calls(tmp_path / "judges" / "calls.sqlite", clock)
        try:
            other.begin("strict", "b", 6.0, per_day=10)
        finally:
            other.close()

    look = calls._spent
    with ThreadPoolExecutor(1) as threads:
        begun: list[Future[None]] = []

        def look_slowly(judge: str, now: float) -> tuple[float, float]:
            seen = look(judge, now)
            begun.append(threads.submit(begin))
            wait(begun, timeout=0.3)  # long enough for one that does not wait
            return seen

        monkeypatch.setattr(calls, "_spent", look_slowly)
        calls.begin("strict", "a", 6.0, per_day=10)
        with pytest.raises(BudgetSpentError):
            begun[0].result()
    assert look("strict", clock.now) == (6.0, 6.0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["finish", "release", "leave"]), st.integers(1, 8), st.integers(0, 8), st.integers(0, 2)),
    max_size=30,
)


@given(steps=STEPS)
def test_the_ledger_is_the_sum_of_its_calls(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    """Whatever is finished, released or left under way, over whichever hours."""
    clock = Clock()
    calls = Calls(tmp_path_factory.mktemp("calls") / "calls.sqlite", clock)
    expected: dict[float, int] = {}
    for i, (end, bound, cost, hours) in enumerate(steps):
        hour = clock.now
        call = calls.begin("strict", str(i), bound)
        clock.now += hours * HOUR
        if end == "finish":
            calls.finish(call, "reply", cost)
        elif end == "release":
            calls.release(call)
        expected[hour] = expected.get(hour, 0) + {"finish": cost, "release": 0, "leave": bound}[end]
    today = sum(cost for hour, cost in expected.items() if hour // 86400 == clock.now // 86400)
    assert calls.spent("strict") == (expected.get(clock.now, 0), today)
    calls.close()


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    """The file, those that SQLite keeps beside it and a new folder are private, whatever the process lets others read;
    and so is a file of an earlier version from now on."""
    old = tmp_path / "old.sqlite"
    umask = os.umask(0)
    try:
        for path in (tmp_path / "new" / "calls.sqlite", old):
            for _ in range(2):
                calls = Calls(path)
                calls.finish(calls.begin("j", "k", 1.0), "reply", 0.5)
                beside = sorted(path.parent.glob(f"{path.name}*"))
                assert len(beside) == 3
                assert [f"{one.stat().st_mode & 0o777:o}" for one in beside] == ["600"] * 3
                for one in beside if path == old else ():
                    one.chmod(0o644)
                calls.close()
        assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(umask)


@pytest.mark.integration
def test_opening_the_file_again_keeps_the_locks_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction of one is closed to others while the same process opens the file a second time."""
    monkeypatch.setattr("evaluator.judges.calls._WAIT_SECONDS", 0)
    path = tmp_path / "calls.sqlite"
    Calls(path).close()
    writing = sqlite3.connect(path, isolation_level=None)
    writing.execute("PRAGMA locking_mode = EXCLUSIVE")
    writing.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        Calls(path)
    code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('SELECT * FROM calls')"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "database is locked" in other.stderr
    writing.close()


def test_what_is_left_of_the_present_hour_stays_reserved(calls: Calls, clock: Clock) -> None:
    """Only hours that ended before are given back; each once, and a sum that is a rounding error is none."""
    for hours in (-2, -1, 0):
        calls.add_slice("strict", NOON + hours * 3600 + 1, 0.3)
    assert calls.take_unused("strict", by_hour=True, before=NOON + 60) == {NOON - 7200: 0.3, NOON - 3600: 0.3}
    assert calls.take_unused("strict", by_hour=True, before=NOON + 60) == {}
    for number in range(3):
        calls.begin("strict", str(number), 0.1, 1.0, None, by_slices=True)
    with pytest.raises(UnreservedError) as caught:
        calls.begin("strict", "more", 0.1, 1.0, None, by_slices=True)
    assert (caught.value.at, caught.value.amount) == (NOON, pytest.approx(0.1))
    assert calls.take_unused("strict", by_hour=False) == {}


def test_replies_that_somebody_reads_are_not_overwritten_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said; all are forgotten for whoever asks next."""
    monkeypatch.setattr("evaluator.judges.calls._WAIT_SECONDS", 0.05)
    path = tmp_path / "calls.sqlite"
    with closing(Calls(path)) as calls, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        calls.finish(calls.begin("strict", "key", 0.1), "reply", 0.1)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM calls").fetchall()
        assert calls.forget_replies() == ForgottenReplies(1, False)
        assert calls.find("key") is None
        reader.execute("COMMIT")
        assert calls.forget_replies() == ForgottenReplies(0, True)
