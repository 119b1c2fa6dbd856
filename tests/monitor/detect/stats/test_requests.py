"""Counts of requests: failed ones, and those with an answer."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from lake.spec.schemas import PARSED_LOGS
from monitor.detect.stats.requests import LOG_COLUMNS, RequestStats, failed
from monitor.detect.stats.sums import ROUGH_PER_UNIT

NOTES = ["2 raw control characters were replaced", "the line is cut after 16777062 bytes"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"status": 200}, False),
        ({"status": 399}, False),
        ({"status": 400}, True),
        ({"status": None}, False),
        ({"status": 200, "error": "no answer was logged: assembled_response and response.body are absent"}, True),
        ({"status": None, "error": "the line is cut after 9 bytes, before its answer ends"}, True),
        ({"status": 200, "repairs": NOTES}, False),
        ({"status": 500, "repairs": NOTES}, True),
        # as versions without `repairs` wrote it
        ({"status": 200, "error": NOTES[0]}, False),
        ({"status": 200, "error": "; ".join(NOTES)}, False),
        ({"status": 500, "error": NOTES[0]}, True),
        ({"status": 200, "error": f"{NOTES[0]}; upstream error: boom"}, True),
        ({"status": 200, "error": f"upstream error: {NOTES[0]}"}, True),
    ],
)
def test_what_was_mended_to_read_a_line_is_no_failure(row: dict[str, Any], expected: bool) -> None:
    """A status of 400 or more and an answer that is not whole are; notes are not, in `repairs` or in `error`."""
    rows = PARSED_LOGS.rows([{"status": 200}, row, {"status": 503}]).select(LOG_COLUMNS)
    assert failed(rows).tolist() == [False, expected, True]
    assert failed(pa.concat_tables([rows, rows])).tolist() == [False, expected, True] * 2


def test_a_request_that_failed_is_no_answer() -> None:
    """Of what people asked only whole answers are counted as such and drawn in the chart; all are requests."""
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    asked = {"requested_at": at, "is_entry": True}
    rows = [asked | {"status": 200}, asked | {"status": 503}, asked | {"status": 200, "error": "cut"}, {"status": 200}]
    stats = RequestStats().with_logs(PARSED_LOGS.rows(rows).select(LOG_COLUMNS))
    assert (stats.total, stats.failed, stats.answers) == (4, 2, 1)
    hour = int(at.timestamp()) // 3600
    assert stats.by_time.total(hour, hour)[:2] == (3, 1)


def test_tokens_and_costs_are_summed_over_time() -> None:
    """The entry cost is the whole price of what people asked; a call that led to no other may have its own alone."""
    at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    asked = {"requested_at": at, "status": 200, "is_entry": True}
    rows = [
        asked | {"prompt_tokens": 3, "completion_tokens": 4, "price": 0.5, "deployment_price": 0.125},
        asked | {"prompt_tokens": 8, "deployment_price": 0.25},
        asked | {"is_entry": False, "deployment_price": 0.0625},
    ]
    stats = RequestStats().with_logs(PARSED_LOGS.rows(rows).select(LOG_COLUMNS))
    hour = int(at.timestamp()) // 3600
    own, entry = 0.4375, 0.75
    assert stats.by_time.total(hour, hour) == (3, 2, 15, own * ROUGH_PER_UNIT, entry * ROUGH_PER_UNIT)
    assert (stats.own_cost, stats.entry_cost) == (own, entry)
