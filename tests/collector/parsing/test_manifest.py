import datetime
import itertools

import pytest

from benchmarks.collector.gen_dial_logs import Meta, lines
from collector.parsing import LogRecord, Rejection, SignalRecord, core_lines, parse_line
from collector.parsing.line.call import read_time

COUNT = 2_000
KINDS = {"embeddings": "embedding"}

Found = list[LogRecord | SignalRecord | Rejection]


@pytest.fixture(scope="module")
def corpus() -> list[tuple[bytes, Meta, Found]]:
    """Generated lines with what their manifest says and what the parser made of them."""
    generated = itertools.islice(lines(seed=7, malformed=0.1), COUNT)
    return [(raw, meta, [parse_line(entry) for entry in core_lines(raw)]) for raw, meta in generated]


def assert_matches(record: LogRecord | SignalRecord | Rejection, meta: Meta) -> None:
    """Whether a row says what the manifest says; texts of odd lines may hold replaced characters."""
    time = datetime.datetime.fromisoformat(meta.time or "").replace(tzinfo=datetime.UTC)
    if isinstance(record, SignalRecord):
        assert meta.kind == "rate"
        assert record.signal in ("like", "dislike")
        assert (record.deployment, record.signaled_at) == (meta.deployment, time)
        return
    assert isinstance(record, LogRecord)
    assert (record.deployment, record.requested_at, str(record.status)) == (meta.deployment, time, meta.status)
    assert (record.response_id, record.question, record.answer) == (meta.response_id, meta.question, meta.answer)
    assert len(record.contexts or []) == meta.contexts
    if meta.kind != "secured":
        assert record.kind == KINDS.get(meta.kind, "chat_completion")
        assert record.request_body


@pytest.mark.slow
def test_clean_lines_say_what_the_manifest_says(corpus: list[tuple[bytes, Meta, Found]]) -> None:
    """Deployment, status, time, id, question, answer and contexts of every clean line are the generated ones."""
    clean = [(meta, found) for _, meta, found in corpus if meta.malformed in (None, "int_status")]
    assert len(clean) > 0.85 * COUNT
    for meta, found in clean:
        (record,) = found
        assert_matches(record, meta)
        if isinstance(record, LogRecord):
            assert (record.error is None) == (meta.kind != "error"), record.error


@pytest.mark.slow
@pytest.mark.parametrize("malformed", ["control_char", "bad_utf8"])
def test_repaired_lines_say_what_the_manifest_says(corpus: list[tuple[bytes, Meta, Found]], malformed: str) -> None:
    """A character that had to be replaced costs nothing but itself, and the row says so."""
    odd = [(meta, found) for _, meta, found in corpus if meta.malformed == malformed]
    assert odd
    for meta, found in odd:
        (record,) = found
        assert_matches(record, meta)
        if isinstance(record, LogRecord):
            assert "replaced" in "; ".join(record.repairs or ())
            assert (record.error is None) == (meta.kind != "error"), record.error


def test_glued_lines_are_two(corpus: list[tuple[bytes, Meta, Found]]) -> None:
    """A lost line end costs nothing."""
    odd = [(meta, found) for _, meta, found in corpus if meta.malformed == "glued"]
    assert odd
    for meta, found in odd:
        first, second = found
        assert_matches(first, meta)
        assert not isinstance(second, Rejection)


def test_cut_lines_are_rows_where_their_time_is_left(corpus: list[tuple[bytes, Meta, Found]]) -> None:
    """A cut line is a row that says so and is no error, or refused with its bytes where its time is gone.

    Core writes time and deployment, without which a line is refused, after the answer that it merged.
    """
    odd = [(raw, meta, found) for raw, meta, found in corpus if meta.malformed == "truncated"]
    rows = 0
    for raw, meta, found in odd:
        (record,) = found
        has_time = b'"time":"' + (meta.time or "").encode() + b'"' in raw
        if isinstance(record, LogRecord):
            rows += 1
            assert has_time
            assert (record.deployment, record.requested_at) == (meta.deployment, read_time(meta.time))
            assert f"the line is cut after {len(raw.strip())} bytes" in (record.repairs or ())
            assert (record.error is None) == (meta.kind != "error"), record.error
            assert record.response_id == meta.response_id
        elif isinstance(record, Rejection):
            assert not has_time
            assert (record.reason, record.raw) == ("cut", raw)
    assert 0 < rows < len(odd)


@pytest.mark.parametrize("malformed", ["stacktrace", "nul_run"])
def test_what_is_no_line_is_refused(corpus: list[tuple[bytes, Meta, Found]], malformed: str) -> None:
    """Text of other writers and blocks of NULs are kept as rejections."""
    odd = [(raw, found) for raw, meta, found in corpus if meta.malformed == malformed]
    assert odd
    for raw, found in odd:
        (record,) = found
        assert isinstance(record, Rejection)
        assert (record.reason, record.raw) == ("not_json", raw.strip())


def test_every_line_of_the_corpus_is_accounted_for(corpus: list[tuple[bytes, Meta, Found]]) -> None:
    """Each line gives one row, signal or rejection, a glued one two; only what is no line is rejected."""
    assert sum(len(found) for _, _, found in corpus) == COUNT + sum(meta.malformed == "glued" for _, meta, _ in corpus)
    rejected = {meta.malformed for _, meta, found in corpus for record in found if isinstance(record, Rejection)}
    assert rejected == {"truncated", "stacktrace", "nul_run"}
