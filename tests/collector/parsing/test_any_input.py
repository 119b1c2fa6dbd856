from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.parsing import REASONS, LogRecord, Rejection, SignalRecord, core_lines, parse_line
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from tests.collector.parsing.core_lines import REMOVED, core_line, envelope, rating_line

SECURED = {"assembled_response": REMOVED, "request.body": REMOVED, "response.body": REMOVED}
GOOD = [core_line(), core_line(SECURED), rating_line({"rate": True, "responseId": "r"}), envelope(core_line())]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda children: st.lists(children, max_size=2) | st.dictionaries(st.text(max_size=3), children, max_size=2),
    max_leaves=6,
)
PATHS = [
    "chat",
    "chat.id",
    "user",
    "token_usage",
    "token_usage.price",
    "deployment",
    "parent_deployment",
    "execution_path",
]
PATHS += ["assembled_response", "trace", "trace.trace_id", "request.uri", "request.body", "response", "response.status"]


@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)))
def test_any_bytes_give_rows_or_rejections(raw: bytes) -> None:
    """Whatever is delivered never raises, and every rejection has a documented reason that is no defect."""
    for entry in core_lines(raw):
        record = parse_line(entry)
        assert isinstance(record, Rejection)
        assert record.reason in REASONS.keys() - {"parser_failure"}
        assert record.raw == entry


@settings(max_examples=400)
@given(
    st.sampled_from(GOOD),
    st.lists(
        st.tuples(
            st.sampled_from(["cut", "delete", "insert", "flip"]), st.floats(0, 1), st.binary(min_size=1, max_size=6)
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_any_damage_to_a_line_gives_rows_or_rejections(line: bytes, damages: list[tuple[str, float, bytes]]) -> None:
    """A line that was cut or changed anywhere gives rows that Arrow takes, or rejections with their bytes."""
    for how, where, data in damages:
        at = int(where * len(line))
        tail = {
            "cut": b"",
            "delete": line[at + len(data) :],
            "insert": data + line[at:],
            "flip": data + line[at + len(data) :],
        }
        line = line[:at] + tail[how]
    for entry in core_lines(line):
        record = parse_line(entry)
        if isinstance(record, Rejection):
            assert record.reason in REASONS.keys() - {"parser_failure"}
            assert record.raw == entry
        else:
            spec = PARSED_LOGS if isinstance(record, LogRecord) else USER_SIGNALS
            assert spec.rows([msgspec.structs.asdict(record)]).num_rows == 1


@settings(max_examples=300)
@given(st.dictionaries(st.sampled_from(PATHS), JSON, max_size=3))
def test_any_json_in_the_place_of_a_member_gives_a_row(changes: dict[str, Any]) -> None:
    """A member may be of any type: the row is there, and Arrow takes it."""
    ordered = dict(sorted(changes.items(), key=lambda item: -item[0].count(".")))
    record = parse_line(core_line(ordered))
    assert isinstance(record, (LogRecord, SignalRecord))
    spec = PARSED_LOGS if isinstance(record, LogRecord) else USER_SIGNALS
    assert spec.rows([msgspec.structs.asdict(record)]).num_rows == 1
