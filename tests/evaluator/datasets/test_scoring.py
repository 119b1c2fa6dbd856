"""Tables joined, scored and written: which rows, which columns, and what becomes of bad input."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaluator.datasets import DatasetError, open_dataset, score_dataset
from evaluator.metrics import REGISTRY, Models, UnknownMetricError, metric_named
from runtime.worker_pool import SameProcess, WorkerPool
from tests.evaluator.metrics.forms import PLAIN
from tests.servers import Bucket

ANSWER = {"question": "Q?", "documents": ["a.pdf"], "context": ["the sky is blue"], "answer": "blue sky"}
TRUTH = {"question": "Q?", "documents": ["a.pdf"], "facts": ["sky is blue"], "answer": "blue"}
CALLS = [{"name": "f", "arguments": "{}", "is_error": False}]
MEASURED = {"duration_ms": 1500, "price": 0.01}


def table(folder: Path, name: str, *rows: dict[str, Any], schema: pa.Schema | None = None) -> str:
    path = folder / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
    return str(path)


def scored(folder: Path, answers: str, truth: str | None, metrics: list[str] | None = None) -> list[dict[str, Any]]:
    out = str(folder / "out.parquet")
    score_dataset(answers, truth, out, metrics)
    rows: list[dict[str, Any]] = pq.read_table(out).to_pylist()
    return rows


def test_rows_are_joined_by_the_set_of_documents_and_the_question(tmp_path: Path) -> None:
    """Documents in another order match, another question does not; partners that are missing are counted."""
    answers = table(
        tmp_path,
        "answers",
        ANSWER | {"documents": ["b", "a"], "answer": "first"},
        ANSWER | {"documents": ["a"], "answer": "no partner"},
        ANSWER | {"documents": ["b", "a"], "question": "Q? ", "answer": "no partner"},
        ANSWER | {"documents": None, "answer": "second"},
        ANSWER | {"documents": ["a", "b", "b"], "answer": "third"},
    )
    truth = table(
        tmp_path,
        "truth",
        TRUTH | {"documents": []},
        TRUTH | {"documents": ["a", "b"]},
        TRUTH | {"documents": ["never"]},
        TRUTH | {"question": None},
    )
    report = score_dataset(answers, truth, str(tmp_path / "out.parquet"), ["facts_recall"], batch_rows=2)
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["answer"] for row in rows] == ["first", "second", "third"]
    assert [row["documents"] for row in rows] == [["b", "a"], [], ["a", "b", "b"]]
    assert (report.rows, report.without_ground_truth, report.without_answer) == (3, 2, 2)


def test_ground_truth_that_comes_twice_scores_an_answer_twice(tmp_path: Path) -> None:
    """An answer is paired with each row of its key, as in any join."""
    answers = table(tmp_path, "answers", ANSWER)
    truth = table(tmp_path, "truth", TRUTH, TRUTH | {"facts": ["snow"]})
    assert [row["facts_recall"] for row in scored(tmp_path, answers, truth, ["facts_recall"])] == [1.0, 0.0]


def test_what_stands_beside_is_kept(tmp_path: Path) -> None:
    """Other columns of both tables are carried over; scores that a table had are replaced."""
    answers = table(tmp_path, "answers", ANSWER | {"id": 7, "tag": "x", "facts_recall": 0.1, "recall": 0.1})
    truth = table(tmp_path, "truth", TRUTH | {"tag": "y", "case": b"1"})
    (row,) = scored(tmp_path, answers, truth, ["facts_recall"])
    kept = {name: row[name] for name in ("id", "tag", "ground_truth_tag", "case", "ground_truth_answer", "answer")}
    assert kept == {
        "id": 7, "tag": "x", "ground_truth_tag": "y", "case": b"1", "ground_truth_answer": "blue", "answer": "blue sky",
    }  # fmt: skip
    assert (row["facts_recall"], row["recall"]) == (1.0, 1.0)


def test_thoughts_before_an_answer_are_not_scored(tmp_path: Path) -> None:
    """A block of thoughts at the beginning is no part of the answer; the table that is written keeps it."""
    thinking = "<think>\nI don't know it yet. Let me read.\n</think>\n\n"
    answers = table(tmp_path, "answers", ANSWER, ANSWER | {"answer": thinking + ANSWER["answer"]})
    plain, thought = scored(tmp_path, answers, table(tmp_path, "truth", TRUTH), ["rouge1_fmeasure", "refusal"])
    assert thought["rouge1_fmeasure"] == plain["rouge1_fmeasure"]
    assert thought["refusal"] == plain["refusal"] == 0
    assert thought["answer"].startswith("<think>")


def test_all_stands_for_what_the_columns_allow(tmp_path: Path, models: Models) -> None:
    """Metrics whose columns are not there are left out by name; with every column all that ask no judge are scored."""
    unpaid = [name for name, metric in REGISTRY.items() if metric.judge != "llm"]
    answers, truth = table(tmp_path, "answers", ANSWER), table(tmp_path, "truth", TRUTH)
    report = score_dataset(answers, truth, str(tmp_path / "out.parquet"))
    assert report.left_out["ndcg"] == ["context_ids", "reference_context_ids"]
    assert set(report.aggregate.index) | set(report.left_out) | set(report.unavailable) == set(unpaid)
    answers = table(tmp_path, "answers", ANSWER | {"context_ids": ["1"]} | MEASURED | {"tool_calls": CALLS})
    more = {"reference_context_ids": ["1"], "reference_contexts": ["x"], "reference_answers": ["red", "blue sky"]}
    more |= {"reference_tool_calls": CALLS}
    report = score_dataset(
        answers, table(tmp_path, "truth", TRUTH | more), str(tmp_path / "out.parquet"), models=models
    )
    assert not report.left_out
    assert not report.unavailable
    assert list(report.aggregate.index) == unpaid
    assert report.aggregate.loc["exact_match", "mean"] == 1.0
    versions = orjson.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"dialwatch"])["metrics"]
    assert versions == {name: metric_named(name, models).version for name in unpaid}


def test_a_metric_of_a_judge_without_a_judge_is_an_error(tmp_path: Path) -> None:
    """It is left out by name, as one whose model is missing, and the others are scored."""
    answers = table(tmp_path, "answers", ANSWER)
    report = score_dataset(answers, None, str(tmp_path / "out.parquet"), ["faithfulness_claims", "context_present"])
    assert list(report.aggregate.index) == ["context_present"]
    assert "evaluator.judges" in report.unavailable["faithfulness_claims"]


@pytest.mark.integration
def test_several_processes_write_the_same_table(tmp_path: Path) -> None:
    """The rows keep their order, and the metadata and means are the same."""
    rows = [ANSWER | {"question": f"Q{number}?", "answer": "blue sky " * (number % 7)} for number in range(50)]
    answers = table(tmp_path, "answers", *rows)
    truth = table(tmp_path, "truth", *(TRUTH | {"question": f"Q{number}?"} for number in range(0, 50, 3)))
    made = []
    for workers in (1, 2):
        out = str(tmp_path / f"out{workers}.parquet")
        engine = SameProcess() if workers == 1 else WorkerPool(workers)
        report = score_dataset(answers, truth, out, engine=engine, batch_rows=4, now=datetime(2026, 1, 1, tzinfo=UTC))
        made.append((pq.read_table(out), report.aggregate.to_dict(), report.rows, report.dataset.metadata.metrics))
    assert made[0][0].equals(made[1][0])
    assert str(made[0][1:]) == str(made[1][1:])


@pytest.mark.usefixtures("models")
def test_a_metric_whose_model_is_missing_is_left_out_and_reported(tmp_path: Path) -> None:
    """All others are scored, whether it was asked for by its name or not."""
    answers, truth = table(tmp_path, "answers", ANSWER), table(tmp_path, "truth", TRUTH)
    models = Models(sentence_encoder="nobody/none")
    report = score_dataset(
        answers, truth, str(tmp_path / "out.parquet"), ["semantic_similarity", "facts_recall"], models=models
    )
    assert "'nobody/none' for sentence_encoder is not on this machine" in report.unavailable["semantic_similarity"]
    assert list(report.aggregate.index) == ["facts_recall"]


def test_answers_alone_are_scored_by_what_needs_no_ground_truth(tmp_path: Path) -> None:
    """Without ground truth no row is left out, and neither documents nor a question are needed."""
    answers = table(tmp_path, "answers", {"answer": "blue", "context": ["blue sky"]}, {"answer": None, "context": []})
    rows = scored(tmp_path, answers, None)
    assert [row["faithfulness_kprecision"] for row in rows] == [1.0, 0.0]
    assert [row["faithfulness_kprecision_reason"] for row in rows] == [None, "no_contexts"]
    assert "recall" not in rows[0]


@pytest.mark.parametrize(
    ("answers", "truth", "metrics", "says"),
    [
        ({"documents": []}, TRUTH, None, r"answers.parquet lacks column 'question', by which .* it has documents"),
        (ANSWER, {"question": ""}, None, r"truth.parquet lacks column 'documents'"),
        ({"documents": [], "question": ""}, TRUTH, ["facts_recall"], r"'facts_recall' needs column 'context' in the a"),
        (
            ANSWER,
            {"documents": [], "question": ""},
            ["rouge1_recall"],
            r"'rouge1_recall' needs column 'answer' in the g",
        ),
        (ANSWER, None, ["ndcg"], r"'ndcg' needs column .* no ground truth is given|'ndcg' needs column 'context_ids'"),
    ],
)
def test_a_missing_column_is_named_with_who_needs_it(
    answers: dict[str, Any], truth: dict[str, Any] | None, metrics: list[str] | None, says: str, tmp_path: Path
) -> None:
    """The message names the column, the metric or the join, and the columns that there are; nothing is written."""
    given = None if truth is None else table(tmp_path, "truth", truth)
    with pytest.raises(DatasetError, match=says):
        scored(tmp_path, table(tmp_path, "answers", answers), given, metrics)
    assert not (tmp_path / "out.parquet").exists()


def test_no_metric_leaves_the_packages_columns(tmp_path: Path) -> None:
    """An empty list of metrics is no wish for all of them; the time in the metadata is the caller's."""
    answers, truth = table(tmp_path, "answers", ANSWER), table(tmp_path, "truth", TRUTH)
    now = datetime(2026, 11, 21, tzinfo=UTC)
    report = score_dataset(answers, truth, str(tmp_path / "out.parquet"), [], now=now)
    assert list(report.summaries()) == []
    assert report.dataset.metadata.metrics == {"recall": 1.0, "precision": 1.0, "mrr": 1.0, "f1": 1.0}
    assert open_dataset(str(tmp_path / "out.parquet")).metadata.created_at == now


