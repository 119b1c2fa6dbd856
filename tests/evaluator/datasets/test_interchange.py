"""A table written here is read by aidial-rag-eval, and the reverse, with equal numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.datasets import DatasetReport, open_dataset, read_dataset, score_dataset
from tests.evaluator.datasets.peer import COLUMNS, TABLES, stored, with_peer


@pytest.fixture
def report(tmp_path: Path) -> DatasetReport:
    answers, truth = stored("answers", tmp_path), stored("ground_truth", tmp_path)
    return score_dataset(answers, truth, str(tmp_path / "scored.parquet"), batch_rows=2)


def rows(path: str) -> list[dict[str, Any]]:
    return [row | {"documents": sorted(row["documents"])} for row in pq.read_table(path).to_pylist()]


def test_the_packages_columns_hold_the_packages_numbers(report: DatasetReport) -> None:
    """Names, types, numbers and highlights of its table come out of its own inputs, to the last bit."""
    written = rows(report.dataset.data_path)
    for ours, theirs in zip(written, TABLES["metrics"], strict=True):
        assert {name: ours[name] for name in theirs} == theirs
    schema = pq.read_schema(report.dataset.data_path)
    for name in ("documents", "facts", "context", "context_highlight"):
        assert schema.field(name).type.value_type == pa.string()
    assert schema.field("facts_ranks").type.value_type == pa.int64()
    assert {schema.field(name).type for name in ("recall", "precision", "mrr", "f1")} == {pa.float64()}


def test_the_metadata_is_the_packages(report: DatasetReport) -> None:
    """The JSON has its keys, the means of its columns, its counts of rows, and its sources in its order."""
    text = Path(report.dataset.metadata_path).read_text("utf-8")
    ours, theirs = json.loads(text), TABLES["metadata"]
    assert list(ours) == list(theirs)
    assert {name: ours["metrics"][name] for name in theirs["metrics"]} == pytest.approx(theirs["metrics"], abs=1e-15)
    assert ours["statistics"] == theirs["statistics"]
    assert [Path(one["data_path"]).name for one in ours["sources"]] == ["ground_truth.parquet", "answers.parquet"]
    assert [list(one) for one in ours["sources"]] == [["metadata_path", "data_path", "metadata"]] * 2
    assert list(ours["tools"]) == ["dialwatch"]
    assert set(ours["file_info"]) == {"name", "size"}
    # The package finds `12` in `2012` and `3.5` in `3-5`; metrics of the registry compare numbers by value.
    assert (ours["metrics"]["facts_recall"], ours["metrics"]["recall"]) == (0.6, 0.8)
    assert "NaN" not in text


def test_a_table_of_the_package_is_read(tmp_path: Path) -> None:
    """Rows and metadata of its metrics table come back; keys of others are passed over; no metadata is no error."""
    path = stored("metrics", tmp_path)
    assert open_dataset(path).metadata.created_at is None
    Path(f"{path}.metadata.json").write_text(json.dumps(TABLES["metadata"] | {"ours": 1}))
    frame, metadata = read_dataset(f"{path}.metadata.json")
    assert list(frame["question"]) == [row["question"] for row in TABLES["metrics"]]
    assert metadata.metrics == TABLES["metadata"]["metrics"]
    assert [one.data_path for one in metadata.sources] == ["ground_truth.parquet", "answers.parquet"]


def test_metadata_of_the_inputs_go_with_the_scores(tmp_path: Path) -> None:
    """A table of scores carries what was known of the tables that it was made from."""
    answers, truth = stored("answers", tmp_path), stored("ground_truth", tmp_path)
    known = {"created_at": "2026-11-20T00:00:00", "sources": [], "tools": {"collector": "7"}}
    Path(f"{answers}.metadata.json").write_text(json.dumps(known))
    report = score_dataset(answers, truth, str(tmp_path / "scored.parquet"))
    _, source = open_dataset(report.dataset.data_path).metadata.sources
    assert source.metadata.tools == {"collector": "7"}


EVALUATE = """
import sys, warnings
warnings.simplefilter("ignore")
from aidial_rag_eval.evaluate import evaluate
evaluate(*sys.argv[1:4])
"""
READ = """
import json, sys
from aidial_rag_eval.dataset import Dataset
dataset = Dataset.from_metadata(sys.argv[1])
frame = dataset.read_dataframe()
print(json.dumps({"columns": list(frame), "rows": len(frame), "metrics": dataset.metadata.metrics}))
"""


@pytest.mark.integration
def test_the_package_reads_and_scores_what_was_written_here(report: DatasetReport, tmp_path: Path) -> None:
    """The package reads a table of scores with its metadata; scored anew by it, its rows get the same numbers."""
    path = report.dataset.data_path
    read = json.loads(with_peer(READ, path))
    assert read["rows"] == 6
    assert read["metrics"]["recall"] == pytest.approx(0.8)
    assert "facts_recall_reason" in read["columns"]
    again = str(tmp_path / "again.parquet")
    with_peer(EVALUATE, stored("ground_truth", tmp_path), path, again)
    ours, theirs = rows(path), rows(again)
    assert [[row[name] for name in COLUMNS] for row in ours] == [[row[name] for name in COLUMNS] for row in theirs]
    frame, metadata = read_dataset(again)
    assert len(frame) == 6
    assert metadata.sources[1].metadata.tools == report.dataset.metadata.tools
