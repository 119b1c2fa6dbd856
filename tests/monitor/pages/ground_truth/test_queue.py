"""Queue of cases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.pages.ground_truth.queue import KEPT, RecentlyAsked, read_queue, read_queues
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.ground_truth.test_ground_truth import case


def test_a_case_without_facts_is_listed_with_none(lake: Lake) -> None:
    """A row of another writer may have no list of facts, and no confidence: it is the last one."""
    cases: list[dict[str, Any]] = [case("bare", facts=None, confidence=None), case("whole")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    queue = read_queue(lake, RecentlyAsked(lake), "rag", CaseStatus.PROPOSED, "", NOW, with_texts=True)
    assert [(one.case_id, one.facts) for one in queue.cases] == [("whole", 1), ("bare", 0)]


def test_what_was_asked_is_counted_every_few_minutes(lake: Lake, rows: ScoreColumns) -> None:
    """A queue is looked at case by case, and answers need not be read for each of them."""
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([case("b")]))
    recent = RecentlyAsked(lake)
    at = {"question": "How much leave, b?", "message_count": 1, "documents": ["files/handbook.pdf"]}
    found = []
    for number, now in enumerate((NOW, NOW + KEPT - timedelta(seconds=1), NOW + KEPT)):
        rows.logs("rag", at | {"event_id": f"{number}", "requested_at": NOW - timedelta(hours=number + 1)})
        queue = read_queue(lake, recent, "rag", CaseStatus.PROPOSED, "", now, with_texts=True)
        every = read_queues(lake, recent, ["rag"], CaseStatus.PROPOSED, now, lambda _: True)
        found.append((queue.cases[0].asked, every.cases[0].asked))
    assert found == [(1, 1), (1, 1), (3, 3)]


def test_answers_are_read_once_and_only_of_deployments_that_are_counted_in_or_listed(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the others an id, a status and what sorts the list are enough."""
    for name, confidence in (("hr", 0.2), ("rag", 0.9), ("it", 0.1)):
        lake.table(GROUND_TRUTH, name).append(GROUND_TRUTH.rows([case(f"of {name}", confidence=confidence)]))
    whole: list[str] = []
    read = Table.read

    def noting(table: Table, columns: Any = None, where: Any = None) -> Any:
        if columns is None or "answer" in columns:
            whole.append(table.uri)
        return read(table, columns, where)

    monkeypatch.setattr(Table, "read", noting)
    monkeypatch.setattr("monitor.pages.ground_truth.queue.MOST", 2)
    monkeypatch.setattr("monitor.pages.ground_truth.queue.COUNTED_IN", 1)
    queue = read_queues(lake, RecentlyAsked(lake), ["hr", "it", "rag"], None, NOW, lambda _: True)
    assert [one.case_id for one in queue.cases] == ["of rag", "of hr"]
    assert (queue.total, queue.counts[CaseStatus.PROPOSED]) == (3, 3)
    assert len(whole) == 2
    assert not [uri for uri in whole if "/it/" in uri]