def test_rows_without_a_partner_alone_make_an_empty_table(tmp_path: Path) -> None:
    """No common key and tables without rows give a table with all columns and no row, and no mean."""
    answers = table(tmp_path, "answers", ANSWER | {"question": "Other?"})
    empty = table(tmp_path, "empty", schema=pq.read_schema(answers))
    truth = table(tmp_path, "truth", TRUTH)
    for given in (answers, empty):
        report = score_dataset(given, truth, str(tmp_path / "out.parquet"), ["facts_recall"])
        assert report.rows == 0
        assert report.dataset.metadata.metrics == {}
        assert {"recall", "facts_recall", "context"} <= set(pq.read_schema(tmp_path / "out.parquet").names)


def test_what_is_no_table_is_said(tmp_path: Path) -> None:
    """Another ending, no parquet, no metadata and no such metric are errors that name what is wrong."""
    answers = table(tmp_path, "answers", ANSWER)
    with pytest.raises(DatasetError, match=r"must end in \.parquet"):
        score_dataset(answers, None, str(tmp_path / "out.csv"))
    with pytest.raises(UnknownMetricError):
        scored(tmp_path, answers, None, ["faith"])
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nowhere\.parquet"):
        scored(tmp_path, str(tmp_path / "nowhere.parquet"), None)
    (tmp_path / "broken.parquet").write_text("no parquet")
    with pytest.raises(DatasetError, match=r"broken.parquet cannot be read as parquet"):
        scored(tmp_path, str(tmp_path / "broken.parquet"), None)
    (tmp_path / "answers.parquet.metadata.json").write_text("{}")
    with pytest.raises(DatasetError, match=r"metadata.json is not the metadata of a table: created_at"):
        scored(tmp_path, answers, None)


