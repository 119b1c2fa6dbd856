"""Metrics of calls of tools: beside RAGAS' numbers, and where they mean nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import compute

GOLDEN = json.loads((Path(__file__).parent / "ragas_tool_calls.json").read_text(encoding="utf-8"))
AGAINST_CASES = ("tool_call_accuracy", "tool_call_accuracy_any_order", "tool_call_f1")


def call(name: str = "f", arguments: str | None = "{}", is_error: bool | None = None) -> dict[str, Any]:
    return {"id": None, "name": name, "arguments": arguments, "result": None, "is_error": is_error}


def calls_of(golden: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call(one["name"], json.dumps(one["args"])) for one in golden]


def score(metric: str, calls: Any, expected: Any = None) -> tuple[float | None, str | None]:
    frame = pd.DataFrame({"tool_calls": [calls], "reference_tool_calls": [expected]}, dtype=object)
    scores = compute(frame, [metric], details=True)
    value, reason = scores.loc[0, metric], scores.loc[0, f"{metric}_reason"]
    return None if pd.isna(value) else float(value), None if pd.isna(reason) else str(reason)


@pytest.mark.parametrize("metric", AGAINST_CASES)
@pytest.mark.parametrize("golden", GOLDEN, ids=[one["case"] for one in GOLDEN])
def test_against_ragas(golden: dict[str, Any], metric: str) -> None:
    """RAGAS 0.4.3, without its rounding to four digits; where nothing is called and nothing should be it is null."""
    called, expected = (calls_of(golden[name]) for name in ("called", "expected"))
    value, reason = score(metric, called, expected)
    if golden["case"] == "both_empty":
        assert (value, reason) == (None, "no_tool_calls")
        return
    exact = {0.6667: 2 / 3}
    assert value == pytest.approx(exact.get(golden[metric], golden[metric]), abs=1e-9)


def test_calls_of_one_name_are_paired_as_ragas_sorts_them() -> None:
    """Without arguments first, then by names and values of arguments."""
    called, expected = [call("c", '{"p": 1}'), call("c", "{}")], [call("c", '{"p": 1}'), call("c", '{"r": 2}')]
    assert score("tool_call_accuracy_any_order", called, expected) == (0.0, None)


@pytest.mark.parametrize(
    ("called", "expected", "value"),
    [
        ('{"a": 1, "b": [1, {"c": 2}]}', '{"b": [1.0, {"c": 2.0}], "a": true}', 1.0),
        ('{"a": 1}', '{"a": "1"}', 0.0),
        ('{"a": []}', '{"a": {}}', 0.0),
        ("no JSON", "no JSON", 1.0),
    ],
)
def test_numbers_of_equal_value_are_the_same_call(called: str, expected: str, value: float) -> None:
    """As Python compares what RAGAS puts into its sets; lists and objects within arguments too."""
    assert score("tool_call_f1", [call("f", called)], [call("f", expected)]) == (value, None)


@pytest.mark.parametrize(
    ("called", "expected", "value"),
    [
        ([call("f", '{"day": "Mon"}')], [call("f", '{"day": "Tue"}')], 1.0),
        ([call("f"), call("g"), call("f")], [call("f")], 2 / 3),
        ([call("g")], [call("f")], 0.0),
        ([], [call("f")], 0.0),
        ([call("f")], [], 0.0),
    ],
)
def test_names_alone(called: Any, expected: Any, value: float) -> None:
    """The same F1 without arguments."""
    assert score("tool_names_f1", called, expected) == (pytest.approx(value, abs=1e-9), None)


@pytest.mark.parametrize("metric", [*AGAINST_CASES, "tool_names_f1"])
def test_what_has_no_case_or_is_not_known_is_null(metric: str) -> None:
    """Without calls of a case there is no ground truth; calls that the log does not hold say nothing."""
    assert score(metric, [call()], None) == (None, "no_ground_truth")
    assert score(metric, None, [call()]) == (None, "no_tool_calls")
    assert score(metric, [], []) == (None, "no_tool_calls")
    assert score(metric, "no list", [call()]) == (None, "unreadable_tool_calls")
    assert score(metric, [5], [call()]) == (None, "unreadable_tool_calls")


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([True, False, False, False], (0.25, None)),
        ([True, None], (1.0, None)),
        ([False], (0.0, None)),
        ([None, None], (None, "unknown_results")),
        ([], (None, "no_tool_calls")),
        (None, (None, "no_tool_calls")),
    ],
)
def test_share_of_errors(errors: Any, expected: tuple[float | None, str | None]) -> None:
    """Of the calls of which it is known: 1 of 4 is 0.25."""
    assert score("tool_error_share", None if errors is None else [call(is_error=one) for one in errors]) == expected


def test_repeats() -> None:
    """The loop of an agent: five calls, of which three repeat the first, whatever the spelling of the arguments."""
    asked = call("orders_get_order", '{"id": "4711", "n": 1}')
    loop = [asked, call("dial_rag"), asked, asked, call("orders_get_order", '{"n":1,"id":"4711"}')]
    assert score("repeated_tool_calls", loop) == (pytest.approx(0.6, abs=1e-9), None)
    assert score("repeated_tool_calls", [call("f"), call("g"), call("f", '{"a":1}'), call("f", "x")]) == (0.0, None)
    assert score("repeated_tool_calls", [call("f", None), call("f", "{}")]) == (0.5, None)
    assert score("repeated_tool_calls", []) == score("repeated_tool_calls", None) == (None, "no_tool_calls")


def test_number_of_calls() -> None:
    """None is 0; not known is null."""
    assert score("tool_call_count", [call()] * 3) == (3.0, None)
    assert score("tool_call_count", []) == (0.0, None)
    assert score("tool_call_count", None) == (None, "no_tool_calls")


def test_arguments_that_are_no_object_are_one_argument() -> None:
    """A text is compared as it is."""
    assert score("tool_call_accuracy", [call("f", "x y")], [call("f", "x y")]) == (1.0, None)
    assert score("tool_call_accuracy", [call("f", "x y")], [call("f", "x z")]) == (0.0, None)
    assert score("tool_call_accuracy", [call("f", "[1]")], [call("f", "[1]")]) == (1.0, None)


def test_arguments_that_are_nested_too_deep_are_one_argument() -> None:
    """They are compared as the texts that they are, also where they are sorted; no metric fails for them."""
    deep, other = ('{"a":' + "[" * 995 + f"{one}" + "]" * 995 + "}" for one in (1, 2))
    for metric in ("tool_call_accuracy", "tool_call_accuracy_any_order", "tool_call_f1"):
        assert score(metric, [call(arguments=deep)], [call(arguments=deep)]) == (1, None)
        assert score(metric, [call(arguments=deep)], [call(arguments=other)]) == (0, None)
    assert score("repeated_tool_calls", [call(arguments=one) for one in (deep, other, deep, deep)]) == (0.5, None)
