"""Contexts in the prompts of the calls that other calls made."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lake.queries.call_tables import AllCallTables
from lake.queries.child_contexts import ChildContexts
from lake.spec.called_tools import CalledTool
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def log_child(lake: Lake, span: str, minute: float = 0, deployment: str = "gpt-4o", **columns: Any) -> None:
    at = NOON + timedelta(minutes=minute)
    ids = {"event_id": f"{span}-{minute}", "trace_id": "t", "parent_span_id": span, "deployment": deployment}
    row = ids | {
        "date": at.date(),
        "requested_at": at,
        "contexts_origin": "prompt",
        "contexts": [{"text": f"{minute}"}],
    }
    lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([row | columns]))


def texts(children: ChildContexts, *spans: str, at: datetime = NOON) -> dict[str, list[str]]:
    found = children.of({("t", span): at for span in spans})
    return {span: [context["text"] for context in contexts] for (_, span), contexts in found.items()}


def test_the_last_child_with_chunks_in_its_prompt_counts(lake: Lake) -> None:
    """In whichever deployment's table it is, whether its row or its column names that, and up to an hour later."""
    log_child(lake, "a", 1)
    log_child(lake, "a", 3)
    log_child(lake, "a", 2, deployment="other")
    log_child(lake, "a", 4, contexts_origin="none")
    log_child(lake, "b", 59)
    log_child(lake, "too-late", 180)
    log_child(lake, "another-trace", trace_id="u")
    spans = ("a", "b", "too-late", "another-trace", "unknown")
    assert texts(ChildContexts(lake), *spans) == {"a": ["3"], "b": ["59"]}


def test_a_later_call_about_tools_alone_hides_no_chunks(lake: Lake) -> None:
    """The last child with chunks counts, and the last one that knows calls of tools, each for its own."""
    log_child(lake, "a", 1)
    calls = [{"name": "f"}]
    log_child(lake, "a", 2, contexts_origin="none", contexts=None, tool_calls_origin="answer", tool_calls=calls)
    children = ChildContexts(lake)
    assert texts(children, "a") == {"a": ["1"]}
    (turn,) = children.turns_of({("t", "a"): NOON}).values()
    assert [call["name"] for call in turn] == ["f"]


