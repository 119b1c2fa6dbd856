"""Answers and cases of a lake, exported and scored as tables: the same numbers as the service's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluator.datasets import score_dataset
from evaluator.metrics import metric_named, needs_ground_truth
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.queries.frames import answers_frame, ground_truth_frame
from lake.spec.schemas import SCORES
from lake.tables.lake import Lake
from tests.evaluator.conftest import Traffic

METRICS = ["faithfulness_kprecision", "context_present", "answer_length", "latency", "cost"]
COMPARED = ["facts_recall", "facts_longest_run", "answer_correctness_token_recall"]
FOLLOWS = {"message_count": 3, "prefix_hash": "p", "parent_history_hash": "h"}


def of_service(lake: Lake) -> dict[str, list[tuple[str, float | None, str | None]]]:
    """Run the service, and give what it says of each answer by metric."""
    Evaluator(lake, EvaluatorSettings(metrics=METRICS + COMPARED)).run_once()
    found: dict[str, list[tuple[str, float | None, str | None]]] = {name: [] for name in METRICS + COMPARED}
    for row in lake.table(SCORES, "rag").read().to_pylist():
        found[row["metric"]].append((row["response_id"], row["value"], row["reason"]))
    return {name: sorted(rows, key=str) for name, rows in found.items()}


def of_tables(lake: Lake, folder: Path) -> dict[str, list[tuple[str, float | None, str | None]]]:
    """Export as the README says, score the tables, and give the same; ground truth is left out where none is read."""
    answers, truth = folder / "answers.parquet", folder / "ground_truth.parquet"
    answers_frame(lake, "rag").to_parquet(answers)
    ground_truth_frame(lake, "rag").to_parquet(truth)
    found = {}
    for ground_truth, metrics in ((None, METRICS), (str(truth), COMPARED)):
        out = str(folder / "metrics.parquet")
        score_dataset(str(answers), ground_truth, out, metrics)
        for name in metrics:
            rows = pq.read_table(out, columns=["response_id", name, f"{name}_reason"]).to_pylist()
            # The service writes a reason only where there is no value.
            cells = ((*row.values(),) if row[name] is None else (row["response_id"], row[name], None) for row in rows)
            found[name] = sorted(cells, key=str)
    return found


def test_the_split_of_metrics_is_the_registrys() -> None:
    """The two lists of this file are those that need ground truth and those that do not."""
    assert [needs_ground_truth(metric_named(name)) for name in METRICS + COMPARED] == [False] * 5 + [True] * 3


def test_an_export_that_is_scored_says_what_the_service_says(tmp_path: Path, lake: Lake, traffic: Traffic) -> None:
    """Metric by metric and answer by answer; a liked answer is compared with others, and never with itself."""
    wrong, port = {"answer": "It is in Mumbai."}, {"question": "Where is the port?", "answer": "In Mumbai."}
    traffic.log(
        traffic.answer("before", -5),
        traffic.answer("liked", 0, duration_ms=1500, price=0.25),
        traffic.answer("between", 1, **wrong),
        traffic.answer("liked-too", 2, answer="Delhi is the seat."),
        traffic.answer("after", 3, **wrong),
        traffic.answer("last", 4),
        traffic.answer("port", 5, **port),
        traffic.answer("empty", 6, answer=None),
        traffic.answer("cited", 7, contexts_origin="cited"),
        traffic.answer("unknown", 8, chunks=[]),
        traffic.answer("images", 9, chunks=["", " "]),
        traffic.answer("nothing", 10, contexts=[], contexts_origin="retrieval_response"),
        traffic.answer("failed", 11, status=500),
        traffic.answer("follow-up", 12, **FOLLOWS),
        traffic.answer("other-words", 13, question="And?", standalone_question="Where is it?", **FOLLOWS),
        traffic.answer("other-asked", 14, question="Where is it?", **wrong),
        traffic.answer("no-question", 15, question=None),
    )
    liked = ("liked", "liked-too", "other-words", "port")
    traffic.rate(*(traffic.signal("like", name, 60) for name in liked))
    served, scored = of_service(lake), of_tables(lake, tmp_path)
    assert served == scored
    recall = {one: value for one, value, _ in scored["answer_correctness_token_recall"]}
    assert set(recall) == {
        "chatcmpl-between", "chatcmpl-liked-too", "chatcmpl-after", "chatcmpl-last", "chatcmpl-empty", "chatcmpl-cited",
        "chatcmpl-unknown", "chatcmpl-images", "chatcmpl-nothing", "chatcmpl-other-asked",
    }  # fmt: skip
    assert 0 < recall["chatcmpl-liked-too"] < 1


TURN = st.fixed_dictionaries(
    {
        "question": st.sampled_from(["Where?", "Yes", "Who?"]),
        "answer": st.sampled_from(["Delhi is large.", "Mumbai", "", None, "The seat is Delhi."]),
        "documents": st.sampled_from([["a"], ["b", "a"], ["a", "b"], None]),
        "standalone_question": st.sampled_from([None, "Where?", "Who?"]),
        "parent_history_hash": st.sampled_from([None, "h"]),
        "contexts_origin": st.sampled_from([None, "none", "cited", "retrieval_stage"]),
        "chunks": st.sampled_from([[], [""], ["Delhi is large. The seat is Delhi.", "Mumbai."]]),
        "is_liked": st.booleans(),
        "response_id": st.booleans(),
    }
)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(TURN, min_size=1, max_size=12))
def test_any_lake_gives_the_same_numbers_both_ways(
    turns: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever was asked, answered, retrieved and liked, each in a conversation of its own."""
    folder = tmp_path_factory.mktemp("export")
    lake = Lake(str(folder / "lake"))
    traffic = Traffic(lake, "rag")
    rows = []
    for number, turn in enumerate(turns):
        columns = {name: turn[name] for name in turn if name not in ("is_liked", "response_id")}
        columns |= {} if turn["response_id"] else {"response_id": None}
        rows.append(traffic.answer(str(number), number, prefix_hash=f"p{number}", **columns))
    traffic.log(*rows)
    likes = [traffic.signal("like", str(number), 60) for number, turn in enumerate(turns) if turn["is_liked"]]
    if likes:
        traffic.rate(*likes)
    assert of_service(lake) == of_tables(lake, folder)


