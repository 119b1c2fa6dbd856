"""Replays of the demo's application, broken in every way that it knows: each time the right part is named."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dialwatch.demo.agent import AGENT, answer
from dialwatch.demo.completion import compact_json
from dialwatch.demo.questions import load_questions
from dialwatch.demo.rag.assistant import RagAssistant
from dialwatch.demo.rag.faults import Faults
from dialwatch.demo.rag.passages import passages_of
from dialwatch.demo.replays import Broken, run_agent_replays, run_replays
from dialwatch.demo.traffic import DEGRADED_DEPLOYMENT, document_urls
from evaluator.ground_truth.facts import supporting_sentences
from evaluator.metrics import ABSENT, fact_ranks
from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus, FailedPart
from lake.tables.lake import Lake

CASES = 60
pytestmark = pytest.mark.integration
AT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Proposed cases of right answers, one without facts, and one whose answer was given during an incident."""
    return filled(Lake(str(tmp_path / "lake")))


def filled(lake: Lake, least_rank: int = 0) -> Lake:
    """Write cases, each with a fact of this rank or a lower one."""
    questions = load_questions()
    urls = document_urls()[DEGRADED_DEPLOYMENT]
    assistant = RagAssistant(passages_of([question.knowledge for question in questions], urls))
    rows = []
    for question in questions:
        answer = assistant.answer(question.text)
        texts = [passage.text for passage in answer.found.retrieved]
        facts = supporting_sentences(answer.extract.text, texts)
        is_right = question.right_answer.lower() in answer.extract.text.lower()
        if is_right and max(fact_ranks(facts, texts), default=ABSENT) >= least_rank and len(rows) < CASES:
            row = {"case_id": f"case-{len(rows)}", "deployment": DEGRADED_DEPLOYMENT, "version": 1, "documents": urls}
            row |= {"question": question.text, "answer": answer.extract.text, "facts": facts, "context": texts}
            rows.append(row | {"status": CaseStatus.PROPOSED, "created_at": AT, "updated_at": AT})
    rows.append(rows[0] | {"case_id": "no-facts", "facts": []})
    rows.append(rows[0] | {"case_id": "doubted", "doubt": "its answer was given while an incident was open"})
    lake.table(GROUND_TRUTH, DEGRADED_DEPLOYMENT).append(GROUND_TRUTH.rows(rows))
    return lake


@pytest.mark.parametrize(
    ("faults", "part"),
    [
        (Faults(retrieval="other_index"), FailedPart.RETRIEVAL),
        (Faults(retrieval="shuffled_ranks"), FailedPart.RANKING),
        (Faults(generation="wrong_sentences"), FailedPart.GENERATION),
    ],
    ids=["other_index", "shuffled_ranks", "wrong_sentences"],
)
def test_the_part_that_is_broken_is_named(lake: Lake, faults: Faults, part: FailedPart) -> None:
    """Asked over HTTP; cases without facts stay proposed, and those that need a person's word."""
    check = run_replays(lake, DEGRADED_DEPLOYMENT, [Broken(faults, part)])
    assert check.passed, check.found
    cases = read_cases(lake.table(GROUND_TRUTH, DEGRADED_DEPLOYMENT))
    assert {case["case_id"] for case in cases if case["status"] == CaseStatus.PROPOSED} == {"no-facts", "doubted"}


def test_fewer_chunks_are_seen_where_answers_need_several(tmp_path: Path) -> None:
    """Most questions need the best passage alone, and lose nothing."""
    lake = filled(Lake(str(tmp_path / "lake")), least_rank=1)
    check = run_replays(lake, DEGRADED_DEPLOYMENT, [Broken(Faults(retrieval="fewer_chunks"), FailedPart.RETRIEVAL)])
    assert check.passed, check.found


def test_another_part_breaks_the_promise(lake: Lake) -> None:
    check = run_replays(lake, DEGRADED_DEPLOYMENT, [Broken(Faults(retrieval="other_index"), FailedPart.GENERATION)])
    assert not check.passed
    assert "regression, retrieval failed in" in check.found


def test_an_application_that_is_not_broken_is_no_regression(lake: Lake) -> None:
    assert not run_replays(lake, DEGRADED_DEPLOYMENT, [Broken(Faults(), FailedPart.RETRIEVAL)]).passed


def test_a_broken_tool_of_the_agent_is_named(tmp_path: Path) -> None:
    """Its cases have no facts, and the calls of the liked answer."""
    lake = Lake(str(tmp_path))
    rows = []
    for number in range(4700, 4730):
        question = f"When does my order {number} arrive?"
        found = answer(question, is_broken=False)
        calls = [{"name": call.name, "arguments": compact_json(call.arguments)} for call in found.calls]
        row = {"case_id": f"case-{number}", "deployment": AGENT, "version": 1, "question": question, "facts": []}
        row |= {"answer": found.text, "tool_calls": calls, "status": CaseStatus.PROPOSED}
        rows.append(row | {"created_at": AT, "updated_at": AT})
    lake.table(GROUND_TRUTH, AGENT).append(GROUND_TRUTH.rows(rows))
    check = run_agent_replays(lake)
    assert check.passed, check.found
    assert check.found == "30 cases accepted; tool broken: regression, tool failed in 30 of 30"
