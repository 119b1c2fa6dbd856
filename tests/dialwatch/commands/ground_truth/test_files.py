"""`dialwatch ground-truth export` and `import`: cases go to files and come back as they were."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialwatch.commands.ground_truth.case_files import CaseFormat, csv_of, json_lines_of, rows_of
from evaluator.metrics import CITATION, fact_ranks
from lake.queries.ground_truth.case_versions import read_cases
from lake.spec.case_tables import GROUND_TRUTH
from lake.tables.lake import Lake
from runtime.identity import identity
from tests.commands import Done, dialwatch
from tests.dialwatch.commands.ground_truth.test_ground_truth import case

FORMATS = ("parquet", "csv", "jsonl")
CALLS = [{"name": "get_order", "arguments": '{"id": "4711"}'}, {"name": "now", "arguments": None}]
CONTENT = ("question", "answer", "documents", "facts", "context")
HELD = {
    "parquet": CONTENT[:-1],
    "csv": CONTENT,
    "jsonl": (*CONTENT, "context_ids", "confidence", "conversation_hash", "tool_calls"),
}
"""What a format holds of the content of a case."""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake with cases of one deployment: proposed, accepted, rejected, one of a conversation, two that are alike."""
    lake = Lake(str(tmp_path / "lake"))
    cases = [
        case("a", question="=cmd()", documents=["b.pdf", "a.pdf"], context_ids=["a.pdf#page=1"], tool_calls=CALLS),
        case("b", question="Who?", status="accepted", source_response_id="r2"),
        case("c", question="Who?", facts=["Delhi"], confidence=0.5),
        case("d", question="Yes", conversation_hash="h"),
        case("e", question="No?", status="rejected"),
    ]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(cases))
    return lake


def export(lake: Lake, file: Path, *options: str, deployment: str = "rag") -> Done:
    return dialwatch("ground-truth", "export", file, "--deployment", deployment, "--lake", lake.root, *options)


def import_(lake: Lake, file: Path, *options: str, deployment: str = "rag") -> Done:
    where = ("--deployment", deployment, "--lake", lake.root)
    return dialwatch("ground-truth", "import", file, *where, "--who", "ann", *options)


def cases_of(lake: Lake, deployment: str = "rag") -> dict[str, dict[str, Any]]:
    return {one["case_id"]: one for one in read_cases(lake.table(GROUND_TRUTH, deployment))}


def contents(cases: Iterable[dict[str, Any]], names: tuple[str, ...]) -> list[str]:
    return sorted(repr([sorted(one[name]) if name == "documents" else one[name] for name in names]) for one in cases)


@pytest.mark.parametrize("ending", FORMATS)
def test_an_export_comes_back_as_it_was(lake: Lake, tmp_path: Path, ending: str) -> None:
    """Nothing changes where the cases are; in another deployment they are new once, and as they were then."""
    file = tmp_path / f"cases.{ending}"
    done = export(lake, file)
    held = 4 if ending == "jsonl" else 3
    assert done.stdout.splitlines()[0] == f"{held} cases written to {file}"
    assert ("left out: 1 whose question only its conversation explains" in done.stdout) == (ending != "jsonl")
    before = cases_of(lake)
    same = import_(lake, file)
    assert (same.returncode, same.stdout) == (0, f"0 new, 0 changed, {held} as they were\n")
    assert cases_of(lake) == before
    other = import_(lake, file, deployment="other")
    assert other.stdout == f"{held} new, 0 changed, 0 as they were\n"
    assert other.stderr == f"note: the lake {lake.root} has no rows of other yet: are these the right names?\n"
    assert import_(lake, file, deployment="other").stdout == f"0 new, 0 changed, {held} as they were\n"
    made = cases_of(lake, "other").values()
    assert {one["status"] for one in made} == {"proposed"}
    assert {(one["extractor"], one["version"], one["updated_by"]) for one in made} == {("import", 1, "ann")}
    assert contents(made, HELD[ending]) == contents((before[name] for name in "abcd"[:held]), HELD[ending])


@pytest.mark.parametrize("ending", FORMATS)
def test_an_export_leaves_out_what_needs_a_persons_word(lake: Lake, tmp_path: Path, ending: str) -> None:
    """A proposed case that is doubted; accepted, it is as any other."""
    some = [case(name, question=f"{name}?", doubt="given during an incident") for name in ("f", "g")]
    lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows([some[0], some[1] | {"status": "accepted"}]))
    done = export(lake, tmp_path / f"cases.{ending}")
    assert done.stdout.startswith(f"{5 if ending == 'jsonl' else 4} cases written")
    assert "left out: 1 that nobody has accepted and whose answer was given during an incident\n" in done.stdout


