"""Lines that a real DIAL Core 0.18 wrote, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.parsing import LogRecord, Rejection, parse_piece
from tests.collector.parsing.line.test_fast_path import readable, tolerantly

LINES = (Path(__file__).parent / "core_018.jsonl").read_bytes().splitlines()
AZURE, HALF_PAIR = LINES[:2]
FAILED_MERGES = LINES[5:]


def row(line: bytes) -> LogRecord:
    (record,) = parse_piece(line)
    assert isinstance(record, LogRecord)
    return record


def test_the_model_of_an_azure_stream_is_that_of_its_later_chunks() -> None:
    """Azure's first chunk says `"model":""`, which Core takes for the answer's; the next one says the name."""
    assert b'\\"model\\":\\"\\"' in AZURE
    record = row(AZURE)
    assert (record.model, record.answer, record.error) == ("gpt-4o", "Azure says: yes.\n\n1. a\n2. b", None)


def test_a_text_that_core_dropped_is_taken_from_the_stream() -> None:
    """Half a surrogate pair in a stream makes Core assemble an empty text; the stream has all but the half."""
    record = row(HALF_PAIR)
    assert (record.completion_tokens, record.answer, record.error) == (6, "broken \ufffd half ANSWER", None)
    assert "ANSWER" in (record.assembled_response or "")


@pytest.mark.parametrize("line", [AZURE, HALF_PAIR], ids=["azure", "half-pair"])
def test_both_readers_read_them_alike(line: bytes) -> None:
    """The reader by types and the tolerant one give the same row."""
    assert readable(row(line)) == tolerantly(line, keep=False)


@pytest.mark.parametrize("line", FAILED_MERGES)
def test_a_line_that_ends_at_a_failed_merge_is_refused_with_its_deployment(line: bytes) -> None:
    """Core 0.18 writes neither time nor body of such a call, here or elsewhere, and no time is made up."""
    assert b"trace_id" not in line
    assert b'"time"' not in line
    (record,) = parse_piece(line)
    assert isinstance(record, Rejection)
    assert (record.reason, record.deployment, record.raw) == ("cut", "quiet", line)
    assert record.message.startswith(f"the line is cut after {len(line)} bytes, before it tells when")
    assert "DIAL Core 0.18 ends a line so" in record.message


def test_a_line_that_is_cut_behind_its_time_is_a_row() -> None:
    """The same line with what Core would write next is a row, however little of the body is left."""
    rest = (
        b'","trace":{"trace_id":"89c406df3b7e4d4b9f1f4ab2e1d3c5a7","core_span_id":"6dc74aee03ae302a"},"request":'
        b'{"protocol":"HTTP\\/1.1","method":"POST","uri":"\\/openai\\/deployments\\/quiet\\/chat\\/completions",'
        b'"time":"2026-11-22T10:00:00","body":"{\\"messages\\":[{\\"role\\":\\"user\\",\\"con>>'
    )
    record = row(FAILED_MERGES[0] + rest)
    assert (record.deployment, record.requested_at.isoformat()) == ("quiet", "2026-11-22T10:00:00+00:00")
    assert "cut" in (record.error or "") or "cut" in str(getattr(record, "repairs", ""))
