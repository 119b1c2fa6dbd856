from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lake.spec.alert_vocabulary import AlertVerdict
from runtime.logs import JsonFormatter, Logs, TextFormatter, chosen_logs, configure_logs


@dataclass
class Counts:
    """Numbers that belong together."""

    lines: int
    sources: frozenset[str]


def record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("part", logging.WARNING, __file__, 1, message, args, None)
    made.__dict__.update(fields)
    return made


def test_a_record_is_an_object_on_one_line() -> None:
    """With its fields, whatever its text holds."""
    line = JsonFormatter().format(record("a %s of %r", "b\nc", 'x"\u2028y\udcff', deployment="rag", path=Path("/a")))
    assert "\n" not in line
    shown = json.loads(line)
    assert shown.pop("time").endswith("Z")
    assert shown == {
        "level": "warning",
        "logger": "part",
        "message": 'a b\nc of "x\\"\u2028y?"',
        "deployment": "rag",
        "path": "/a",
    }


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("rag", "rag"),
        (None, "none"),
        (True, "true"),
        (["b", "a"], "b, a"),
        (frozenset({"b", "a"}), "a, b"),
        ({"no_answer": 2, "judge": None}, "no_answer: 2, judge: none"),
        (AlertVerdict.JUDGE, "judge"),
        (3, "3"),
        (Counts(2, frozenset({"a"})), "lines 2, sources a"),
    ],
)
def test_no_value_is_shown_as_python_writes_it(value: object, shown: str) -> None:
    """As people write lists, counts and truths, in both forms; `%r` puts a text between double quotes."""
    assert TextFormatter("%(message)s").format(record("%s", value)) == shown
    assert json.loads(JsonFormatter().format(record("%s", value)))["message"] == shown
    quoted = TextFormatter("%(message)s").format(record("%r", value))
    assert quoted in (shown, json.dumps(shown))


def test_numbers_still_fit_their_places() -> None:
    """Also truths, which count, and arguments by name."""
    assert TextFormatter("%(message)s").format(record("%d of %.1f", True, 2)) == "1 of 2.0"
    by_name = record("%(a)s")
    by_name.args = {"a": ["x"]}
    assert TextFormatter("%(message)s").format(by_name) == "x"


def test_a_traceback_is_a_member_of_the_object() -> None:
    """One record stays one line."""
    try:
        raise ValueError("odd")
    except ValueError:
        made = record("failed")
        made.exc_info = sys.exc_info()
    line = JsonFormatter().format(made)
    assert "\n" not in line
    assert "ValueError: odd" in json.loads(line)["traceback"]


def test_what_other_packages_repeat_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line for each request, and what dialwatch says itself; with handlers of somebody else nothing else is set."""
    chosen = chosen_logs()
    levels = {name: logging.getLogger(name).level for name in ("httpx", "botocore", "apscheduler", "kafka")}
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler()])
    try:
        configure_logs(Logs("warning", "json"))
        assert chosen_logs() == Logs("warning", "json")
        found = {name: logging.getLogger(name).level for name in levels}
        assert found == {"httpx": 30, "botocore": 30, "apscheduler": 40, "kafka": 50}
    finally:
        configure_logs(chosen)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
