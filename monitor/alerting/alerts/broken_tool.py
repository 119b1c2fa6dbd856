"""What changed, in words: the application, the judge, or a tool alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from lake.spec.alert_vocabulary import AlertVerdict, LimitKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange

_APPLICATION = "the application, its documents or the questions"
_TOOL_PARTS = (FailedPart.TOOL, FailedPart.WRONG_TOOL)
_TOOL_METRIC = "tool_error_share"


def what_changed(verdict: AlertVerdict | None, fired: Collection[AlertChange] = ()) -> str:
    """Say a verdict in words, None that of limits, which are not judged.

    `fired` are the alerts that it is of, as they fired, by which a tool alone may be broken. Its name is of others: it
    may hold any character.
    """
    broken = broken_tool(fired)
    match verdict:
        case AlertVerdict.SYSTEM:
            return f"{broken or f'{_APPLICATION} changed'}, not the judge"
        case AlertVerdict.JUDGE:
            return "the judge changed, not the application"
        case AlertVerdict.BOTH:
            return f"the judge changed, and {broken or _APPLICATION}"
        case AlertVerdict.UNDECIDED:
            return "whether the judge or anything else changed is undecided"
        case None:
            return f"a limit was exceeded, as {broken}" if broken else "a limit was exceeded"


def broken_tool(fired: Collection[AlertChange]) -> str | None:
    """Say which tool broke, where by alerts that fired a tool is what is wrong; None where they do not say so."""
    failed: Counter[FailedPart] = Counter()
    for one in fired:
        failed.update(one.details.failed_parts)
    part = max(failed, key=lambda one: failed[one], default=None)
    if part is not None and part not in _TOOL_PARTS:
        return None
    named = next(_failing_tools(fired), None)
    if named is not None:
        return f"the tool {named} failed"
    if part is FailedPart.WRONG_TOOL:
        return "a needed tool was not called"
    is_of_tools = any(one.key.metric in (_TOOL_METRIC, LimitKind.TOOL_ERRORS) for one in fired)
    return "a tool failed" if is_of_tools or part is FailedPart.TOOL else None


def _failing_tools(fired: Collection[AlertChange]) -> Iterator[str]:
    for one in fired:
        exceeded = one.details.exceeded
        if one.key.metric == LimitKind.TOOL_ERRORS and exceeded is not None and exceeded.tool is not None:
            yield exceeded.tool.name
