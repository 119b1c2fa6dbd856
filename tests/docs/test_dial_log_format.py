from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from collector.parsing import LogRecord, SignalRecord, parse_line
from collector.parsing.records import REASONS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "dial-log-format.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
HEADINGS = {number.rstrip(".") for number in re.findall(r"^#{2,3} ([\d.]+) ", PAGE, re.MULTILINE)}


def entry(example: str) -> bytes:
    """The example as Core writes it: on one line."""
    return "".join(line.strip() for line in example.splitlines()).encode()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, {"kind": "chat_completion", "is_entry": True, "response_id": "r-1", "error": None, "duration_ms": None}),
        (1, {"kind": "embedding", "is_entry": False, "parent_deployment": "hr-rag", "deployment_price": 5e-7}),
        (2, {"kind": "chat_completion", "is_entry": True, "response_id": "r-2", "answer": "You have"}),
        (4, {"kind": "chat_completion", "is_entry": True, "deployment": "hr-rag", "parent_deployment": None}),
        (5, {"kind": "chat_completion", "answer": None, "question": None, "total_tokens": 23, "error": None}),
    ],
)
def test_each_example_line_becomes_what_the_page_says(number: int, expected: dict[str, object]) -> None:
    """The lines of section 1.4 are rows with the kind, the ids and the texts that stand above them."""
    assert len(EXAMPLES) == 6
    record = parse_line(entry(EXAMPLES[number]))
    assert isinstance(record, LogRecord)
    assert {name: getattr(record, name) for name in expected} == expected
    assert (number == 2) == ("Connection lost" in (record.error or ""))


def test_the_example_of_a_rating_becomes_a_signal() -> None:
    """The dislike of section 1.4 is a row of user_signals with its comment."""
    record = parse_line(entry(EXAMPLES[3]))
    assert isinstance(record, SignalRecord)
    assert (record.signal, record.value, record.response_id) == ("dislike", -1.0, "r-1")
    assert json.loads(record.details or "{}")["comment"] == "It is 26 days"


def test_every_section_that_a_test_names_is_there() -> None:
    """Tests of the parser begin with the sections of the page that they check."""
    named = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for numbers in re.findall(r"Log format ((?:\d+(?:\.\d+)?(?:, )?)+)", path.read_text(encoding="utf-8")):
            named |= set(re.findall(r"\d+(?:\.\d+)?", numbers))
    assert named <= HEADINGS
    assert {"1.1", "4.3", "5", "10"} <= HEADINGS


def test_every_reason_of_a_rejection_is_explained() -> None:
    """The table of section 7 has just the words that stand in `_rejected.reason`."""
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \|$", PAGE.split("## 7.")[1], re.MULTILINE) == list(REASONS)
