from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from lake import SCORES, Lake, Table
from monitor.ingest.new_rows import NewRows
from monitor.ingest.shared_rows import SharedRows
from tests.monitor.conftest import NOW

SECOND = timedelta(seconds=1)


class Taker:
    """Takes rows, or refuses them while it is told to."""

    def __init__(self) -> None:
        self.refuses = False
        self.calls = 0
        self.taken: list[str] = []

    def __call__(self, rows: pa.Table) -> None:
        self.calls += 1
        if self.refuses:
            raise ValueError("not these")
        self.taken += rows["response_id"].to_pylist()


def look(shared: SharedRows, takers: dict[str, Any], now: datetime) -> dict[str, str]:
    errors = shared.take(SCORES, "a", ("response_id",), takers, now)
    return {name: str(error) for name, error in errors.items()}


def test_who_fails_gets_the_rows_again_and_holds_up_no_other(rows: Any, lake: Lake) -> None:
    """The other taker goes on, the error is told at every look, and in the end both have each row once."""
    shared, good, bad = SharedRows(NewRows(lake)), Taker(), Taker()
    takers, bad.refuses = {"good": good, "bad": bad}, True
    rows.scores("a", {"response_id": "one"})
    assert look(shared, takers, NOW) == {"bad": "not these"}
    rows.scores("a", {"response_id": "two"})
    assert look(shared, takers, NOW + 5 * SECOND) == {"bad": "not these"}
    assert (good.taken, bad.taken) == (["one", "two"], [])
    assert (shared.has_given(SCORES, "a", "good"), shared.has_given(SCORES, "a", "bad")) == (True, False)
    bad.refuses = False
    assert look(shared, takers, NOW + 10 * SECOND) == {}
    rows.scores("a", {"response_id": "three"})
    assert look(shared, takers, NOW + 15 * SECOND) == {}
    assert (good.taken, sorted(bad.taken[:2]), bad.taken[2:]) == (["one", "two", "three"], ["one", "two"], ["three"])
    assert shared.has_given(SCORES, "a", "bad")


def test_rows_that_come_between_two_reads_come_once(rows: Any, lake: Lake) -> None:
    """Who catches up may read further than the others, and joins them only where they are as far."""
    shared, bad = SharedRows(NewRows(lake)), Taker()
    bad.refuses = True
    rows.scores("a", {"response_id": "one"})
    takers: dict[str, Any] = {"bad": bad}
    look(shared, takers, NOW)
    bad.refuses = False
    takers["writes"] = lambda taken: rows.scores("a", {"response_id": f"after {taken.num_rows}"})
    rows.scores("a", {"response_id": "two"})
    look(shared, takers, NOW + SECOND)
    del takers["writes"]
    for seconds in (2, 3):
        look(shared, takers, NOW + seconds * SECOND)
    assert sorted(bad.taken) == ["after 1", "one", "two"]


@pytest.mark.parametrize("seed", range(3))
def test_each_taker_gets_each_row_once_whenever_it_fails(rows: Any, lake: Lake, seed: int) -> None:
    """Whatever takers refuse, and whenever rows come, none is lost and none comes twice."""
    random, shared = Random(seed), SharedRows(NewRows(lake))
    takers, now, written = {name: Taker() for name in "abc"}, NOW, 0
    for step in range(14):
        if random.random() < 0.6:
            rows.scores("a", {"response_id": str(written)})
            written += 1
        for taker in takers.values():
            taker.refuses = step < 12 and random.random() < 0.4
        now += timedelta(hours=1)
        look(shared, takers, now)
    for taker in takers.values():
        assert sorted(map(int, taker.taken)) == list(range(written))


def test_rows_that_are_refused_for_ever_are_not_read_all_day(
    rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day of looks every five seconds tries some dozens of times, and who has caught up needs no read of its own."""
    shared, bad = SharedRows(NewRows(lake)), Taker()
    bad.refuses = True
    rows.scores("a", {"response_id": "one"})
    now = NOW
    for _ in range(24 * 12):
        assert look(shared, {"bad": bad}, now) == {"bad": "not these"}
        now += timedelta(minutes=5)
    assert 24 < bad.calls < 40
    bad.refuses = False
    look(shared, {"bad": bad}, now + timedelta(hours=1))
    reads: list[Table] = []
    read_since = Table.read_since

    def spy(table: Table, *given: Any, **more: Any) -> Any:
        reads.append(table)
        return read_since(table, *given, **more)

    monkeypatch.setattr(Table, "read_since", spy)
    look(shared, {"bad": bad}, now + timedelta(hours=1))
    assert len(reads) == 1
    assert bad.taken == ["one"]