def test_the_format_follows_the_ending_or_the_option(lake: Lake, tmp_path: Path) -> None:
    assert export(lake, tmp_path / "cases").returncode == 2
    assert export(lake, tmp_path / "cases", "--format", "jsonl", "--status", "rejected").returncode == 0
    (row,) = map(json.loads, (tmp_path / "cases").read_text("utf-8").splitlines())
    assert (row["case_id"], set(row)) == ("e", set(GROUND_TRUTH.schema.names))
    missing = export(lake, tmp_path / "x.csv", deployment="none")
    assert "there is no deployment 'none'" in missing.stderr


def test_parquet_is_what_aidial_rag_eval_reads(lake: Lake, tmp_path: Path) -> None:
    """A row a question about the same documents, lists that are never null; an empty table has the same columns."""
    file = tmp_path / "cases.parquet"
    export(lake, file)
    table = pq.read_table(file)
    rows = {row["question"]: row for row in table.to_pylist()}
    assert (rows["Who?"]["case_id"], [one["case_id"] for one in rows["Who?"]["other_cases"]]) == ("b", ["c"])
    assert table.schema.field("facts").type == pa.list_(pa.string())
    export(lake, file, "--status", "stale")
    assert pq.read_table(file).schema.names == table.schema.names


def test_csv_is_that_of_the_evaluation_framework(lake: Lake, tmp_path: Path) -> None:
    """A name first, lists as JSON, and no cell that a spreadsheet runs."""
    file = tmp_path / "cases.csv"
    export(lake, file)
    header, first, *_ = csv.reader(io.StringIO(file.read_text("utf-8"), newline=""))
    assert header == ["testCaseName", "question", "answer", "documents", "facts", "context"]
    assert first[:4] == ["a", "'=cmd()", "In Delhi. [1]", '["b.pdf", "a.pdf"]']


@pytest.mark.parametrize("ending", FORMATS)
def test_a_row_that_says_something_else_is_a_new_version(lake: Lake, tmp_path: Path, ending: str) -> None:
    """Of the case that it names, which keeps its status; with `--accept` it is accepted."""
    export(lake, file := tmp_path / f"cases.{ending}", "--status", "proposed")
    if ending == "parquet":
        rows = pq.read_table(file).to_pylist()
        assert rows[0]["case_id"] == "a"
        pq.write_table(pa.Table.from_pylist([rows[0] | {"answer": "In New Delhi."}, *rows[1:]]), file)
    else:
        # The answer of the first case.
        file.write_text(file.read_text("utf-8").replace("In Delhi. [1]", "In New Delhi.", 1), "utf-8")
    assert import_(lake, file).stdout.startswith("0 new, 1 changed")
    made = cases_of(lake)["a"]
    assert (made["answer"], made["version"], made["status"]) == ("In New Delhi.", 2, "proposed")
    assert (made["extractor"], made["updated_by"]) == ("import", "ann")
    assert import_(lake, file, "--accept").returncode == 0
    assert (cases_of(lake)["a"]["status"], cases_of(lake)["a"]["version"]) == ("accepted", 3)
    assert import_(lake, file, "--accept").stdout.startswith("0 new, 0 changed")


def test_a_file_says_whether_the_documents_answer_a_question(lake: Lake, tmp_path: Path) -> None:
    """In CSV as text; what is neither true nor false is told, and what is not given stays."""
    file = tmp_path / "cases.csv"
    file.write_text('question,answer,is_answerable_label\nWhy?,"I do not know.",False\nHow?,So.,\nOdd?,So.,maybe\n')
    done = import_(lake, file, deployment="new")
    assert "row 4: is_answerable_label must be true or false, and not 'maybe'" in done.stdout + done.stderr
    labels = {one["question"]: one["is_answerable_label"] for one in cases_of(lake, "new").values()}
    assert labels == {"Why?": False, "How?": None}
    (named,) = [one for one in cases_of(lake, "new").values() if one["question"] == "How?"]
    lines = tmp_path / "cases.jsonl"
    lines.write_text(json.dumps({"case_id": named["case_id"], "question": "How?", "is_answerable_label": True}) + "\n")
    assert import_(lake, lines, deployment="new").stdout.startswith("0 new, 1 changed")
    assert cases_of(lake, "new")[named["case_id"]]["is_answerable_label"] is True


