"""Queue of cases."""

from __future__ import annotations

from typing import Any

from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake
from monitor.pages.ground_truth.queue import read_queue
from tests.monitor.conftest import NOW
from tests.monitor.pages.ground_truth.test_ground_truth import case


def test_a_case_without_facts_is_listed_with_none(lake: Lake) -> None:
    """A row of another writer may have no list of facts, and no confidence: it is the last one."""
    cases: list[dict[str, Any]] = [case("bare", facts=None, confidence=None), case("whole")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    queue = read_queue(lake, "rag", CaseStatus.PROPOSED, "", NOW, with_texts=True)
    assert [(one.case_id, one.facts) for one in queue.cases] == [("whole", 1), ("bare", 0)]
