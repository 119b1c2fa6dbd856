"""Metrics of the calls of tools of an answer's turn: errors and repeats, and what a case says should be called."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any

from evaluator.metrics.decorator import metric
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.options import option
from evaluator.metrics.scores import Score
from lake.spec.tool_calls import canonical, decoded
from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import UnscoredReason

Arguments = Mapping[str, Any]

_NO_CALLS = "null with `no_tool_calls` where nothing was called, and where the log does not say what was called"
_NOTHING = (
    "null with `no_tool_calls` where nothing was called and nothing should be, and where the log does not say what was"
)
_ODD = OddCases(empty_answer="no difference")
_ODD_REFERENCE = OddCases(empty_answer="no difference", no_reference="null with `no_ground_truth`")
_RAGAS = "RAGAS 0.4.3"


@metric(
    Description(
        asks="Which share of the calls of tools failed?",
        formula=f"calls that failed / calls of which it is known whether they failed; {_NO_CALLS}, with "
        "`unknown_results` where of no call it is known whether it failed",
        source="dialwatch",
        odd_cases=_ODD,
        direction="down",
    ),
    needs=("tool_calls",),
)
def tool_error_share(calls: list[ToolCall] | None) -> Score | float:
    """Share of the calls of tools that failed, 0 to 1, lower is better; of calls of which that is known."""
    if not calls:
        return Score(None, UnscoredReason.NO_TOOL_CALLS)
    known = [call["is_error"] for call in calls if call.get("is_error") is not None]
    return sum(known) / len(known) if known else Score(None, UnscoredReason.UNKNOWN_RESULTS)


@metric(
    Description(
        asks="Which share of the calls of tools repeats an earlier one?",
        formula=f"calls with the name and the arguments of an earlier one of the turn / calls; {_NO_CALLS}",
        source="dialwatch",
        odd_cases=_ODD,
        direction="down",
    ),
    needs=("tool_calls",),
)
def repeated_tool_calls(calls: list[ToolCall] | None) -> Score | float:
    """Share of the calls of tools that are equal to an earlier one of the turn, 0 to 1, lower is better.

    Arguments are compared as JSON: the order of members and white space do not matter.
    """
    if not calls:
        return Score(None, UnscoredReason.NO_TOOL_CALLS)
    return 1 - len({_exact(call) for call in calls}) / len(calls)


@metric(
    Description(
        asks="How many tools were called?",
        formula="number of calls of tools of the turn; null with `no_tool_calls` where it is not known",
        source="dialwatch",
        odd_cases=_ODD,
        high=math.inf,
        direction="none",
    ),
    needs=("tool_calls",),
)
def tool_call_count(calls: list[ToolCall] | None) -> Score | float:
    """Number of calls of tools of the turn, 0 or more; neither end is better."""
    return Score(None, UnscoredReason.NO_TOOL_CALLS) if calls is None else float(len(calls))


@metric(
    Description(
        asks="Were the tools of the case called with its arguments, in its order, or in any with `any_order`?",
        formula="mean share of the arguments of a call of the case that the call at its place has; 0 where another "
        f"number of tools, or others, were called. With `any_order` both are sorted first; {_NOTHING}",
        source=_RAGAS,
        odd_cases=_ODD_REFERENCE,
    ),
    needs=("tool_calls", "reference_tool_calls"),
    version=lambda metric: "2" if metric.any_order else "1",
    name=lambda metric: "tool_call_accuracy_any_order" if metric.any_order else "tool_call_accuracy",
    variants=({"any_order": False}, {"any_order": True}),
)
def tool_call_accuracy(
    calls: list[ToolCall] | None,
    expected: list[ToolCall] | None,
    *,
    any_order: bool = option(False, "whether the order of the calls says nothing"),
) -> Score | float:
    """How well the calls of tools are those of the case, 0 to 1, as `ToolCallAccuracy` of RAGAS.

    Values of arguments are compared as texts, so that 1 is "1"; arguments that the case does not have count nothing.
    """
    if (missing := _missing(calls, expected)) is not None or not (calls and expected):
        return missing or 0.0
    called, wanted = ([(call["name"] or "", _arguments(call)) for call in some] for some in (calls, expected))
    if any_order:
        called, wanted = sorted(called, key=_by_name), sorted(wanted, key=_by_name)
    if [name for name, _ in called] != [name for name, _ in wanted]:
        return 0.0
    return sum(_share(given, sought) for (_, given), (_, sought) in zip(called, wanted, strict=True)) / len(wanted)


@metric(
    Description(
        asks="Which of the calls of the case were made, and no others?",
        formula=f"F1 of the sets of calls; two calls are the same if name and arguments are; {_NOTHING}",
        source=_RAGAS,
        odd_cases=_ODD_REFERENCE,
    ),
    needs=("tool_calls", "reference_tool_calls"),
    version="2",
)
def tool_call_f1(calls: list[ToolCall] | None, expected: list[ToolCall] | None) -> Score | float:
    """F1 of the calls of tools and those of the case, 0 to 1, as `ToolCallF1` of RAGAS; repeats count once.

    Values are compared as Python does: 1 is 1.0 and true, and not "1".
    """
    missing = _missing(calls, expected)
    return missing or _f1(*({(one["name"] or "", _hashable(_arguments(one))) for one in some or ()}
                            for some in (calls, expected)))  # fmt: skip


@metric(
    Description(
        asks="Which of the tools of the case were called, and no others?",
        formula=f"F1 of the sets of names of tools; {_NOTHING}",
        source="dialwatch; `tool_call_f1` without arguments, which often hold dates",
        odd_cases=_ODD_REFERENCE,
    ),
    needs=("tool_calls", "reference_tool_calls"),
)
def tool_names_f1(calls: list[ToolCall] | None, expected: list[ToolCall] | None) -> Score | float:
    """F1 of the names of the tools that were called and those of the case, 0 to 1; arguments say nothing."""
    missing = _missing(calls, expected)
    return missing or _f1({one["name"] for one in calls or ()}, {one["name"] for one in expected or ()})


def _missing(calls: Sequence[ToolCall] | None, expected: Sequence[ToolCall] | None) -> Score | None:
    if expected is None:
        return Score(None, UnscoredReason.NO_GROUND_TRUTH)
    return Score(None, UnscoredReason.NO_TOOL_CALLS) if calls is None or not (calls or expected) else None


def _f1(called: Collection[object], wanted: Collection[object]) -> float:
    same = len(set(called) & set(wanted))
    return 2 * same / (len(called) + len(wanted))


def _exact(call: ToolCall) -> tuple[str, str]:
    return call["name"] or "", canonical(call.get("arguments"))


def _arguments(call: ToolCall) -> Arguments:
    """The arguments as an object; what is none, or nested too deep, is one argument."""
    try:
        value = decoded(call.get("arguments") or "{}")
    except ValueError:
        value = call["arguments"]
    return value if isinstance(value, dict) else {"": value}


def _by_name(call: tuple[str, Arguments]) -> tuple[str, ...]:
    """What calls are sorted by, as in RAGAS: which call of a name is compared with which follows from it."""
    name, arguments = call
    return name, *(text for key in sorted(arguments) for text in (key, str(arguments[key])))


def _hashable(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return frozenset((key, _hashable(inner)) for key, inner in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _share(given: Arguments, sought: Arguments) -> float:
    """Share of the arguments that were sought with the values that were given; without any none may be given."""
    if not sought:
        return 0.0 if given else 1.0
    return sum(name in given and str(given[name]) == str(value) for name, value in sought.items()) / len(sought)
