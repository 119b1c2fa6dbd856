from __future__ import annotations

import logging
import pickle

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from deltalake.exceptions import CommitFailedError, DeltaError

from lake.store.store_errors import in_one_line, is_store_error, log_failure, without_rows

OF_STORES = [
    ConnectionRefusedError(111, "Connection refused"),
    DeltaError("Generic error: \x1b[31m↳\x1b[0m no\nanswer"),
    CommitFailedError("version 3"),
    EndpointConnectionError(endpoint_url="http://127.0.0.1:9"),
    ClientError({"Error": {"Code": "AccessDenied"}}, "PutObject"),
]


@pytest.mark.parametrize("error", OF_STORES, ids=lambda error: type(error).__name__)
def test_an_error_of_the_store_comes_whole_from_another_process(error: Exception) -> None:
    """Pickled and read again it is of the same kind, with its words; one of deltalake also with its notes."""
    error.add_note("in a worker")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))
    if isinstance(error, DeltaError):
        assert again.__notes__ == error.__notes__


@pytest.mark.parametrize("error", OF_STORES, ids=lambda error: type(error).__name__)
def test_an_error_of_the_store_is_one_line_of_log(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """Whichever library met it: its kind and its words, without colours and line breaks, and no traceback."""
    assert is_store_error(error)
    log_failure(logging.getLogger("test"), error, "the pass %d failed", 7)
    (record,) = caplog.records
    assert record.exc_info is None
    assert record.getMessage() == f"the pass 7 failed: {in_one_line(error)}"
    assert "\n" not in record.getMessage()
    assert "\x1b" not in record.getMessage()


def test_any_other_error_has_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """What nobody knows must be found."""
    log_failure(logging.getLogger("test"), KeyError("answer"), "the pass failed")
    assert caplog.records[0].exc_info is not None


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    """deltalake says the cause last."""
    text = in_one_line(OSError("begin " + "x" * 5000 + " refused"))
    assert text.startswith("OSError: begin")
    assert text.endswith("refused")
    assert len(text) < 500


def test_what_may_quote_a_row_is_not_repeated() -> None:
    """The text of an unknown error may hold what a person wrote, and must not reach a table or a page."""
    assert "secret" not in without_rows(ValueError("cannot read 'a secret of Ann'"))
    assert "No space left" in without_rows(OSError(28, "No space left on device"))