def test_a_table_that_is_not_finished_does_not_appear(tmp_path: Path) -> None:
    """Where scoring breaks off, what stood at the destination before stands there still."""
    answers = table(tmp_path, "answers", ANSWER, ANSWER)
    out = tmp_path / "out.parquet"
    out.write_text("before")

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_dataset(answers, None, str(out), batch_rows=1, on_progress=stop)
    assert out.read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"answers.parquet", "out.parquet"}


def test_a_table_is_written_beside_its_place_and_appears_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other folder, which may be on another disk, takes part; who has the old table open keeps all of it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    answers, out = table(tmp_path, "answers", ANSWER), tmp_path / "out.parquet"
    out.write_text("before")
    with out.open() as reader:
        score_dataset(answers, None, str(out), ["answer_length"])
        assert reader.read() == "before"
    assert pq.read_table(out).num_rows == 1
    assert {path.name for path in tmp_path.iterdir()} == {
        "answers.parquet",
        "out.parquet",
        "out.parquet.metadata.json",
    }


def test_a_folder_that_is_not_there_is_an_error_before_anything_is_scored(tmp_path: Path) -> None:
    """The message names it."""
    answers = table(tmp_path, "answers", ANSWER)
    progress: list[int] = []
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*/nowhere; make it"):
        score_dataset(
            answers, None, str(tmp_path / "nowhere" / "out.parquet"), on_progress=lambda *one: progress.append(1)
        )
    assert not progress


