import json
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.parsing import core_lines, parse, parse_line, parse_piece
from collector.parsing.line.fast_path import read_usual_call
from tests.collector.parsing.core_lines import ANSWER, core_line, rating_line
from tests.collector.parsing.test_any_input import JSON, PATHS
from tests.collector.parsing.test_core_examples import LINES

STREAM = (
    'data: {"id":"r-100","choices":[{"index":0,"delta":{"content":"30 days"}}]}\n\n'
    'data: {"id":"r-100","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
AZURE = core_line(
    {
        "assembled_response": json.dumps(ANSWER | {"model": ""}),
        "response.body": 'data: {"id":"","model":"","choices":[]}\n\n'
        + STREAM.replace('"choices"', '"model":"m","choices"'),
    }
)
"""A stream as Azure sends it: its first event names no model."""
EXTRAS = {
    "claims": {"roles": ["a"], "age": 10**30},
    "headers": {"baggage": "x"},
    "usage_per_model": [{"model": "m", "usage": {"prompt_tokens": 1}}],
    "token_usage.prompt_tokens_details": {"cached_tokens": 1},
    "operation_duration_ms": 7,
}
SEEDS = [
    *LINES,
    core_line(),
    core_line(EXTRAS),
    core_line({"response.body": STREAM, "user.title": "Größe"}),
    core_line({"response.body": STREAM, "user.title": "%D0%98 %4"}),
    AZURE,
    core_line({"response.body": STREAM.replace("30", "дней")}),
    core_line({"trace.trace_id": "0" * 32}),
    rating_line({"rate": True, "responseId": "r"}),
]
ODD = [b"\\", b'"', b"\x00", b"\xff", b"\\ud800", b"{", b"}", b"]", b"1e999", b"null", b"-", b"9" * 25, b"data: ", b" "]


def readable(record: Any) -> dict[str, Any]:
    """A record's members, JSON texts decoded: their members may come in another order."""
    members = msgspec.structs.asdict(record)
    for name in ("extra", "details"):
        if members.get(name):
            members[name] = json.loads(members[name])
    return members


def tolerantly(entry: bytes, keep: bool) -> dict[str, Any]:
    with patch.object(parse, "read_usual_call", return_value=None):
        return readable(parse_line(entry, keep))


@pytest.mark.parametrize("seed", range(len(SEEDS)))
def test_usual_lines_are_read_by_type(seed: int) -> None:
    """No line that Core writes falls back to the tolerant reader, and both read it alike."""
    assert read_usual_call(SEEDS[seed]) is not None
    for keep in (False, True):
        assert readable(parse_line(SEEDS[seed], keep)) == tolerantly(SEEDS[seed], keep)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(ODD) | st.binary(max_size=3)), max_size=3),
    st.booleans(),
)
def test_damaged_lines_are_read_alike(line: bytes, damages: list[tuple[float, int, bytes]], keep: bool) -> None:
    """Whatever becomes of a line, decoding by type gives the row of the tolerant reader or leaves it to that one."""
    for where, dropped, put in damages:
        at = int(where * len(line))
        line = line[:at] + put + line[at + dropped :]
    assert readable(parse_line(line, keep)) == tolerantly(line, keep)
    apart = [readable(parse_line(entry, keep)) for entry in core_lines(line)]
    assert [readable(record) for record in parse_piece(line, keep)] == apart


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*PATHS, *EXTRAS, "response.body", "request.protocol", "apiType", "chat.new"]), JSON, max_size=3
    )
)
def test_any_member_is_read_alike(changes: dict[str, Any]) -> None:
    """A member of any type gives the same row either way."""
    line = core_line(dict(sorted(changes.items(), key=lambda item: -item[0].count("."))))
    assert readable(parse_line(line)) == tolerantly(line, keep=False)


@pytest.mark.parametrize(("body", "finished"), [(STREAM, True), (STREAM.replace('"r-100"', "null", 1), True)])
def test_the_raw_response_is_kept_only_on_demand(body: str, finished: bool) -> None:
    """A stream's text is in response_body when it is wanted, and nowhere when its answer was read whole."""
    line = core_line({"response.body": body})
    without, kept = parse_line(line), parse_line(line, keep_raw_response=True)
    assert (without.response_body, kept.response_body) == (None, body)  # type: ignore[union-attr]
    assert "data:" not in (without.extra or "") + (kept.extra or "")  # type: ignore[union-attr]
    assert finished is (without.error is None)  # type: ignore[union-attr]


def test_what_could_not_be_read_stays() -> None:
    """A stream without its end stays in extra, and with keep_raw_response in its column alone."""
    line = core_line({"response.body": STREAM[:100], "assembled_response": "{}"})
    without, kept = parse_line(line), parse_line(line, keep_raw_response=True)
    assert json.loads(without.extra or "")["response"]["body"] == STREAM[:100]  # type: ignore[union-attr]
    assert (kept.response_body, "body" in (kept.extra or "")) == (STREAM[:100], False)  # type: ignore[union-attr]


def test_a_line_with_an_unknown_member_keeps_it() -> None:
    """What a newer Core may write is in extra."""
    record = parse_line(core_line({"chat.topic": "x"}))
    assert json.loads(record.extra or "")["chat"] == {"topic": "x"}  # type: ignore[union-attr]
