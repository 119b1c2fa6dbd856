from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from lake.spec.root_tables import RELEASES, SILENCES
from lake.spec.schemas import SCORES
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.service.ingest.new_rows import NewRows
from tests.monitor.conftest import NOW

SECOND = timedelta(seconds=1)


class Handler:
    """Takes rows, or refuses them while `refuses` is set."""

    def __init__(self) -> None:
        self.refuses = False
        self.calls = 0
        self.taken: list[str] = []

    def __call__(self, rows: pa.Table) -> None:
        self.calls += 1
        if self.refuses:
            raise ValueError("not these")
        self.taken += rows["response_id"].to_pylist()


def look(new_rows: NewRows, handlers: dict[str, Any], now: datetime) -> dict[str, str]:
    errors = new_rows.read(SCORES, "a", ("response_id",), handlers, now)
    return {name: str(error) for name, error in errors.items()}


def test_who_fails_gets_the_rows_again_and_holds_up_no_other(rows: Any, lake: Lake) -> None:
    """The other handler goes on, the error is returned by every read, and in the end both have each row once."""
    new_rows, good, bad = NewRows(lake), Handler(), Handler()
    handlers, bad.refuses = {"good": good, "bad": bad}, True
    rows.scores("a", {"response_id": "one"})
    assert look(new_rows, handlers, NOW) == {"bad": "not these"}
    rows.scores("a", {"response_id": "two"})
    assert look(new_rows, handlers, NOW + 5 * SECOND) == {"bad": "not these"}
    assert (good.taken, bad.taken) == (["one", "two"], [])
    assert (new_rows.has_read(SCORES, ["a"], "good"), new_rows.has_read(SCORES, ["a"], "bad")) == (True, False)
    bad.refuses = False
    assert look(new_rows, handlers, NOW + 10 * SECOND) == {}
    rows.scores("a", {"response_id": "three"})
    assert look(new_rows, handlers, NOW + 15 * SECOND) == {}
    assert (good.taken, sorted(bad.taken[:2]), bad.taken[2:]) == (["one", "two", "three"], ["one", "two"], ["three"])
    assert new_rows.has_read(SCORES, ["a"], "bad")


def test_rows_that_come_between_two_reads_come_once(rows: Any, lake: Lake) -> None:
    """Who catches up may read further than the others, and joins them only where they are as far."""
    new_rows, bad = NewRows(lake), Handler()
    bad.refuses = True
    rows.scores("a", {"response_id": "one"})
    handlers: dict[str, Any] = {"bad": bad}
    look(new_rows, handlers, NOW)
    bad.refuses = False
    handlers["writes"] = lambda taken: rows.scores("a", {"response_id": f"after {taken.num_rows}"})
    rows.scores("a", {"response_id": "two"})
    look(new_rows, handlers, NOW + SECOND)
    del handlers["writes"]
    for seconds in (2, 3):
        look(new_rows, handlers, NOW + seconds * SECOND)
    assert sorted(bad.taken) == ["after 1", "one", "two"]


@pytest.mark.parametrize("seed", range(3))
def test_each_handler_gets_each_row_once_whenever_it_fails(rows: Any, lake: Lake, seed: int) -> None:
    """Whatever handlers refuse, and whenever rows come, none is lost and none comes twice."""
    random, new_rows = Random(seed), NewRows(lake)
    handlers, now, written = {name: Handler() for name in "abc"}, NOW, 0
    for step in range(14):
        if random.random() < 0.6:
            rows.scores("a", {"response_id": str(written)})
            written += 1
        for handler in handlers.values():
            handler.refuses = step < 12 and random.random() < 0.4
        now += timedelta(hours=1)
        look(new_rows, handlers, now)
    for handler in handlers.values():
        assert sorted(map(int, handler.taken)) == list(range(written))


def test_rows_that_are_refused_for_ever_are_not_read_all_day(
    rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A day of looks every five seconds tries some dozens of times, and who has caught up needs no read of its own."""
    new_rows, bad = NewRows(lake), Handler()
    bad.refuses = True
    rows.scores("a", {"response_id": "one"})
    now = NOW
    for _ in range(24 * 12):
        assert look(new_rows, {"bad": bad}, now) == {"bad": "not these"}
        now += timedelta(minutes=5)
    assert 24 < bad.calls < 40
    bad.refuses = False
    look(new_rows, {"bad": bad}, now + timedelta(hours=1))
    reads: list[Table] = []
    read_since = Table.read_since

    def spy(table: Table, *given: Any, **more: Any) -> Any:
        reads.append(table)
        return read_since(table, *given, **more)

    monkeypatch.setattr(Table, "read_since", spy)
    look(new_rows, {"bad": bad}, now + timedelta(hours=1))
    assert len(reads) == 1
    assert bad.taken == ["one"]


@pytest.mark.parametrize("spec", [SILENCES, RELEASES], ids=lambda spec: spec.name)
def test_rows_that_people_write_are_tried_again_within_five_minutes(lake: Lake, spec: TableSpec) -> None:
    """However long the handler of a silence or a release has failed, it works five minutes after the fault is over."""
    new_rows, handled = NewRows(lake), 0
    is_broken = True

    def handler(rows: pa.Table) -> None:
        nonlocal handled
        if is_broken:
            raise MemoryError
        handled += rows.num_rows

    lake.table(spec).append(spec.rows([{spec.schema.names[0]: 1, "change": "added", "changed_at": NOW}]))
    now = NOW
    for _ in range(12 * 60):
        new_rows.read(spec, None, ("change",), {"people": handler}, now)
        now += 5 * SECOND
    is_broken = False
    for _ in range(60):
        now += 5 * SECOND
        new_rows.read(spec, None, ("change",), {"people": handler}, now)
    assert handled == 1


def test_who_fails_within_the_history_gets_only_the_rest_of_it(
    rows: Any, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The days that it has taken before do not come again."""
    monkeypatch.setattr("monitor.service.ingest.new_rows.MOST_ROWS", 1)
    new_rows, taken = NewRows(lake), []
    is_broken = True

    def handler(given: pa.Table) -> None:
        if is_broken and "third" in given["response_id"].to_pylist():
            raise ValueError("not this day")
        taken.extend(given["response_id"].to_pylist())

    for ago, name in ((4, "first"), (3, "second"), (2, "third"), (1, "fourth")):
        rows.scores("a", {"response_id": name, "date": (NOW - timedelta(days=ago)).date()})
    assert look(new_rows, {"late": handler}, NOW) == {"late": "not this day"}
    assert taken == ["first", "second"]
    is_broken = False
    assert look(new_rows, {"late": handler}, NOW + timedelta(hours=1)) == {}
    assert taken == ["first", "second", "third", "fourth"]