def test_progress_is_reported_after_each_batch(tmp_path: Path) -> None:
    """Whoever waits hears how many of how many answers are done."""
    progress: list[tuple[int, int]] = []
    answers = table(tmp_path, "answers", *[ANSWER] * 5)
    out = str(tmp_path / "out.parquet")
    score_dataset(answers, None, out, batch_rows=2, on_progress=lambda done, of: progress.append((done, of)))
    assert progress == [(2, 5), (4, 5), (5, 5)]


def test_cells_of_another_type_are_null_with_a_reason(tmp_path: Path) -> None:
    """A list where a text belongs, a text where a list belongs, and null: no row ends the others."""
    odd = pa.schema({"question": pa.string(), "documents": pa.list_(pa.string()), "context": pa.string()})
    answers = table(tmp_path, "answers", {"question": "Q?", "documents": ["a.pdf"], "context": "text"}, schema=odd)
    answers_list = table(tmp_path, "lists", ANSWER | {"answer": ["blue"], "context": None})
    truth = table(tmp_path, "truth", TRUTH)
    (row,) = scored(tmp_path, answers, truth, ["facts_recall"])
    assert (row["facts_recall"], row["facts_recall_reason"], row["recall"]) == (None, "unreadable_contexts", None)
    (row,) = scored(tmp_path, answers_list, truth, ["facts_recall", "faithfulness_kprecision"])
    assert (row["faithfulness_kprecision"], row["faithfulness_kprecision_reason"]) == (None, "unreadable_answer")
    assert (row["facts_recall_reason"], row["recall"], row["facts_ranks"]) == ("no_contexts", None, [])


