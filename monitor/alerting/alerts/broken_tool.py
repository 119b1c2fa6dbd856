"""Words for what changed by the alerts of an incident: the application, the judge, or tools alone, which are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, LimitKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange

LEAST_FAILED = 5
"""So many answers must fail their cases before the parts that failed say anything."""
APPLICATION = "the application, its documents or the questions"
"""What changed, where that is neither the judge nor a tool alone."""
_TOOL_PARTS = (FailedPart.TOOL, FailedPart.WRONG_TOOL)
_OF_TOOLS = ("tool_error_share", LimitKind.TOOL_ERRORS)
"""The metric and the limit of calls of tools that fail."""
_MORE_THAN_TOOLS = (LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS, LimitKind.NO_DATA)
"""Limits that a tool alone does not explain."""
_NEARLY_ALL = 0.9
"""Share of the failed calls from which on they are of one tool."""


def what_changed(
    verdict: AlertVerdict | None, fired: Collection[AlertChange] = (), newest: Collection[AlertChange] = ()
) -> str:
    """Say a verdict in words, None that of limits, which are not judged.

    `fired` and `newest` are those of `broken_tool`; where none of `fired` has a judge, none is named. A tool's name is
    of others: it may hold any character.
    """
    broken = broken_tool(fired, newest)
    match verdict:
        case AlertVerdict.SYSTEM:
            has_judge = not fired or any(one.details.can_drift for one in fired if not one.is_limit)
            return f"{broken or f'{APPLICATION} changed'}{', not the judge' if has_judge else ''}"
        case AlertVerdict.JUDGE:
            return "the judge changed, not the application"
        case AlertVerdict.BOTH:
            return f"the judge changed, and {broken or APPLICATION}"
        case AlertVerdict.UNDECIDED:
            return "whether the judge or anything else changed is undecided"
        case None:
            return f"a limit was exceeded, as {broken}" if broken else "a limit was exceeded"


def broken_tool(fired: Collection[AlertChange], newest: Collection[AlertChange] = ()) -> str | None:
    """Say which tool broke, where by the alerts of an incident tools alone are broken; None where they do not say so.

    `fired` are the alerts as they fired, and `newest` their newest changes, which say what is over. An alert of tools
    counts where it fired no later than any other, and was not over before any other began.
    """
    if any(one.key.metric in _MORE_THAN_TOOLS for one in fired):
        return None
    failed: Counter[FailedPart] = Counter()
    for one in fired:
        if sum(one.details.failed_parts.values()) >= LEAST_FAILED:
            failed.update(one.details.failed_parts)
    part, count = failed.most_common(1)[0] if failed else (None, 0)
    if part is not None and (part not in _TOOL_PARTS or 2 * count <= failed.total()):
        return None
    ended = {one.alert_id: one.back_at or one.changed_at for one in newest if one.change == AlertEvent.RESOLVED}
    others = [one for one in fired if one.key.metric not in _OF_TOOLS]

    def explains(tools: AlertChange, other: AlertChange) -> bool:
        end = ended.get(tools.alert_id)
        return tools.fired_at <= other.fired_at and (end is None or (other.since or other.fired_at) <= end)

    of_tools = [one for one in fired if one.key.metric in _OF_TOOLS and all(explains(one, other) for other in others)]
    names = {name for one in of_tools if (name := _tool_alone(one)) is not None}
    if len(names) == 1:
        return f"the tool {names.pop()} failed"
    if part is FailedPart.WRONG_TOOL:
        return "a needed tool was not called"
    if names or any(_is_of_several(one) for one in of_tools):
        return "several tools failed"
    return "a tool failed" if of_tools or part is FailedPart.TOOL else None


def _tool_alone(change: AlertChange) -> str | None:
    """Return the tool that nearly all failed calls of an alert are of."""
    exceeded = change.details.exceeded
    if exceeded is None or exceeded.tool is None or _is_of_several(change):
        return None
    return exceeded.tool.name


def _is_of_several(change: AlertChange) -> bool:
    """Whether the failed calls of an alert are of several tools."""
    exceeded = change.details.exceeded
    if exceeded is None or exceeded.tool is None or exceeded.of_tool_alone:
        return False
    return exceeded.tool.failed < _NEARLY_ALL * (exceeded.bad or 0)
