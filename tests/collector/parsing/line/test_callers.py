"""Tests of the caller of a call: a person, another deployment, or an interceptor of its own accord."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from collector.parsing import LogRecord, parse, parse_line
from collector.parsing.line.fast_path import read_usual_call
from tests.collector.parsing.core_lines import REMOVED, core_line

REAL_LINES = gzip.decompress(Path(__file__).with_name("core_0.18_callers.log.gz").read_bytes()).splitlines()
"""Whole traces of DIAL Core 0.18 with interceptors, one agent among them."""
BY_INTERCEPTOR = "/openai/deployments/interceptor/chat/completions"
SPAN = "b000000000000001"


def read_both_ways(line: bytes) -> LogRecord:
    """What the reader by type makes of a line; the tolerant one must make the same."""
    assert read_usual_call(line) is not None
    fast = parse_line(line)
    with patch.object(parse, "read_usual_call", return_value=None):
        slow = parse_line(line)
    assert isinstance(fast, LogRecord)
    assert isinstance(slow, LogRecord)
    assert (fast.is_entry, fast.parent_deployment) == (slow.is_entry, slow.parent_deployment)
    return fast


def called(deployment: str, uri: str | None = None, **changes: Any) -> bytes:
    at = uri or f"/openai/deployments/{deployment}/chat/completions"
    paths = {"parent": "parent_deployment", "span": "trace.core_parent_span_id", "path": "execution_path"}
    members = {paths[name]: value for name, value in changes.items() if value is not REMOVED}
    return core_line({"deployment": deployment, "request.uri": at} | members)


@pytest.mark.parametrize(
    ("line", "is_entry", "parent"),
    [
        # Core 0.22 and later: paths hold deployments alone, and the interceptors of the caller are no parent
        (called("rag", path=["rag"]), True, None),
        (called("rag", BY_INTERCEPTOR, span=SPAN, path=["pii-in", "pii-out", "rag"]), True, None),
        (called("gpt-4o", span=SPAN, path=["pii-in", "gpt-4o"]), False, None),
        (called("gpt-4o", span=SPAN, path=["pii-in", "pii-out", "gpt-4o"]), False, None),
        (called("gpt-4o", parent="rag", span=SPAN, path=["rag", "gpt-4o"]), False, "rag"),
        (called("gpt-4o", parent="rag", span=SPAN, path=["pii-in", "rag", "gpt-4o"]), False, "rag"),
        (called("gpt-4o", BY_INTERCEPTOR, parent="rag", span=SPAN, path=["rag", "pii-in", "gpt-4o"]), False, "rag"),
        # Core 0.18: paths begin with the project or the user, and the called deployment is named as its own parent
        (called("rag", path=["HR", "rag"]), True, None),
        (called("rag", BY_INTERCEPTOR, parent="rag", span=SPAN, path=["HR", "pii-in", "rag"]), True, None),
        (called("gpt-4o", parent="rag", span=SPAN, path=["HR", "pii-in", "gpt-4o"]), False, "rag"),
        # an application that calls itself is the application that made the call
        (called("agent", parent="agent", span=SPAN, path=["agent", "agent"]), False, "agent"),
        # without tracing Core writes zeros, but a parent's only where there is one
        (called("gpt-4o", span="0" * 16, path=["pii-in", "gpt-4o"]), False, None),
        (called("rag", parent="", span="", path=["rag"]), True, None),
        (called("rag", "/openai/v1/responses", path=["rag"]), True, None),
        (called("gpt-4o", "/openai/v1/responses", span=SPAN, path=["pii-in", "gpt-4o"]), False, None),
        (called("interceptor", span=SPAN, parent="agent", path=["agent", "interceptor"]), False, "agent"),
        # no answer, whoever asked
        (called("ada", "/openai/deployments/ada/embeddings", path=["ada"]), False, None),
    ],
)
def test_an_entry_has_no_other_parent_and_came_without_one_or_through_interceptors(
    line: bytes, is_entry: bool, parent: str | None
) -> None:
    """A call that an interceptor makes of its own accord is no entry, although it has no parent_deployment."""
    row = read_both_ways(line)
    assert (row.is_entry, row.parent_deployment) == (is_entry, parent)


def test_a_call_with_a_parent_span_that_is_no_span_was_made_by_another_call() -> None:
    """The tolerant reader, which alone reads odd ids, goes by the same rule."""
    row = parse_line(called("gpt-4o", span="of another form", path=["pii-in", "gpt-4o"]))
    assert isinstance(row, LogRecord)
    assert (row.is_entry, row.parent_deployment, row.parent_span_id) == (False, None, None)


def test_the_entries_of_a_real_core_are_found() -> None:
    """Of traces of Core 0.18 the entries are the root calls and the 27 that came through interceptors."""
    rows = [read_both_ways(line) for line in REAL_LINES]
    found = Counter((row.deployment, row.is_entry, row.parent_deployment) for row in rows)
    assert found == {
        ("guarded", True, None): 15,
        ("gpt-guarded", True, None): 12,
        ("proxyapp", True, None): 6,
        ("rag", True, None): 2,
        ("agent", True, None): 1,
        ("rag", False, "agent"): 1,
        ("gpt-a", False, "rag"): 1,
        ("gpt-a", False, "gpt-guarded"): 4,
        ("emb", False, "rag"): 2,
    }
