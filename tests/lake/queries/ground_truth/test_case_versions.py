"""Versions of cases: each change is kept, the newest counts, and who was slower does not overwrite who was faster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.queries.ground_truth.case_versions import (
    CaseChangedError,
    case_history,
    change_case,
    change_cases,
    newest_versions,
    read_cases,
)
from lake.queries.ground_truth.cases import CaseBook
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def case(case_id: str = "c", **columns: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"case_id": case_id, "question": "Where?", "answer": "Delhi", "status": "proposed"}
    return made | {"updated_by": "evaluator", "status_by": "evaluator", "status_at": NOW} | columns


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def truth(lake: Lake) -> Table:
    table = lake.table(GROUND_TRUTH, "rag")
    table.append(GROUND_TRUTH.rows([case(), case("other", version=1)]))
    return table


def test_a_change_is_a_version_more_and_all_can_be_read(truth: Table, lake: Lake) -> None:
    """A row of an earlier dialwatch, without a version, is the first."""
    made = change_case(lake, "rag", "c", {"status": "accepted", "note": "right"}, "ann", NOW + timedelta(1))
    assert made is not None
    change_case(lake, "rag", "c", {"answer": "New Delhi"}, "bob", NOW + timedelta(2))
    newest, accepted, first = case_history(truth, "c")
    assert [one["version"] for one in (first, accepted, newest)] == [1, 2, 3]
    assert (accepted["status"], accepted["status_by"], accepted["note"]) == ("accepted", "ann", "right")
    assert (newest["answer"], newest["note"], newest["updated_by"]) == ("New Delhi", None, "bob")
    assert (newest["status_by"], newest["status_at"]) == ("ann", NOW + timedelta(1))
    assert {one["case_id"]: one["version"] for one in read_cases(truth)} == {"c": 3, "other": 1}
    assert [one["case_id"] for one in read_cases(truth, ["proposed"])] == ["other"]


def test_a_status_of_before_does_not_count(truth: Table, lake: Lake) -> None:
    """A case that was rejected is compared with nothing, though its first row says proposed."""
    change_case(lake, "rag", "c", {"status": "rejected"}, "ann", NOW)
    book = CaseBook.read(truth, lake.table(PARSED_LOGS, "rag"))
    assert [one.case_id for one in book.cases] == ["other"]


def test_who_was_slower_is_told(truth: Table, lake: Lake) -> None:
    change_case(lake, "rag", "c", {"status": "accepted"}, "ann", NOW, of_version=1)
    with pytest.raises(CaseChangedError, match="ann has made version 2 of it"):
        change_case(lake, "rag", "c", {"status": "rejected"}, "bob", NOW, of_version=1)
    assert change_case(lake, "rag", "none", {"status": "rejected"}, "bob", NOW) is None
    assert len(case_history(truth, "c")) == 2


def test_changes_at_once_are_all_there(truth: Table, lake: Lake) -> None:
    """Nobody's version replaces another's: each is made of the one before."""

    def mark(number: int) -> None:
        change_cases(
            lake, "rag", lambda cases: {"c": {"facts": [*(cases["c"]["facts"] or []), str(number)]}}, "ann", NOW
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(mark, range(8)))
    history = case_history(truth, "c")
    assert [one["version"] for one in history] == list(range(9, 0, -1))
    assert sorted(history[0]["facts"]) == [str(number) for number in range(8)]


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 6) | st.none()), unique_by=lambda one: (one[0], one[1] or 1)
    )
)
def test_the_newest_is_the_one_with_the_highest_version(rows: list[tuple[str, int | None]]) -> None:
    """In whatever order the files of the table give the rows."""
    found = newest_versions(GROUND_TRUTH.rows([case(case_id, version=version) for case_id, version in rows]))
    expected = {case_id: max(_versions(rows, case_id)) for case_id, _ in rows}
    assert {one["case_id"]: one["version"] or 1 for one in found.to_pylist()} == expected
    assert found.num_rows == len(expected)


def _versions(rows: list[tuple[str, int | None]], case_id: str) -> Iterator[int]:
    return (version or 1 for one, version in rows if one == case_id)
