"""Tables of answers and ground truth as CSV and as JSON lines."""

from __future__ import annotations

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.datasets import DatasetError, open_dataset, read_dataset, score_dataset
from evaluator.datasets.text_files import read_csv, read_json_lines
from tests.servers import Bucket

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
LIST = st.none() | st.lists(TEXT, max_size=3)
ROW = st.fixed_dictionaries(
    {
        "question": TEXT,
        "documents": LIST,
        "context": LIST,
        "answer": st.none() | TEXT,
        "price": st.none() | st.floats(-1e6, 1e6),
        "note, mine": st.none() | TEXT,
    }
)


def to_csv(path: Path, rows: list[dict[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        for row in rows:
            cells = [row[name] for name in rows[0]]
            writer.writerow([json.dumps(cell) if isinstance(cell, list) else cell for cell in cells])
    return str(path)


def to_json_lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=5))
def test_the_same_rows_are_read_from_each_form(rows: list[dict[str, Any]], tmp_path_factory: Any) -> None:
    """Texts with commas, quotes, lines and any letters, lists, numbers and empty cells come back from both."""
    folder = tmp_path_factory.mktemp("forms")
    read = [
        read_csv("x", Path(to_csv(folder / "x.csv", rows)).read_bytes()),
        read_json_lines("x", Path(to_json_lines(folder / "x.jsonl", rows)).read_bytes()),
    ]
    assert [table.to_pylist() for table in read] == [rows, rows]


def test_any_form_gives_the_same_scores(tmp_path: Path) -> None:
    """Answers and ground truth of either form are joined and scored, and the metadata beside them is read."""
    answers = [
        {"question": f"Q{n}?", "documents": ["b", "a"], "context": ["blue sky"], "answer": "blue"} for n in (1, 2)
    ]
    truth = [{"question": "Q2?", "documents": ["a", "b"], "facts": ["blue sky", "snow"], "answer": "blue"}]
    answers[0] |= {"answer": 'a, "b"\nc'}
    pq.write_table(pa.Table.from_pylist(answers), tmp_path / "a.parquet")
    to_csv(tmp_path / "a.csv", answers), to_json_lines(tmp_path / "a.jsonl", answers)
    to_csv(tmp_path / "gt.csv", truth), to_json_lines(tmp_path / "gt.jsonl", truth)
    known = {"created_at": "2026-11-20T00:00:00", "sources": [], "tools": {"mine": "7"}}
    (tmp_path / "gt.csv.metadata.json").write_text(json.dumps(known))
    written = []
    for one, other in (("a.parquet", "gt.jsonl"), ("a.csv", "gt.csv"), ("a.jsonl", "gt.csv.metadata.json")):
        out = str(tmp_path / "out.parquet")
        score_dataset(str(tmp_path / one), str(tmp_path / other), out, ["facts_recall", "exact_match"])
        written.append(pq.read_table(out).to_pylist())
    assert written[0] == written[1] == written[2]
    assert (written[0][0]["facts_recall"], written[0][0]["exact_match"]) == (0.5, 1.0)
    assert open_dataset(str(tmp_path / "out.parquet")).metadata.sources[0].metadata.tools == {"mine": "7"}
    assert list(read_dataset(str(tmp_path / "a.csv"))[0]["answer"]) == [row["answer"] for row in answers]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "a.csv",
            "answer,documents\nblue,a.pdf\n",
            r"a.csv line 2: column 'documents' must hold a list as JSON, .* 'a.pdf'",
        ),
        ("a.csv", "answer,documents\nblue,['a']\n", r"line 2: column 'documents' must hold a list"),
        ("a.csv", 'answer,context\nblue,"[[[["\n', r"line 2: column 'context' must hold a list"),
        ("a.csv", "answer,price\nblue,cheap\n", r"line 2: column 'price' must hold a number, and not 'cheap'"),
        ("a.csv", 'answer,n\n"a\nb",1\nc\n', r"line 4 has 1 cells, and the header 2"),
        ("a.csv", 'answer\n"a\n', r"line 2 cannot be read as CSV"),
        ("a.csv", "", r"a.csv needs a header"),
        ("a.csv", "question;answer\nx;y\n", r"a.csv has one column, 'question;answer': commas separate .* semicolons"),
        ("a.csv", "question\tanswer\nx\ty\n", r"commas separate columns, and tabs do not"),
        ("a.csv", "answer,answer\na,b\n", r"each once; it has 'answer, answer'"),
        ("a.csv", b"answer\n\xff\n", r"a.csv must be UTF-8"),
        ("a.jsonl", '{"answer": "a"}\n\n{"answer": \n', r"a.jsonl line 3 is no JSON"),
        ("a.jsonl", '["a"]\n', r"line 1 must be a JSON object"),
        (
            "a.jsonl",
            '{"answer": "a"}\n{"answer": ["b"]}\n',
            r"a.jsonl: the cells of column 'answer' must be of one kind",
        ),
        ("a.jsonl", '{"answer": "\\ud800"}\n', r"column 'answer'"),
        ("a.jsonl", '{"answer": "a", "empty": {}}\n', r"a.jsonl has a column that no table can hold"),
        ("a.txt", "answer\n", r"a.txt must end in .parquet, .csv, .jsonl"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(
    name: str, content: str | bytes, says: str, tmp_path: Path
) -> None:
    """The message names the file, the line and the column, and nothing is written."""
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DatasetError, match=says):
        score_dataset(str(tmp_path / name), None, str(tmp_path / "out.parquet"), ["answer_length"])
    assert not (tmp_path / "out.parquet").exists()