def test_a_table_without_ids_is_imported_once(lake: Lake, tmp_path: Path) -> None:
    """As others write it; of two rows with one question both stay, and one that is there twice is one case."""
    rows = [
        {"question": "How far?", "documents": ["b", "a"], "facts": ["12 km"], "answer": "12 km"},
        {"question": "How far?", "documents": ["a", "b"], "facts": ["900 km"], "answer": "900 km"},
        {"question": "How far?", "documents": ["b", "a"], "facts": ["12 km"], "answer": "12 km"},
    ]
    pq.write_table(pa.Table.from_pylist(rows), file := tmp_path / "t.parquet")
    assert import_(lake, file, "--accept").stdout == "2 new, 0 changed, 1 as they were\n"
    assert import_(lake, file).stdout == "0 new, 0 changed, 3 as they were\n"
    assert sorted(one["answer"] for one in cases_of(lake).values() if one["status"] == "accepted") == [
        "12 km", "900 km", "In Delhi. [1]",
    ]  # fmt: skip


def test_a_row_that_gives_no_label_and_no_calls_is_the_case_that_it_was(lake: Lake, tmp_path: Path) -> None:
    """Its id is made of what rows said before there were these columns, so that an old file changes nothing."""
    rows = [{"question": "Why?", "answer": answer} for answer in "ab"]
    (file := tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import_(lake, file, deployment="new")
    first = identity("new", "import", "", "", "Why?")
    said = json.dumps(["Why?", "b", None, None, None, None, None, None])
    assert {key: one["answer"] for key, one in cases_of(lake, "new").items()} == {
        first: "a",
        identity(first, said): "b",
    }


@pytest.mark.parametrize("calls", [CALLS, ['get_order {"id": "4711"}', "now"]])
def test_csv_may_give_calls_of_tools(lake: Lake, tmp_path: Path, calls: list[Any]) -> None:
    """As JSON: objects as an export has them, or lines as people write them."""
    with (file := tmp_path / "t.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([["question", "answer", "tool_calls"], ["Where?", "Here.", json.dumps(calls)]])
    assert import_(lake, file, deployment="new").stdout == "1 new, 0 changed, 0 as they were\n"
    assert [one["tool_calls"] for one in cases_of(lake, "new").values()] == [CALLS]


BAD_LINES = [
    ("{", "line 1: it is no JSON: "),
    ("[]", "line 1: write a JSON object"),
    ("{}", "line 1: question is missing: say what is asked"),
    ('{"question": "Q", "answer": " "}', "line 1: answer is empty: give the right answer"),
    ('{"question": 1, "answer": "A"}', "line 1: question must be a text, and not 1"),
    ('{"question": "\\ud800", "answer": "A"}', "line 1: question is not UTF-8"),
    ('{"question": "Q", "answer": "A", "facts": "F"}', "line 1: facts must be a list of texts, and not 'F'"),
    ('{"question": "Q", "answer": "A", "facts": [null]}', "line 1: facts, no. 1: it must be a text, and not None"),
    ('{"question": "Q", "answer": "A", "facts": ["."]}', "has neither a letter nor a digit: leave it out"),
    ('{"question": "Q", "answer": "A", "facts": ["F"], "context": ["g"]}', "'F' stands in no chunk of context"),
    ('{"question": "Q", "answer": "A", "context_ids": ["i"]}', "context_ids must have an id, or null, for each chunk"),
    ('{"question": "Q", "answer": "A", "confidence": 1.5}', "confidence must be a number from 0 to 1, and not 1.5"),
    ('{"question": "Q", "answer": "A", "confidence": NaN}', "confidence must be a number from 0 to 1"),
    ('{"question": "Q", "answer": "A", "citations": ["c"]}', "citations must be a list of objects"),
    ('{"case_id": 7, "question": "Q", "answer": "A"}', "case_id must be a text, and not 7"),
    ('{"question": "\\u001b[2J", "answer": 0}', "answer must be a text"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_row_is_named_and_stops_no_other(lake: Lake, tmp_path: Path, line: str, message: str) -> None:
    (file := tmp_path / "t.jsonl").write_text(f'{line}\n\n{{"question": "Where?", "answer": "Here."}}\n', "utf-8")
    done = import_(lake, file)
    assert done.returncode == 1
    assert done.stdout == "1 new, 0 changed, 0 as they were; 1 rows not imported\n"
    assert message in done.stderr
    assert "\x1b" not in done.stderr


def test_a_bad_row_of_csv_is_named_as_a_spreadsheet_counts(lake: Lake, tmp_path: Path) -> None:
    """The header is row 1, a row may have several lines, and bytes that are no UTF-8 are those of their row."""
    rows = [
        b"testCaseName,question,answer,facts,confidence",
        b't,"Two\nlines","""Yes""",[],1',
        b"t,Q,A",
        b"t,Q,A,F,",
        b"t,Q,A,,much",
        b"t,\xff,A,,",
        b't,Q,"A"b,,',
        b"u,Last,=A,,",
        b'u,"Open',
    ]
    (file := tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(rows))
    done = import_(lake, file)
    assert done.stdout == "2 new, 0 changed, 0 as they were; 6 rows not imported\n"
    told = [line.split(":")[0] for line in done.stderr.splitlines()]
    assert told == ["row 3", "row 4", "row 5", "row 6", "row 7", "row 9"]
    assert {"Two\nlines", "Last"} <= {one["question"] for one in cases_of(lake).values()}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,b\n1,2\n", "has no column 'question'; it has a, b"),
        ("t.csv", b"question;answer\nQ;A\n", "separates columns by semicolons: save it with commas"),
        ("t.csv", b"question,question\n", "has a column twice"),
        ("t.csv", b"", "has no column 'question'; it has none"),
        ("t.parquet", b"PAR1", "cannot be read as parquet"),
        ("t.xlsx", b"", "ends in none of parquet, csv, jsonl: give --format"),
    ],
)
def test_a_file_that_is_no_table_of_cases_is_an_error(
    lake: Lake, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (file := tmp_path / name).write_bytes(content)
    done = import_(lake, file)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert import_(lake, tmp_path / "absent.csv").returncode == 2


TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.text("=+-@'; \t\r\n\",ab\u202e\ufeff\x00[]")
CASES = st.lists(
    st.fixed_dictionaries(
        {
            "question": TEXT.filter(str.strip),
            "answer": TEXT.filter(str.strip),
            "documents": st.lists(TEXT.filter(str.strip), unique=True),
            "context": st.lists(TEXT),
        }
    ),
    max_size=4,
)


def with_facts(cases: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, one in enumerate(cases):
        usable = [text for text in one["context"] if CITATION.is_usable(text)]
        assert all(rank >= 0 for rank in fact_ranks(usable, one["context"]))
        yield case(f"{number}", facts=usable, source_response_id=f"r{number}") | one


@given(CASES)
def test_any_texts_come_back_from_a_file(cases: list[dict[str, Any]]) -> None:
    """Whatever characters they hold."""
    made = list(with_facts(cases))
    for content, case_format in (
        (csv_of(made), CaseFormat.CSV),
        (json_lines_of(made, "rag"), CaseFormat.JSONL),
    ):
        rows = [row.values for row in rows_of("file", case_format, content)]
        assert [[row[name] for name in CONTENT] for row in rows] == [[one[name] for name in CONTENT] for one in made]
        assert [row["case_id"] for row in rows] == [one["case_id"] for one in made]


@settings(max_examples=6, deadline=None)
@given(CASES, st.sampled_from(FORMATS))
def test_any_texts_come_back(cases: list[dict[str, Any]], ending: str) -> None:
    """Whatever characters they hold, in each format."""
    with tempfile.TemporaryDirectory() as folder:
        lake, file = Lake(f"{folder}/lake"), Path(folder) / f"cases.{ending}"
        lake.table(GROUND_TRUTH, "rag").append(GROUND_TRUTH.rows(list(with_facts(cases))))
        assert export(lake, file).returncode == 0
        assert import_(lake, file).stdout == f"0 new, 0 changed, {len(cases)} as they were\n"
        first = import_(lake, file, deployment="other")
        assert (first.returncode, first.stdout.split(",")[0]) == (0, f"{len(cases)} new")
        made, before = cases_of(lake, "other").values(), cases_of(lake).values()
        assert contents(made, HELD[ending]) == contents(before, HELD[ending])
