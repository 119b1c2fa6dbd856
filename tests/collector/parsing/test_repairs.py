"""Tests of repairs: changes that make a line readable, and those among them that are errors."""

import json
import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import LogRecord, parse_line
from lake.spec.vocabulary import NO_ERROR
from tests.collector.parsing.core_lines import ANSWER, REMOVED, REQUEST, core_line
from tests.collector.parsing.test_odd_lines import ODD_LINES

LINE = core_line()
VECTORS = '{"object":"list","data":[{"index":0,"embedding":[0.1]}]}'
EMBEDDING = core_line(
    {
        "request.uri": "/openai/deployments/rag-app/embeddings",
        "request.body": '{"input":["Hi"]}',
        "assembled_response": VECTORS,
        "response.body": VECTORS,
    }
)
CHUNKS = [
    {"id": "r-100", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": end}]}
    for text, end in (("30 days", None), (" [1].", "stop"))
]
STREAM = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS)


def row_of(entry: bytes) -> LogRecord:
    record = parse_line(entry)
    assert isinstance(record, LogRecord)
    return record


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (b'"upstream_uri":"', b'"upstream_uri":"\x0b', "1 raw control character was replaced"),
        (b"days", b"d\xffys", "invalid UTF-8 was replaced, first at byte"),
        (b"Analyst", b"\\ud800", "lone surrogates were replaced"),
    ],
)
@pytest.mark.parametrize("line", [LINE, EMBEDDING])
def test_what_is_mended_around_a_whole_answer_is_no_error(line: bytes, old: bytes, new: bytes, note: str) -> None:
    """A replaced character stands in `repairs`, and `error` is null."""
    row = row_of(line.replace(old, new) if old in line else line.replace(b"Hi", new))
    assert (row.error, len(row.repairs or ())) == (None, 1)
    assert note in (row.repairs or ())[0]


def test_a_line_that_is_as_core_writes_it_has_no_repairs() -> None:
    """`repairs` is null where nothing was mended, for a failed call too."""
    assert row_of(LINE).repairs is None
    failed = row_of(core_line({"response.status": "500"}))
    assert (failed.error, failed.repairs) == ("status 500", None)


@given(st.integers(LINE.index(b'"body":'), len(LINE) - 1), st.booleans())
def test_a_cut_answer_is_an_error_and_a_cut_line_a_repair(end: int, marked: bool) -> None:
    """Wherever a line is cut, `repairs` says so; `error` is null, as Core had merged the answer before."""
    row = row_of(LINE[:end] + (b">>" if marked else b""))
    assert any("the line is cut" in note for note in row.repairs or ())
    assert (row.answer, row.finish_reason, row.error) == ("30 days [1].", "stop", None)


@pytest.mark.parametrize("assembled", ["", "{}"])
@given(data=st.data())
def test_a_cut_stream_that_core_had_not_merged_is_whole_only_with_its_end(assembled: str, data: st.DataObject) -> None:
    """Where the text of a cut stream is not that of the whole one, `error` says that the answer is not whole."""
    changes = {"assembled_response": assembled, "response.body": STREAM}
    line = core_line(changes)
    row = row_of(line[: data.draw(st.integers(line.index(b'"time"') + 40, len(line) - 1))])
    assert any("the line is cut" in note for note in row.repairs or ())
    if row.answer != "30 days [1].":
        assert row.error is not None
    if row.error is None:
        assert (row.answer, row.finish_reason) == ("30 days [1].", "stop")


@given(st.integers(EMBEDDING.index(b'"body":'), len(EMBEDDING) - 1))
def test_a_cut_embedding_is_no_error(end: int) -> None:
    """Core writes what a call gave before the request: wherever the line is cut behind its time, it is whole."""
    row = row_of(EMBEDDING[:end] + b">>")
    assert (row.assembled_response, row.error) == (VECTORS, None)
    assert row.repairs == [f"the line is cut after {end + 2} bytes"]


@pytest.mark.parametrize("answer", [{"assembled_response": REMOVED}, {"assembled_response": ""}])
def test_a_cut_embedding_without_its_vectors_is_an_error(answer: dict[str, object]) -> None:
    """Where Core logged no merged answer, the one that is cut with the line is not whole."""
    vectors = {"request.uri": "/openai/deployments/rag-app/embeddings", "response.body": VECTORS}
    assert "before its answer ends" in (row_of(core_line(vectors | answer)[:-9]).error or "")


def test_a_cut_merged_answer_is_an_error() -> None:
    """A writer that puts the answer last may cut it: for a call that answers nobody that is reported too."""
    members = json.loads(EMBEDDING)
    members["assembled_response"] = members.pop("assembled_response")
    assert "before its answer ends" in (row_of(json.dumps(members).encode()[:-9]).error or "")


def test_a_request_that_cannot_be_read_is_no_error_of_the_answer() -> None:
    """A request that Core cut for its length (4 MiB, such as images) costs the question; the answer is whole."""
    row = row_of(core_line({"request.body": json.dumps(REQUEST)[:30] + ">>"}))
    assert (row.question, row.answer, row.error) == (None, ANSWER["choices"][0]["message"]["content"], None)  # type: ignore[index]
    assert row.repairs == ["request.body was cut by DIAL Core: the question is unknown"]


@pytest.mark.parametrize("name", ODD_LINES)
def test_repairs_are_distinguished_from_errors_also_in_rows_of_earlier_versions(name: str) -> None:
    """All that `repairs` says, joined as earlier versions wrote it into `error`, is no error; every error is."""
    piece, _ = ODD_LINES[name]
    record = parse_line(piece)
    if not isinstance(record, LogRecord):
        return
    for message, is_error in (("; ".join(record.repairs or ()), False), (record.error, True)):
        if message:
            assert (re.fullmatch(NO_ERROR, message) is None) is is_error
            assert pc.match_substring_regex(pa.array([message]), NO_ERROR).to_pylist() == [not is_error]


@pytest.mark.parametrize(
    "error",
    [
        "the line is cut after 12 bytes; status 500",
        "upstream error: lone surrogates were replaced",
        "lone surrogates were replaced; upstream error: lone surrogates were replaced",
        "the line is cut after 12 bytes; no answer was logged: both are absent or empty",
        "the line is cut after 12 bytes, before its answer ends",
        "no answer was logged",
        "",
    ],
)
def test_an_error_beside_notes_is_an_error(error: str) -> None:
    """Only a text that is made of notes alone is none."""
    assert re.fullmatch(NO_ERROR, error) is None
    assert pc.match_substring_regex(pa.array([error]), NO_ERROR).to_pylist() == [False]