@given(content=st.binary(max_size=60) | st.text('",\n[]{}ab\\u0:', max_size=40).map(str.encode))
def test_any_bytes_are_a_table_or_a_clear_error(content: bytes) -> None:
    """Nothing else comes out of a reader."""
    for read in (read_csv, read_json_lines):
        with contextlib.suppress(DatasetError):
            assert isinstance(read("x", content), pa.Table)


@pytest.mark.parametrize("end", [".CSV", ".Jsonl", ".PARQUET"])
def test_an_ending_may_be_in_capitals(end: str, tmp_path: Path) -> None:
    """Programs that write A.CSV mean a.csv, and the metadata beside it is that of the table."""
    answers = [{"question": "Q?", "answer": "blue sky"}]
    path = tmp_path / f"A{end}"
    if end == ".PARQUET":
        pq.write_table(pa.Table.from_pylist(answers), path)
    else:
        {".CSV": to_csv, ".Jsonl": to_json_lines}[end](path, answers)
    for given_path in (path, f"{path}.metadata.json"):
        assert score_dataset(str(given_path), None, str(tmp_path / "out.parquet"), ["answer_length"]).rows == 1


def test_ids_are_joined_as_text(tmp_path: Path) -> None:
    """A case 1 is one case whether a table has it as text, a whole number or, beside an empty cell, as 1.0."""
    answer = {"question": "Q?", "documents": ["a"], "answer": "blue", "response_id": 7}
    case = {"question": "Q?", "documents": ["a"], "answer": "blue"}
    ids: list[tuple[Any, Any]] = [(1, 1), (2, None)]
    to_csv(tmp_path / "a.csv", [answer | {"case_id": one} for one, _ in ids])
    to_json_lines(tmp_path / "a.jsonl", [answer | {"case_id": one} for one, _ in ids])
    pd.DataFrame([answer | {"case_id": other} for _, other in ids]).to_parquet(tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").field("case_id").type == pa.float64()
    truth = [case | {"case_id": 1, "source_response_id": 8}, case | {"case_id": 5, "source_response_id": 7}]
    to_csv(tmp_path / "gt.csv", truth), to_json_lines(tmp_path / "gt.jsonl", truth)
    out = str(tmp_path / "out.parquet")
    for answers in ("a.csv", "a.jsonl", "a.parquet"):
        for ground_truth in ("gt.csv", "gt.jsonl"):
            score_dataset(str(tmp_path / answers), str(tmp_path / ground_truth), out, ["exact_match"])
            assert [str(row["case_id"]).removesuffix(".0") for row in pq.read_table(out).to_pylist()] == ["1"]


def test_an_answer_is_not_its_own_case_whatever_the_kind_of_its_id(tmp_path: Path) -> None:
    """Response 7 of a CSV is the source 7 of JSON lines, and is not compared with itself."""
    answer = {"question": "Q?", "documents": ["a"], "answer": "blue"}
    to_csv(tmp_path / "a.csv", [answer | {"response_id": number} for number in (7, 8)])
    to_json_lines(tmp_path / "gt.jsonl", [answer | {"source_response_id": 7}])
    out = str(tmp_path / "out.parquet")
    score_dataset(str(tmp_path / "a.csv"), str(tmp_path / "gt.jsonl"), out, ["exact_match"])
    assert pq.read_table(out)["response_id"].to_pylist() == ["8"]


def test_a_table_of_text_is_read_from_a_store(bucket: Bucket, tmp_path: Path) -> None:
    """CSV at s3://."""
    filesystem, root = bucket.storage.filesystem(bucket.uri)
    filesystem.pipe_file(f"{root}/a.csv", b"answer\nblue sky\n")
    report = score_dataset(
        f"{bucket.uri}/a.csv", None, str(tmp_path / "out.parquet"), ["answer_length"], storage=bucket.storage
    )
    assert report.rows == 1
