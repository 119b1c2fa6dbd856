"""Rows of a scored table: the worst ones, rows by their numbers, and details of their scores."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from evaluator.datasets import worst_rows as module
from evaluator.datasets.worst_rows import details_of, read_rows, worst_places

RECALL = "answer_correctness_token_recall"


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "scored.parquet"
    values = [0.5, None, 0.2, 1.0, 0.2, 0.9]
    pd.DataFrame({"answer": list("abcdef"), RECALL: values, "toxicity": [0.0, 0.1, None, 0.3, 0.2, 0.0]}).to_parquet(
        path
    )
    return str(path)


def test_the_worst_rows_are_those_with_the_worst_values_the_first_of_equal_ones_first(table: str) -> None:
    """Rows without a value and with the best one are not among them; of toxicity the best is 0."""
    assert worst_places(table, RECALL, 3) == [(2, 0.2), (4, 0.2), (0, 0.5)]
    assert worst_places(table, RECALL, 9) == [(2, 0.2), (4, 0.2), (0, 0.5), (5, 0.9)]
    assert worst_places(table, "toxicity", 9) == [(3, 0.3), (4, 0.2), (1, 0.1)]


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_rows_are_read_by_their_numbers(table: str, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Whatever the batches, in which those of a large table are read; a number beyond its end is none."""
    monkeypatch.setattr(module, "_BATCH_ROWS", size)
    assert {number: row["answer"] for number, row in read_rows(table, [5, 0, 3, 3, 9]).items()} == {
        0: "a", 3: "d", 5: "f",
    }  # fmt: skip


def test_details_are_those_of_the_table_or_made_anew_without_a_judge() -> None:
    rows = [{f"{RECALL}_details": '{"a": 1}', "answer": "x"}, {f"{RECALL}_details": None, "answer": "x"}]
    assert details_of(rows, [RECALL]) == [{RECALL: '{"a": 1}'}, {}]
    made = details_of(
        [{"answer": "See [1] and [7].", "contexts": ["One."]}], ["citation_validity", "faithfulness_claims"]
    )
    assert made[0].keys() <= {"citation_validity"}
    assert all(json.loads(text) for text in made[0].values())