def test_lists_are_never_null_in_what_is_written(tmp_path: Path) -> None:
    """A null list is written as an empty one and a null item as no text, or aidial-rag-eval would end on them."""
    texts = pa.large_list(pa.large_string())
    schema = pa.schema({"question": pa.large_string(), "documents": texts, "context": texts, "answer": pa.string()})
    rows = [ANSWER | {"context": None, "answer": None}, ANSWER | {"context": [None, "sky is blue"]}]
    answers = table(tmp_path, "answers", *rows, schema=schema)
    truth = table(tmp_path, "truth", TRUTH | {"facts": None})
    first, second = scored(tmp_path, answers, truth, ["facts_recall"])
    assert (first["context"], first["facts"], first["answer"]) == ([], [], None)
    assert second["context"] == ["", "sky is blue"]
    assert pq.read_schema(tmp_path / "out.parquet").field("context").type.value_type == pa.string()


@pytest.mark.slow
def test_huge_rows_are_scored_or_say_why_not(tmp_path: Path) -> None:
    """An answer of 1 MB and 2,000 contexts: every metric has a value or a reason, and what would take long says so."""
    words = " ".join(f"word{number % 5000}" for number in range(120_000))
    ids = {"context_ids": [str(rank) for rank in range(2000)]} | MEASURED | {"tool_calls": CALLS}
    many = {"context": [f"chunk {rank} the sky is blue" * 20 for rank in range(2000)]}
    answers = table(tmp_path, "answers", ANSWER | {"answer": words} | ids, ANSWER | many | ids)
    more = {
        "reference_context_ids": ["7"],
        "reference_tool_calls": CALLS,
        "reference_contexts": ["the sky"],
        "answer": words + " end",
    }
    rows = scored(tmp_path, answers, table(tmp_path, "truth", TRUTH | more))
    for row in rows:
        for name in PLAIN:
            assert row[name] is not None or row[f"{name}_reason"], name
    assert (rows[0]["rougeL_recall"], rows[0]["rougeL_recall_reason"]) == (None, "too_long")
    assert rows[0]["answer_correctness_token_precision"] == 1.0
    assert (rows[1]["facts_recall"], rows[1]["hit_rate"], len(rows[1]["context_highlight"])) == (1.0, 1.0, 2000)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_answers(tmp_path: Path) -> None:
    """Python and Arrow hold about as much for four times as many answers, also where they are one row group."""
    assert _most_held(tmp_path, 8000) < 1.5 * _most_held(tmp_path, 2000)


def _most_held(folder: Path, rows: int) -> int:
    answers = table(folder, "answers", *({"answer": os.urandom(4000).hex(), "context": []} for _ in range(rows)))
    before, held = pa.total_allocated_bytes(), []
    tracemalloc.start()
    try:
        score_dataset(
            answers,
            None,
            str(folder / "out.parquet"),
            ["context_present"],
            batch_rows=50,
            on_progress=lambda done, of: held.append(pa.total_allocated_bytes() - before),
        )
        return max(held) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_tables_may_stand_in_a_bucket(bucket: Bucket, tmp_path: Path) -> None:
    """Reading and writing s3:// gives what local paths give."""
    filesystem, root = bucket.storage.filesystem(bucket.uri)
    for name, row in (("answers", ANSWER), ("truth", TRUTH)):
        filesystem.put(table(tmp_path, name, row), f"{root}/{name}.parquet")
    uris = [f"{bucket.uri}/{name}.parquet" for name in ("answers", "truth", "out")]
    report = score_dataset(uris[0], uris[1], uris[2], ["facts_recall"], storage=bucket.storage)
    assert report.aggregate.loc["facts_recall", "mean"] == 1.0
    with pytest.raises(FileNotFoundError, match=f"there is no file {bucket.uri}/nowhere"):
        score_dataset(f"{bucket.uri}/nowhere.parquet", None, uris[2], storage=bucket.storage)
    assert filesystem.exists(f"{root}/out.parquet.metadata.json")
    with filesystem.open(f"{root}/out.parquet") as file:
        assert pq.read_table(file).column("recall").to_pylist() == [1.0]
