"""Cells of tables in the forms that programs write: one table gives one set of numbers, whatever its file is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.datasets import DatasetReport, score_dataset

METRICS = [
    *("faithfulness_kprecision", "answer_correctness_token_recall", "exact_match", "empty_answer", "facts_recall"),
    *("id_recall", "context_present", "context_relevance_token_precision", "latency", "non_llm_context_recall"),
]
CELLS = (
    "question",
    "answer",
    "context",
    "context_ids",
    "facts",
    "reference_answers",
    "reference_contexts",
    "duration_ms",
)
ROW = {
    "question": "What colour is the sky?",
    "answer": "The sky is blue.",
    "context": ["the sky is blue", "grass is green"],
    "context_ids": [2, 1],
    "facts": ["sky is blue", "snow"],
    "reference_answers": ["blue", "the sky is blue"],
    "reference_contexts": ["the sky is blue"],
    "reference_context_ids": ["1"],
    "duration_ms": 1500,
}


def as_text(cell: object) -> object:
    return json.dumps(cell) if isinstance(cell, list | int) else cell


def in_texts(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: as_text(cell) for name, cell in row.items()} for row in rows]


def files_of(folder: Path, rows: Sequence[dict[str, Any]]) -> list[Path]:
    """The rows as CSV, and as JSON lines and parquet with lists, and with texts in their place."""
    paths = [folder / name for name in ("a.csv", "lists.jsonl", "texts.jsonl", "lists.parquet", "texts.parquet")]
    texts = in_texts(rows)
    pd.DataFrame(texts, dtype=object).to_csv(paths[0], index=False)
    for path, some in ((paths[1], rows), (paths[2], texts)):
        path.write_text("".join(f"{json.dumps(row)}\n" for row in some))
    pq.write_table(pa.Table.from_pylist(list(rows)), paths[3])
    pq.write_table(pa.Table.from_pylist(texts), paths[4])
    return paths


def scored(path: Path, metrics: list[str] | None = None) -> tuple[DatasetReport, list[dict[str, Any]]]:
    out = path.with_name("out.parquet")
    report = score_dataset(str(path), None, str(out), metrics or METRICS)
    return report, pq.read_table(out).to_pylist()


@pytest.mark.parametrize("column", [*CELLS, "reference_context_ids"])
@pytest.mark.parametrize("empty", [None, ""])
def test_a_table_has_the_same_numbers_in_any_file(column: str, empty: str | None, tmp_path: Path) -> None:
    """Lists and numbers may be written as texts, and a cell may be empty or missing."""
    rows = [ROW, ROW | {column: empty if column in ("question", "answer") else None}]
    names = [name for metric in METRICS for name in (metric, f"{metric}_reason")]
    numbers = [[{name: row[name] for name in names} for row in scored(path)[1]] for path in files_of(tmp_path, rows)]
    assert all(one == numbers[0] for one in numbers[1:])
    assert numbers[0][0]["id_recall"] == 1.0
    assert numbers[0][0]["facts_recall"] == 0.5


def test_an_answer_that_is_missing_says_nothing(tmp_path: Path) -> None:
    """It is 0 with a remark, or an application could lift its mean by answering nothing; CSV knows no difference."""
    for path in files_of(tmp_path, [ROW, ROW | {"answer": ""}, ROW | {"answer": None}]):
        report, rows = scored(path, ["faithfulness_kprecision"])
        assert [row["faithfulness_kprecision"] for row in rows] == [1.0, 0.0, 0.0]
        assert [row["faithfulness_kprecision_reason"] for row in rows] == [None, "no_answer", "no_answer"]
        assert report.aggregate.loc["faithfulness_kprecision", "scored"] == 3


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_text_that_holds_no_list_is_counted_and_said(ending: str, tmp_path: Path) -> None:
    """The row has no value, the others have theirs, the report has its number; lists and texts may stand together."""
    rows = in_texts([ROW, ROW, ROW]) if ending == "parquet" else [ROW, *in_texts([ROW, ROW])]
    path = tmp_path / f"a.{ending}"
    for place, context in ((1, "the sky is blue"), (2, "['the sky is blue']")):
        rows[place] |= {"context": context}
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    report, written = scored(path)
    assert [row["faithfulness_kprecision"] for row in written] == [1.0, None, None]
    assert written[1]["faithfulness_kprecision_reason"] == "unreadable_contexts"
    assert [row["context"] for row in written] == [ROW["context"], ["the sky is blue"], ["['the sky is blue']"]]
    assert report.unreadable == {"context": (2, 2)}


RAGAS = {
    "user_input": ROW["question"],
    "response": ROW["answer"],
    "retrieved_contexts": ROW["context"],
    "reference": "blue sky",
    "reference_contexts": ["the sky is blue"],
}
DEEPEVAL = {
    "input": ROW["question"],
    "actual_output": ROW["answer"],
    "retrieval_context": ROW["context"],
    "expected_output": "blue sky",
    "context": ["the sky is blue"],
}
OLD_RAGAS = {
    "question": ROW["question"],
    "answer": ROW["answer"],
    "contexts": ROW["context"],
    "ground_truth": "blue sky",
    "reference_contexts": ["the sky is blue"],
}
OWN = {**{name: ROW[name] for name in ("question", "answer", "context", "reference_contexts")}, "reference": "blue sky"}


@pytest.mark.parametrize("row", [RAGAS, DEEPEVAL, OLD_RAGAS, OWN])
def test_a_table_with_its_own_reference_is_scored(row: dict[str, Any], tmp_path: Path) -> None:
    """The names of RAGAS and DeepEval are known, in any file; what they mean there they mean here."""
    metrics = ["answer_correctness_token_recall", "faithfulness_kprecision", "context_relevance_token_precision"]
    expected = [1.0, 1.0, 0.5]
    for path in files_of(tmp_path, [row]):
        _, (written,) = scored(path, [*metrics, "non_llm_context_recall", "answer_length"])
        assert [written[name] for name in metrics] == expected
        assert written["non_llm_context_recall"] == 1.0
        assert (written["question"], written["answer"]) == (ROW["question"], ROW["answer"])
        assert written["context"] == ROW["context"]


def test_a_scored_table_is_scored_again(tmp_path: Path) -> None:
    """With the ground truth that it was joined with, and one that is given anew goes before it."""
    documents = {"documents": ["a"]}
    answer, truth = {"question": "Q?", "answer": "blue"}, {"question": "Q?", "answer": "blue"}
    pq.write_table(pa.Table.from_pylist([answer | documents]), tmp_path / "a.parquet")
    for name, reference in (("gt", "blue"), ("other", "red")):
        pq.write_table(pa.Table.from_pylist([truth | documents | {"answer": reference}]), tmp_path / f"{name}.parquet")
    once, again = str(tmp_path / "once.parquet"), str(tmp_path / "again.parquet")
    score_dataset(str(tmp_path / "a.parquet"), str(tmp_path / "gt.parquet"), once, "exact_match")
    values = []
    for ground_truth in (None, str(tmp_path / "other.parquet")):
        report = score_dataset(once, ground_truth, again, "exact_match")
        values.append(report.aggregate.loc["exact_match", "mean"])
    assert values == [1.0, 0.0]


@pytest.mark.parametrize("reference", ["null", "NaN", "[1", "7"])
def test_a_reference_answer_may_be_any_text(reference: str, tmp_path: Path) -> None:
    """One that looks like JSON and is no list is the answer itself."""
    for path in files_of(tmp_path, [{"answer": reference, "reference": reference}]):
        assert scored(path, ["exact_match"])[1][0]["exact_match"] == 1.0


def test_documents_may_stand_in_a_text(tmp_path: Path) -> None:
    """As JSON they are the same key as the list, in any order; a bare text is one document."""
    for documents in ('["b", "a"]', ["a", "b"]):
        for name, given in (("a", documents), ("gt", '["a", "b"]')):
            row = {"question": "Q?", "answer": "blue", "documents": given}
            (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
        out = str(tmp_path / "out.parquet")
        report = score_dataset(str(tmp_path / "a.jsonl"), str(tmp_path / "gt.jsonl"), out, ["exact_match"])
        assert report.rows == 1
