"""Choice of the runs that are compared."""

from __future__ import annotations

import pytest

from monitor.pages.compare.query import CompareQuery
from monitor.pages.compare.reading import ReplayRunRow, chosen_runs
from tests.monitor.conftest import NOW


def run(run_id: str, compared_with: str | None = None) -> ReplayRunRow:
    return ReplayRunRow(run_id, NOW, "", compared_with)


@pytest.mark.parametrize(
    ("runs", "chosen", "expected"),
    [
        ([run("r3", "r1"), run("r2"), run("r1")], {}, ("r1", "r3")),
        ([run("r3"), run("r2"), run("r1")], {}, ("r2", "r3")),
        ([run("r1", "r0")], {}, ("r0", "r1")),
        ([run("r3"), run("r2", "r1"), run("r1")], {"after_run": "r2"}, ("r1", "r2")),
        ([run("r3"), run("r2")], {"after_run": "gone"}, ("r3", "gone")),
        ([run("r3", "r1"), run("r2"), run("r1")], {"before_run": "r2"}, ("r2", "r3")),
        ([], {}, ("", "")),
    ],
)
def test_a_run_is_compared_with_its_baseline_else_with_the_latest_other_one(
    runs: list[ReplayRunRow], chosen: dict[str, str], expected: tuple[str, str]
) -> None:
    """The latest run is compared where none is named; runs that are named are taken as they are."""
    assert chosen_runs(CompareQuery("rag", "case_passed", **chosen), runs) == expected  # type: ignore[arg-type]
