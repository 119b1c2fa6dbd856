"""Contexts in the prompts of the calls that other calls made."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake import PARSED_LOGS, ChildContexts, Lake, Table

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


def test_a_lake_without_children_and_a_question_without_calls_give_nothing(lake: Lake) -> None:
    """Nothing there is no error."""
    assert ChildContexts(lake).of({}) == {}
    assert texts(ChildContexts(lake), "a") == {}


def test_tables_are_looked_at_once_until_told_to_forget(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
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