def test_tools_are_looked_for_on_the_days_of_their_calls_alone(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer with an odd time stretches nothing: the days between are not read, nor is another kind of call."""
    years = 10 * 365 * 1440
    for minute in (1, years + 1):
        log_child(lake, "a", minute, deployment="rag", kind="chat_completion", error="no" if minute == 1 else None)
        log_child(lake, "a", minute + 1, deployment="ada", kind="embedding")
    for minute in range(1440, 4 * 1440, 1440):
        log_child(lake, "b", minute, deployment="rag", kind="chat_completion")
    read, found = [], AllCallTables.rows

    def noted(tables: AllCallTables, *args: Any) -> pa.Table:
        rows = found(tables, *args)
        read.extend(rows["event_id"].to_pylist())
        return rows

    monkeypatch.setattr(AllCallTables, "rows", noted)
    calls = {("t", "a"): NOON, ("t", "b"): NOON + timedelta(minutes=years)}
    called = ChildContexts(lake).tools_of(calls)
    assert called == {("t", "a"): [CalledTool("rag", None, is_failed=True)]}
    assert read == ["a-1"]


@pytest.mark.parametrize("day", ["0001-01-01", "0001-01-02", "9999-12-30", "9999-12-31"])
@pytest.mark.parametrize("deployment", [None, "rag"])
def test_a_call_at_the_end_of_time_stops_no_other(lake: Lake, day: str, deployment: str | None) -> None:
    """A clock that is set wrong."""
    log_child(lake, "a", 1, kind="chat_completion", tool_calls_origin="answer", tool_calls=[{"name": "f"}])
    odd = datetime.fromisoformat(f"{day}T23:59Z" if day > "9" else f"{day}T00:01Z")
    calls, children = {("t", "b"): odd, ("t", "a"): NOON}, ChildContexts(lake)
    for found in (children.of(calls, deployment), children.turns_of(calls, deployment), children.tools_of(calls)):
        assert list(found) == [("t", "a")]


def test_a_lake_without_children_and_a_question_without_calls_give_nothing(lake: Lake) -> None:
    """Nothing there is no error."""
    assert ChildContexts(lake).of({}) == {}
    assert texts(ChildContexts(lake), "a") == {}


def test_tables_are_looked_at_once_until_asked_to_forget(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many applications ask in one pass; the next pass sees what came since."""
    log_child(lake, "a", 1)
    children, reads, read = ChildContexts(lake), [], Table.read
    assert texts(children, "a") == {"a": ["1"]}
    log_child(lake, "b", 2)

    def counted(table: Table, *args: Any, **kwargs: Any) -> Any:
        reads.append(table.uri)
        return read(table, *args, **kwargs)

    monkeypatch.setattr(Table, "read", counted)
    assert texts(children, "b") == {}
    assert reads == []
    children.forget()
    assert texts(children, "b") == {"b": ["2"]}


def test_no_prompt_is_read_to_find_out_whose_it_is(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is made of ids; contexts are read of the children that were asked for alone."""
    log_child(lake, "a", 1)
    log_child(lake, "b", 2, deployment="other")
    asked, read = [], Table.read

    def noted(table: Table, columns: Any, where: Any) -> Any:
        rows = read(table, columns, where)
        asked.append((list(columns), rows.num_rows))
        return rows

    monkeypatch.setattr(Table, "read", noted)
    assert texts(ChildContexts(lake), "b") == {"b": ["2"]}
    assert [number for columns, number in asked if "contexts" in columns] == [1]


def test_each_table_is_looked_at_once_whatever_is_asked(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog of many deployments, each with days and hours of its own, costs a look at each table and no more."""
    for number in range(4):
        log_child(lake, "elsewhere", number * 1440, deployment=f"model-{number}")
    children, looks, dataset = ChildContexts(lake), [], Table.dataset

    def noted(table: Table) -> Any:
        looks.append(table.uri)
        return dataset(table)

    monkeypatch.setattr(Table, "dataset", noted)
    for hours in (0, 72, 3, 48, 24, 25, 0):
        assert texts(children, "unknown", at=NOON + timedelta(hours=hours)) == {}
    assert len(looks) == len(set(looks)) == 4


@pytest.mark.parametrize("most_rows", [1, 1_000_000], ids=["little memory", "much memory"])
def test_calls_of_any_days_and_hours_are_found_in_any_order(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    """How many days are remembered, and whether a day is asked for piece by piece, changes no answer."""
    monkeypatch.setattr("lake.queries.child_contexts._MOST_ROWS", most_rows)
    minutes = [0, 690, 719, 721, 1440, 5, 300]
    for minute in minutes:
        log_child(lake, f"span-{minute}", minute + 1)
    children = ChildContexts(lake)
    for minute in (*minutes, *reversed(minutes)):
        found = texts(children, f"span-{minute}", at=NOON + timedelta(minutes=minute))
        assert found == {f"span-{minute}": [f"{minute + 1}"]}
    asked = {("t", f"span-{minute}"): NOON + timedelta(minutes=minute) for minute in minutes}
    assert children.of(asked).keys() == asked.keys()


def test_a_table_that_is_made_anew_meanwhile_is_opened_again(lake: Lake) -> None:
    """The files that were seen are gone, and those of the new table are read."""
    log_child(lake, "a", 1)
    children = ChildContexts(lake)
    assert texts(children, "a") == {"a": ["1"]}
    shutil.rmtree(lake.table(PARSED_LOGS, "gpt-4o").uri)
    log_child(lake, "b", 2)
    assert texts(children, "b", at=NOON - timedelta(hours=2)) == {"b": ["2"]}
