from __future__ import annotations

import logging

import pytest
from deltalake.exceptions import DeltaError

from lake.store.store_errors import log_failure, outage_of
from runtime.logs import JsonFormatter
from runtime.outage_lines import OUTAGE, OutageLines

AWAY = OSError("Could not connect to the endpoint URL: http://store:9000/lake")


class Log(logging.Handler):
    """Keeps the text of what a filter lets through."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.lines: list[str] = []
        self.addFilter(OutageLines(lambda: self.seconds))
        self.logger = logging.Logger("part")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_a_store_that_is_away_is_a_line_a_minute_then_fewer() -> None:
    """Whichever parts meet it, in whichever words; each line says how many were left out."""
    log = Log()
    errors = (AWAY, DeltaError("Generic S3 error: error sending request"), TimeoutError("timed out"))
    for second in range(3600):
        log.seconds = float(second)
        for number, error in enumerate(errors):
            log_failure(log.logger, error, "part %d could not write", number)
    assert (
        log.lines[0] == "part 0 could not write: OSError: Could not connect to the endpoint URL: http://store:9000/lake"
    )
    assert log.lines[1].endswith("(179 other failures for the same reason since the last such line)")
    # After 0, 1, 3, 7 and 15 minutes, then every ten.
    assert len(log.lines) == 5 + 4


def test_another_outage_and_another_reason_are_told_at_once() -> None:
    """A store that was back, one that is full, and what is no outage: nothing hides behind an earlier line."""
    log = Log()
    log_failure(log.logger, AWAY, "a")
    log.seconds = 301.0
    log_failure(log.logger, AWAY, "b")
    log_failure(log.logger, OSError(28, "No space left on device"), "c")
    log_failure(log.logger, PermissionError("Permission denied"), "d")
    log_failure(log.logger, PermissionError("Permission denied"), "e")
    log_failure(log.logger, ValueError("a defect"), "f")
    log_failure(log.logger, AWAY, "g")
    log.logger.warning("h", extra={OUTAGE: "webhook team"})
    assert [line[0] for line in log.lines] == ["a", "b", "c", "d", "e", "f", "h"]


def test_the_field_of_an_outage_is_not_shown() -> None:
    """It is for the filter alone."""
    record = logging.makeLogRecord({"msg": "x", "levelname": "ERROR"} | outage_of(AWAY))
    assert OUTAGE in record.__dict__
    assert OUTAGE not in JsonFormatter().format(record)


@pytest.mark.parametrize(
    ("error", "is_outage"),
    [
        (DeltaError("Failed to commit: dispatch failure"), True),
        (OSError("When reading: AWS Error NETWORK_CONNECTION: curlCode: 28, Timeout was reached"), True),
        (OSError("An error occurred (503) when calling PutObject: SlowDown"), True),
        (OSError("[Errno 111] Connection refused"), True),
        (FileNotFoundError("part-0001.parquet"), False),
        (DeltaError("Invalid table version: 503123"), False),
    ],
)
def test_errors_of_a_store_that_is_away_are_known_by_their_words(error: Exception, is_outage: bool) -> None:
    assert bool(outage_of(error)) is is_outage
