from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lake import SCORES, USER_SIGNALS, Lake, ReadAhead, TableSpec, Wanted

pytestmark = pytest.mark.integration

COLUMNS = {SCORES: ("response_id", "value", "date"), USER_SIGNALS: ("signal_id",)}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Seven deployments, the last without scores, with two commits each."""
    lake = Lake(str(tmp_path / "lake"))
    for number in range(6):
        for commit in range(2):
            row = {"response_id": f"{number} {commit}", "value": commit / 2, "deployment": str(number)}
            lake.table(SCORES, str(number)).append(SCORES.rows([row] * (number + 1)))
    lake.table(USER_SIGNALS, "6").append(USER_SIGNALS.rows([{"signal_id": "one"}]))
    return lake


def wanted() -> list[Wanted]:
    return [Wanted(spec, str(n), columns) for n in range(7) for spec, columns in COLUMNS.items()]


def same(lake: Lake, one: Wanted, ahead: ReadAhead) -> bool:
    found, expected = (
        ahead.take(one.spec, one.deployment),
        lake.table(one.spec, one.deployment).read_since(None, one.columns),
    )
    return found is not None and (found.version, found.rows) == (expected.version, expected.rows)


@pytest.mark.parametrize("processes", [1, 3])
def test_tables_are_what_they_are_when_read_here(lake: Lake, processes: int) -> None:
    """Rows and versions, also of tables that are not there; a second time there is nothing."""
    with ReadAhead(lake, wanted(), processes) as ahead:
        assert all(same(lake, one, ahead) for one in wanted())
        assert ahead.take(SCORES, "0") is None


def test_what_nobody_takes_is_passed_over(lake: Lake) -> None:
    """Of a process's tables some are left out; what was not wanted is None."""
    with ReadAhead(lake, wanted(), 2) as ahead:
        assert ahead.take(SCORES, "unknown") is None
        assert all(same(lake, one, ahead) for one in wanted()[3::3])


def test_a_killed_process_costs_no_table(lake: Lake) -> None:
    """What is left is None from then on; the other process ends too."""
    with ReadAhead(lake, wanted(), 2) as ahead:
        assert same(lake, wanted()[0], ahead)
        (run,) = ahead._pool._runs
        run._workers[0].kill()
        given = [ahead.take(one.spec, one.deployment) for one in wanted()[1:]]
        assert given[-1] is None
        assert all(change is None for change in given[given.index(None) :])


def test_a_table_that_cannot_be_read_is_left_to_who_wants_it(lake: Lake) -> None:
    """A damaged file: None for that table alone."""
    (damaged, *_) = Path(lake.table(SCORES, "1").uri).rglob("*.parquet")
    damaged.write_bytes(b"PAR1 no parquet PAR1")
    with ReadAhead(lake, wanted(), 1) as ahead:
        found: dict[tuple[TableSpec, str | None], Any] = {
            (one.spec, one.deployment): ahead.take(one.spec, one.deployment) for one in wanted()
        }
    assert [deployment for (_, deployment), change in found.items() if change is None] == ["1"]
