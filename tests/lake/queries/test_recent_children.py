"""Children of the last days, kept in memory: what is given is what the tables say."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.maintenance.compaction import compact
from lake.queries.call_tables import AllCallTables
from lake.queries.recent_children import RecentChildren
from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import ContextsOrigin
from lake.tables.lake import Lake

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOURS = range(-60, 1)


def child(number: int, hours: int, origin: ContextsOrigin = ContextsOrigin.PROMPT) -> pa.Table:
    at = NOW + timedelta(hours=hours)
    row = {"event_id": f"e{number}", "trace_id": f"t{number}", "parent_span_id": "s", "requested_at": at,
           "date": at.date(), "contexts_origin": origin, "ingested_at": NOW}  # fmt: skip
    return PARSED_LOGS.rows([row])


def ids(rows: pa.Table) -> list[tuple[str, str]]:
    return sorted(zip(rows["deployment"].to_pylist(), rows["event_id"].to_pylist(), strict=True))


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(HOURS), st.booleans()), max_size=12))
def test_the_same_children_as_a_read_of_the_tables(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]
) -> None:
    """Rows that come one after the other, older days, other tables, a compaction: the same as read at once."""
    lake = Lake(str(tmp_path_factory.mktemp("lake")))
    tables = AllCallTables(lake, lambda: NOW)
    for number, (deployment, hours, is_child) in enumerate(steps):
        origin = ContextsOrigin.PROMPT if is_child else ContextsOrigin.CITED
        lake.table(PARSED_LOGS, deployment).append(child(number, hours, origin))
        if number % 5 == 4:
            compact(lake.table(PARSED_LOGS, deployment))
        tables.forget()
        # Of the days that are kept; from two days before on the tables are read.
        for since in (NOW - timedelta(hours=30), NOW - timedelta(hours=60)):
            wanted = sorted(
                (name, f"e{at}")
                for at, (name, hours, is_child) in enumerate(steps[: number + 1])
                if is_child and since <= NOW + timedelta(hours=hours) < NOW
            )
            assert ids(tables.children(since, NOW)) == wanted


def test_days_that_are_over_are_forgotten(tmp_path: Path) -> None:
    """What is not kept any more is read from the tables; what is kept is of today and yesterday."""
    lake, now = Lake(str(tmp_path)), [NOW]
    lake.table(PARSED_LOGS, "a").append(child(1, -30))
    lake.table(PARSED_LOGS, "a").append(child(2, -1))
    recent = RecentChildren(lake, lambda: now[0])
    begin = NOW - timedelta(hours=32)
    assert sum(rows.num_rows for rows in (recent.between(begin, NOW) or {}).values()) == 2
    now[0] += timedelta(days=1)
    recent.forget()
    assert recent.between(begin, now[0]) is None
    assert sum(rows.num_rows for rows in (recent.between(NOW - timedelta(hours=2), now[0]) or {}).values()) == 1


def test_a_table_that_was_made_anew_is_read_anew(tmp_path: Path) -> None:
    """Children of the table that was removed are not given."""
    lake = Lake(str(tmp_path))
    table = lake.table(PARSED_LOGS, "a")
    table.append(child(1, -1))
    table.append(child(2, -1))
    recent, begin = RecentChildren(lake, lambda: NOW), NOW - timedelta(hours=2)
    assert [rows.num_rows for rows in (recent.between(begin, NOW) or {}).values()] == [2]
    shutil.rmtree(table.uri)
    lake.table(PARSED_LOGS, "a").append(child(3, -1))
    lake.table(PARSED_LOGS, "a").append(child(4, -1, ContextsOrigin.CITED))
    recent.forget()
    found = recent.between(begin, NOW) or {}
    assert [rows["event_id"].to_pylist() for rows in found.values()] == [["e3"]]


def test_a_reader_that_comes_too_late_for_what_is_new_reads_the_children_again(tmp_path: Path) -> None:
    """The files of the new rows are gone after a compaction; children alone are given, each once."""
    lake = Lake(str(tmp_path))
    table = lake.table(PARSED_LOGS, "a")
    table.append(child(1, -1))
    recent, begin = RecentChildren(lake, lambda: NOW), NOW - timedelta(hours=2)
    assert [rows.num_rows for rows in (recent.between(begin, NOW) or {}).values()] == [1]
    table.append(child(2, -1))
    table.append(child(3, -1, ContextsOrigin.CITED))
    old = [file.path for file in table.live_files()]
    compact(table)
    for path in old:
        (Path(table.uri) / path).unlink()
    recent.forget()
    found = recent.between(begin, NOW) or {}
    assert [sorted(rows["event_id"].to_pylist()) for rows in found.values()] == [["e1", "e2"]]
