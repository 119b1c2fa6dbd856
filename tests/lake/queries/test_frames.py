from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake.queries.frames import answers_frame, ground_truth_frame
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake

START = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def log_row(minute: int, **columns: Any) -> dict[str, Any]:
    at = START + timedelta(minutes=minute)
    seen = {"date": at.date(), "requested_at": at, "kind": "chat_completion", "is_entry": True, "status": 200}
    return {"event_id": f"{minute}", "question": "Q?", "answer": f"A{minute}", "documents": ["a.pdf"]} | seen | columns


def test_answers_are_one_row_each_with_lists_that_are_never_null(lake: Lake) -> None:
    """In the order they were asked for; calls of applications, tools and evaluations, and failed ones, are none."""
    rows = [
        log_row(3, documents=["b.pdf", "a.pdf"], contexts=[{"text": "one"}, {"text": None}]),
        log_row(1),
        log_row(2, documents=["a.pdf", "b.pdf"]),
        log_row(4, is_entry=False),
        log_row(5, kind="embedding"),
        log_row(6, answer=None),
        log_row(7, question="Other?", documents=None, contexts=None, response_id="r-7", duration_ms=5, price=0.5),
        log_row(8, status=500),
        log_row(10, origin="evaluation"),
        log_row(9, answer=None, finish_reason="stop"),
    ]
    rows[0]["contexts_origin"] = "retrieval_stage"
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows(rows))
    frame = answers_frame(lake, "rag-app")
    measured = ["duration_ms", "price"]
    assert list(frame.index) == list(range(5))
    known = {"response_id": "", "case_id": "", "contexts_origin": "none"}
    assert frame.drop(columns=measured).fillna("").to_dict("records") == [
        {"question": "Q?", "documents": ["a.pdf"], "context": [], "answer": "A1"} | known,
        {"question": "Q?", "documents": ["a.pdf", "b.pdf"], "context": [], "answer": "A2"} | known,
        {"question": "Q?", "documents": ["b.pdf", "a.pdf"], "context": ["one", ""], "answer": "A3"}
        | known
        | {"contexts_origin": "retrieval_stage"},
        {"question": "Other?", "documents": [], "context": [], "answer": "A7"} | known | {"response_id": "r-7"},
        {"question": "Q?", "documents": ["a.pdf"], "context": [], "answer": ""} | known,
    ]
    assert frame.loc[3, measured].to_list() == [5, 0.5]


def test_an_answer_names_the_case_that_it_is_compared_with(lake: Lake) -> None:
    """One that was not made of it and whose answer came before; a row a question has the others in it, best first."""
    rows = [log_row(minute, response_id=f"r-{minute}", response_ids=[f"r-{minute}"]) for minute in range(4)]
    lake.table(PARSED_LOGS, "rag-app").append(PARSED_LOGS.rows(rows))
    case = {"question": "Q?", "documents": ["a.pdf"], "facts": ["F."], "status": "proposed"}
    sure = {"c-0": 0.8, "c-2": 1.0, "c-1": 0.9}
    cases = [
        case | {"case_id": one, "confidence": sure[one], "answer": one, "source_response_id": f"r-{one[2:]}"}
        for one in sure
    ]
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows(cases))
    assert answers_frame(lake, "rag-app")["case_id"].fillna("").to_list() == ["", "c-0", "c-1", "c-2"]
    [row] = ground_truth_frame(lake, "rag-app").to_dict("records")
    assert (row["case_id"], row["source_response_id"]) == ("c-2", "r-2")
    assert [other["case_id"] for other in row["other_cases"]] == ["c-1", "c-0"]
    assert row["is_answerable_label"] is None
    assert row["other_cases"][0] == {"facts": ["F."], "answer": "c-1", "case_id": "c-1", "source_response_id": "r-1"}


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
    """Rejected cases and facts of punctuation alone are left out; an accepted case comes before a proposed one."""
    cases = [
        {
            "case_id": "a",
            "question": "Q?",
            "facts": ["Thirty days.", "---"],
            "answer": "30",
            "status": "accepted",
            "updated_at": START,
        },
        {"case_id": "b", "question": "No?", "facts": [], "answer": "x", "status": "rejected", "updated_at": START},
        {
            "case_id": "c",
            "question": "Q?",
            "facts": None,
            "answer": "31",
            "status": "proposed",
            "updated_at": START - timedelta(1),
        },
    ]
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows(cases))
    frame = ground_truth_frame(lake, "rag-app")
    columns = ["question", "documents", "facts", "answer"]
    assert frame[columns].to_dict("records") == [
        {"question": "Q?", "documents": [], "facts": ["Thirty days."], "answer": "30"}
    ]


def test_the_frames_survive_parquet_with_the_types_that_the_evaluator_reads(lake: Lake, tmp_path: Path) -> None:
    """Written with pandas, lists are lists of strings and texts are strings."""
    lake.table(PARSED_LOGS, "rag-app").append(
        PARSED_LOGS.rows([log_row(1, contexts=[{"text": "one"}], contexts_origin="cited")])
    )
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


def test_whether_a_question_has_an_answer_is_in_its_row(lake: Lake) -> None:
    """And in those of the other cases that say it; the column is null in rows of earlier versions."""
    case = {"question": "Q?", "documents": [], "facts": ["F."], "status": "proposed", "answer": "A"}
    cases = [case | {"case_id": f"c{i}", "confidence": 1 - i / 10, "is_answerable_label": not i} for i in range(2)]
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows(cases))
    [row] = ground_truth_frame(lake, "rag-app").to_dict("records")
    assert (row["is_answerable_label"], row["other_cases"][0]["is_answerable_label"]) == (True, False)
