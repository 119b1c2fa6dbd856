"""Reports of one answer and of one case, from rows of a lake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from dialwatch.reports.answer_report import format_answer
from dialwatch.reports.case_report import CaseDetails, format_case
from lake.queries.answer_details import read_answer
from lake.queries.ground_truth.alike_cases import AlikeCases
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_an_answer_is_shown_with_its_scores(tmp_path: Path) -> None:
    """Each with its value, or why it has none, and all that says what it is worth."""
    lake = Lake(str(tmp_path))
    when = {"event_id": "e", "date": AT.date(), "requested_at": AT}
    log = {"response_id": "r", "kind": "chat_completion", "is_entry": True, "status": 200, "question": "Who?"}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([when | log | {"answer": "Ann."}]))
    of_case = {"reference_status": "accepted", "reference_match": "exact", "failed_part": "retrieval"}
    scores = [
        {"score_id": "1", "metric": "case_passed", "value": 0.25, "judge": "lexical", "metric_version": "2"} | of_case,
        {"score_id": "2", "metric": "faithfulness", "reason": "no_contexts", "metric_version": "1"},
    ]
    lake.table(SCORES, "rag").append(SCORES.rows([when | {"scored_at": AT} | row for row in scores]))
    details = read_answer(lake, "rag", AT.date(), "e")
    assert details is not None
    shown = format_answer(details)
    assert shown.startswith("rag, 2026-11-20 12:00:00")
    for part in ("Question\n  Who?", "Answer\n  Ann.", "0.25", "judge lexical", "version 2", "what failed: retrieval"):
        assert part in shown
    assert "by a case that was accepted then, match exact" in shown
    assert "no value" in shown
    assert "reason no_contexts" in shown


def test_a_case_is_shown_with_its_facts_in_their_chunks_and_who_decided(tmp_path: Path) -> None:
    """A status that nobody has set has no name beside it; versions say what is different in them.

    Why only a person may accept it stands there as long as it is proposed.
    """
    first = {
        "case_id": "c",
        "version": 1,
        "doubt": "given during an incident",
        "status": "proposed",
        "question": "Who?",
        "answer": "Ann.",
        "created_at": AT,
    }
    first |= {"facts": ["Ann leads."], "context": ["We know: Ann leads. So."], "context_ids": ["k"], "updated_at": AT}
    first |= {"citations": [{"statement": "Ann leads.", "chunk": 0, "start": 9, "end": 19}]}
    second = first | {"version": 2, "status": "accepted", "status_by": "bob", "status_at": AT + timedelta(days=1)}
    table = Lake(str(tmp_path)).table(GROUND_TRUTH, "rag")
    table.append(GROUND_TRUTH.rows([first, second | {"updated_by": "bob"}]))
    old, new = sorted(table.read().to_pylist(), key=lambda row: row["version"])
    shown = format_case(CaseDetails("rag", new, (new, old), AlikeCases(("d",), ("x",)), None, ()))
    assert shown.startswith("case c of rag\n")
    assert "status:      accepted by bob, 2026-11-21 12:00" in shown
    assert "We know: [1: Ann leads. :1] So." in shown
    assert "chunk 1, characters 9 to 19" in shown
    assert "same as:     d" in shown
    assert "contradicts: x" in shown
    assert "doubt:" not in shown
    assert "proposed → accepted" in shown
    shown = format_case(CaseDetails("rag", old, (new, old), AlikeCases((), ()), None, ()))
    assert "version:     1, not the newest, which is 2" in shown
    assert "status:      proposed\n" in shown
    assert "doubt:       given during an incident\n" in shown
