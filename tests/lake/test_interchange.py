from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake import GROUND_TRUTH, PARSED_LOGS, Lake, answers_frame, ground_truth_frame

START = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def log_row(minute: int, **columns: Any) -> dict[str, Any]:
    at = START + timedelta(minutes=minute)
    seen = {"date": at.date(), "requested_at": at, "kind": "chat_completion", "is_entry": True}
    return {"event_id": f"{minute}", "question": "Q?", "answer": f"A{minute}", "documents": ["a.pdf"]} | seen | columns


def test_answers_are_one_row_a_question_with_lists_that_are_never_null(lake: Lake) -> None:
    """The newest answer to a question over the same documents stays; calls of applications are no answers."""
    rows = [
        log_row(3, documents=["b.pdf", "a.pdf"], contexts=[{"text": "one"}, {"text": None}]),
        log_row(1),
        log_row(2, documents=["a.pdf", "b.pdf"]),
        log_row(4, is_entry=False),
        log_row(5, kind="embedding"),
        log_row(6, answer=None),
        log_row(7, question="Other?", documents=None, contexts=None),
    ]
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows(rows))
    frame = answers_frame(lake, "rag-app")
    assert list(frame.columns) == ["question", "documents", "context", "answer"]
    assert list(frame.index) == [0, 1, 2]
    assert frame.to_dict("records") == [
        {"question": "Q?", "documents": ["a.pdf"], "context": [], "answer": "A1"},
        {"question": "Q?", "documents": ["b.pdf", "a.pdf"], "context": ["one", ""], "answer": "A3"},
        {"question": "Other?", "documents": [], "context": [], "answer": "A7"},
    ]


def test_answers_are_those_that_people_asked_for_or_those_of_one_other_origin(lake: Lake) -> None:
    """A row of an earlier version has no origin, and is a person's."""
    rows = [
        log_row(1, question="One?"),
        log_row(2, question="Two?", origin="production"),
        log_row(3, question="One?", origin="evaluation"),
        log_row(4, question="Four?", origin="test"),
    ]
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows(rows))
    assert answers_frame(lake, "rag-app")["answer"].to_list() == ["A1", "A2"]
    assert answers_frame(lake, "rag-app", origin="evaluation")["answer"].to_list() == ["A3"]


def test_contexts_that_only_the_applications_model_call_shows_are_found(lake: Lake) -> None:
    """Whichever of the two lines came first, and whatever the day; what the answer itself shows comes first."""
    shown = {"trace_id": "t", "contexts": [{"text": "shown"}], "contexts_origin": "retrieval_stage"}
    nothing = {"trace_id": "t", "contexts": None, "contexts_origin": "none"}
    rows = [
        log_row(1, question="One?", span_id="s1", **nothing),
        log_row(2, question="Two?", span_id="s2", **shown),
        log_row(2000, question="Three?", span_id="s3", **nothing),
        log_row(3, question="Four?", span_id="s4", **nothing),
    ]
    calls = [
        log_row(minute, is_entry=False, trace_id="t", parent_span_id=span, contexts_origin="prompt", event_id=span)
        | {"contexts": [{"text": f"prompt of {span}"}]}
        for minute, span in ((1, "s1"), (2, "s2"), (2001, "s3"))
    ]
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows(rows))
    lake.table(PARSED_LOGS, "gpt-4o").append(PARSED_LOGS.rows(calls))
    frame = answers_frame(lake, "rag-app")
    assert dict(zip(frame["question"], frame["context"], strict=True)) == {
        "One?": ["prompt of s1"], "Two?": ["shown"], "Three?": ["prompt of s3"], "Four?": [],
    }  # fmt: skip


def test_ground_truth_has_no_fact_that_is_found_everywhere(lake: Lake) -> None:
    """Rejected cases and facts of punctuation alone are left out; the newest case of a question stays."""
    cases = [
        {"question": "Q?", "facts": ["Thirty days.", "---"], "answer": "30", "status": "accepted", "updated_at": START},
        {"question": "No?", "facts": [], "answer": "x", "status": "rejected", "updated_at": START},
        {"question": "Q?", "facts": None, "answer": "31", "status": "proposed", "updated_at": START - timedelta(1)},
    ]
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows(cases))
    frame = ground_truth_frame(lake, "rag-app")
    assert frame.to_dict("records") == [{"question": "Q?", "documents": [], "facts": ["Thirty days."], "answer": "30"}]


def test_the_frames_survive_parquet_with_the_types_that_the_evaluator_reads(lake: Lake, tmp_path: Path) -> None:
    """Written with pandas, lists are lists of strings and texts are strings."""
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows([log_row(1, contexts=[{"text": "one"}])]))
    path = tmp_path / "answers.parquet"
    answers_frame(lake, "rag-app").to_parquet(path)
    schema = pq.read_schema(path)
    assert pa.types.is_list(schema.field("documents").type)
    assert pa.types.is_list(schema.field("context").type)
    assert list(pd.read_parquet(path)["context"][0]) == ["one"]


def test_a_deployment_without_rows_gives_empty_frames(lake: Lake) -> None:
    """Nothing there is no error."""
    assert answers_frame(lake, "unknown").empty
    assert ground_truth_frame(lake, "unknown").empty
