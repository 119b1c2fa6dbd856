"""Tests of the limit on the number of JSON values in a text, which is checked before the text is decoded."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing import LogRecord, Rejection, core_lines, parse_piece
from collector.parsing.json_text import value_limit
from collector.parsing.json_text.value_limit import MOST_VALUES, hold_more_values, holds_more_values
from collector.parsing.line.line import Unreadable
from tests.collector.lines import chat_line

ONES = b"[" + b"1," * MOST_VALUES + b"1]"
TEXT = st.text(st.sampled_from('",[]{}\\:a\u00e4 \n'), max_size=20)
JSON = st.recursive(
    st.none() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=30
)


def values_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(values_of, value.values()))
    return 1 + sum(map(values_of, value)) if isinstance(value, list) else 1


@given(JSON, st.booleans(), st.integers(1, 5))
def test_no_text_holds_more_values_than_are_counted(value: Any, ascii_only: bool, window: int) -> None:
    """The count is at least that of the values, and not twice as high, wherever its windows end."""
    text, values = json.dumps(value, ensure_ascii=ascii_only), values_of(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_limit, "_WINDOW", window)
        assert values == 1 or holds_more_values(text, values - 1)
        assert not holds_more_values(text.encode(), 2 * values)


@pytest.mark.slow
def test_what_stands_in_strings_is_no_value() -> None:
    """A line with millions of commas in its texts, such as an embedding's answer, is a row."""
    body = json.dumps({"data": [{"embedding": [0.5] * (MOST_VALUES // 2)}] * 3})
    line = chat_line(1, request=json.loads(chat_line(1))["request"] | {"uri": "/openai/deployments/e/embeddings"})
    whole = json.loads(line) | {"response": {"status": "200", "body": body}, "assembled_response": body}
    [record] = parse_piece(json.dumps(whole).encode())
    assert isinstance(record, LogRecord)
    assert (record.kind, record.error, record.assembled_response) == ("embedding", None, body)


@pytest.mark.parametrize(
    "piece",
    [
        ONES,
        b'{"message":' + ONES + b"}",
        b'{"request":{"time":"2026-11-20T12:00:00","x":' + ONES + b"}}",
        b'{"request":{"time":"2026-11-20T12:00:00"},"execution_path":' + ONES.replace(b"1", b'""') + b"}",
        b'"' + ONES + b'{"apiType":' + ONES + b"}",
        json.dumps([{"message": "x"}] * 100_001).encode(),
        json.dumps([{"message": json.dumps([{"message": "x"}] * 30_000)}] * 4).encode(),
    ],
    ids=["array", "message", "member", "execution_path", "after-a-quote", "envelopes", "envelopes-in-envelopes"],
)
def test_what_would_become_too_much_is_kept_as_it_came(piece: bytes) -> None:
    """It is one rejection with all of its bytes."""
    [record] = parse_piece(piece)
    assert isinstance(record, Rejection)
    assert record.raw == piece
    assert record.reason in ("too_many_values", "not_json")


@pytest.mark.slow
def test_more_lines_than_one_piece_may_carry_are_not_split() -> None:
    """The limit itself is taken, one more is not, and the error says what to do."""
    assert len(core_lines(json.dumps([{"message": "x"}] * 100_000).encode())) == 100_000
    with pytest.raises(Unreadable, match="more than 100000 lines came as one; send fewer at once"):
        core_lines(json.dumps([{"message": "x"}] * 100_001).encode())


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"request": '{"messages":' + ONES.decode() + "}"}, "request.body holds more than 2000000 JSON values"),
        ({"response": '{"choices":' + ONES.decode() + "}"}, "response.body holds more than 2000000 JSON values"),
        ({"response": "data:{}\n" * (MOST_VALUES + 1)}, "response.body holds more than 2000000 JSON values"),
    ],
    ids=["question", "answer", "stream"],
)
def test_a_body_of_too_many_values_costs_only_what_it_says(part: dict[str, str], says: str) -> None:
    """The line is a row that names the body that was not read."""
    line = json.loads(chat_line(1)) | {"assembled_response": ""}
    for name, body in part.items():
        line[name]["body"] = body
    [record] = parse_piece(json.dumps(line).encode())
    assert isinstance(record, LogRecord)
    assert says in f"{record.error} {record.repairs}"


_PEAK = """
import resource, sys
from collector.parsing import parse_piece
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
piece = eval(sys.argv[1]) * (int(sys.argv[2]) << 20)
piece = eval(sys.argv[3])
before = peak()
parse_piece(piece)
print(peak() - before)
"""


@pytest.mark.integration
@pytest.mark.parametrize(
    ("crumb", "whole"),
    [
        ("b'[],'", "b'[' + piece + b'[]]'"),
        ("b'{},'", "b'[' + piece + b'{}]'"),
        ("b'[],'", "b'{\"message\":[' + piece + b'[]]}'"),
        ("b'[],'", "b'\"{\"apiType\":[' + piece + b'[]]}'"),
    ],
    ids=["lists", "objects", "message", "after-a-quote"],
)
def test_crumbs_take_no_more_memory_than_text(crumb: str, whole: str) -> None:
    """48 MiB of empty lists or objects, which were over a GiB when they were decoded, take a few times their bytes."""
    command = [sys.executable, "-c", _PEAK, crumb, "16", whole]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(result.stdout) < 400


@given(st.lists(JSON, max_size=5), st.integers(1, 5), st.lists(st.sampled_from([b'"', b"\\", b'"\\', b'x"'])))
def test_no_texts_hold_more_values_together_than_are_counted(
    values: list[Any], window: int, broken: list[bytes]
) -> None:
    """A text counts the same whatever texts stand before it, also ones that leave a string open."""
    texts = [json.dumps(value).encode() for value in values]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_limit, "_WINDOW", window)
        alone = [next(most for most in range(1, 10_000) if not hold_more_values([text], most)) - 1 for text in texts]
        assert all(marks >= values_of(value) - 1 for marks, value in zip(alone, values, strict=True))
        assert not hold_more_values([*broken, *texts], sum(alone) + 1)
        assert sum(alone) == 0 or hold_more_values([*broken, *texts], sum(alone))