def test_what_is_compared_in_its_conversation_alone_is_not_exported_so(
    tmp_path: Path, lake: Lake, traffic: Traffic
) -> None:
    """aidial-rag-eval joins by the question, which says nothing by itself."""
    traffic.log(
        traffic.answer("liked", question="Yes", **FOLLOWS), traffic.answer("again", 1, question="Yes", **FOLLOWS)
    )
    traffic.rate(traffic.signal("like", "liked", 60))
    assert [one for one, *_ in of_service(lake)["facts_recall"]] == ["chatcmpl-again"]
    assert of_tables(lake, tmp_path)["facts_recall"] == []


def test_an_answer_that_names_no_case_is_never_joined_with_its_own(tmp_path: Path) -> None:
    """Tables of one's own with the ids alone: the next case of the question is taken, or none."""
    answer = {"question": "Q?", "documents": ["a"], "context": ["x"], "answer": "blue sky"}
    case = {"question": "Q?", "documents": ["a"], "facts": ["x"], "answer": "blue sky"}
    other = {"facts": ["y"], "answer": "red", "case_id": "2", "source_response_id": "r2"}
    truth = [case | {"case_id": "1", "source_response_id": "r1", "other_cases": [other]}]
    pd.DataFrame([answer | {"response_id": f"r{number}"} for number in (1, 2, 3)]).to_parquet(tmp_path / "a.parquet")
    pq.write_table(pa.Table.from_pylist(truth), tmp_path / "gt.parquet")
    paths = [str(tmp_path / name) for name in ("a.parquet", "gt.parquet", "out.parquet")]
    report = score_dataset(paths[0], paths[1], paths[2], ["facts_recall", "exact_match"])
    rows = pq.read_table(paths[2]).to_pylist()
    scored = [(row["response_id"], row["case_id"], row["facts_recall"], row["exact_match"]) for row in rows]
    assert scored == [("r1", "2", 0.0, 0.0), ("r2", "1", 1.0, 1.0), ("r3", "1", 1.0, 1.0)]
    assert (report.rows, report.without_answer) == (3, 0)
    assert "other_cases" not in rows[0]


def test_an_answer_is_joined_with_cases_of_other_answers_that_have_its_id(tmp_path: Path) -> None:
    """Where several cases name one id, the case that was made of an answer is that with its text."""
    same = {"question": "Q?", "documents": ["a"], "context": ["x"], "response_id": "chat"}
    case = {"question": "Q?", "documents": ["a"], "facts": ["x"], "source_response_id": "chat"}
    answers = [same | {"answer": text} for text in ("blue", "red", "green")]
    truth = [
        case | {"case_id": text, "answer": text, "question": asked} for text, asked in (("blue", "Q?"), ("red", "R?"))
    ]
    for name, rows in (("a", answers), ("gt", truth)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    paths = [str(tmp_path / name) for name in ("a.parquet", "gt.parquet", "out.parquet")]
    score_dataset(paths[0], paths[1], paths[2], ["facts_recall"])
    assert pq.read_table(paths[2])["answer"].to_pylist() == ["red", "green"]


def test_rows_that_are_no_case_are_joined_by_their_question(tmp_path: Path) -> None:
    """Ground truth that a person added to an export meets the answers to its question, whatever case these name."""
    answer = {"question": "Q?", "documents": ["a"], "context": ["x"], "answer": "blue", "case_id": "1"}
    case = {"question": "Other?", "documents": ["a"], "facts": ["x"], "answer": "blue", "case_id": "1"}
    mine = {"question": "Q?", "documents": ["a"], "facts": ["y"], "answer": "red", "case_id": None}
    for name, rows in (("a", [answer, answer | {"case_id": None}, answer | {"case_id": "gone"}]), ("gt", [case, mine])):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    paths = [str(tmp_path / name) for name in ("a.parquet", "gt.parquet", "out.parquet")]
    score_dataset(paths[0], paths[1], paths[2], ["facts_recall"])
    assert pq.read_table(paths[2])["facts_recall"].to_pylist() == [0.0, 1.0, 0.0, 0.0]
