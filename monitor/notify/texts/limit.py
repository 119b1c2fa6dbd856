"""Text of a limit's alert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier
from lake.spec.metric_names import metric_look, quoted_name
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.limits import MOST_OF_TOOL, FailedCallee, FailedTool, LimitDetails, MeanBeyondLimit
from monitor.notify.texts.http_status import status_words
from monitor.notify.texts.plain import first_small, time
from runtime.durations import duration

_CALLERS = 10
"""Names of callers in a message."""
_MANY_IN_A_ROW = 5
"""From so many on they are told."""


@dataclass(frozen=True)
class _Words:
    of: str
    """What the share is of, such as requests."""
    happened: str
    was: str
    """What happened to them in a time that is over."""
    is_failure: bool = True
    """Whether the deployment fails while this lasts, so that it is back after it."""
    note: str = ""
    """What to know of the numbers."""


WHAT_TO_DO = "What to do: "
"""How the line of what to do begins."""
_KEYS = "The API key of those that are refused: whether it has expired, was replaced, or lost its rights in DIAL."
_REFUSED: Mapping[str, str] = {
    "429": "The rate limit: a deployment that refuses because of it is not broken; see who sends more than usual, and "
    "the limits in DIAL and at the provider of the model.",
    "401": _KEYS,
    "403": _KEYS,
}
"""What to look at where requests were refused, by the status that most of them got."""
_COUNTED = f"(at most {MOST_OF_TOOL} calls of a tool in one turn count)"
_SHARES: Mapping[str, _Words] = {
    LimitKind.ERRORS: _Words(
        "requests",
        "failed",
        "failed",
    ),
    LimitKind.EMPTY_ANSWERS: _Words(
        "answers",
        "are empty",
        "were empty",
    ),
    LimitKind.TOOL_ERRORS: _Words(
        "calls of tools",
        f"failed {_COUNTED}",
        "failed",
        note=f" {_COUNTED}",
    ),
    LimitKind.CHILD_ERRORS: _Words(
        "calls to other deployments",
        "failed",
        "failed",
    ),
    LimitKind.REFUSALS: _Words(
        "answers",
        "refuse or say that the information is missing",
        "refused or said that the information was missing",
        is_failure=False,
    ),
    LimitKind.UNSCORED: _Words(
        "evaluations",
        "got no score of the judge",
        "got no score of the judge",
        is_failure=False,
    ),
}


def limit_summary(change: AlertChange) -> str:
    """Say in one line what happened."""
    name, kind, details = change.key.deployment, change.key.metric, change.details.exceeded
    if kind == LimitKind.REPLAY and details is not None:
        return _replay(change, details)
    if kind == LimitKind.JUDGE_DRIFT:
        return _judges(change, details)
    if kind == LimitKind.AT_LEAST:
        return _means(change, details)
    words = _SHARES.get(kind)
    if words is None:
        return _silence(change, details) if change.change == AlertEvent.FIRING else f"{name}: {change.reason}"
    if details is None:
        return f"{quoted_name(kind)} of {name}: alert is over, {change.reason}"
    if change.change == AlertEvent.FIRING and details.tool is not None:
        return f"{_failed_tool(name, details, details.tool)}; {_limit(details)}{_callers(details)}"
    if change.change == AlertEvent.FIRING and details.callee is not None:
        failed = _failed_calls(name, details, details.callee)
        return f"{failed}{_lasting(details)}; {_limit(details)}{_callers(details)}"
    in_a_row = details.in_a_row or 0
    is_total = in_a_row >= (details.requests or 0) or details.usual is not None
    if change.change == AlertEvent.FIRING and in_a_row >= _MANY_IN_A_ROW and is_total:
        return (
            f"the last {in_a_row} {words.of} of {name} in a row {words.happened}{_mostly(details)}{_lasting(details)}; "
            f"{_limit(details)}{_callers(details)}"
        )
    of = _of(words, details)
    share = (
        f"{_percent(details.share)} of {details.requests} {of} of {name} in the last "
        f"{duration(timedelta(seconds=details.window_seconds or 0))} {words.happened}"
    )
    if change.change == AlertEvent.RESOLVED:
        meanwhile = _meanwhile(words, of, details)
        what = f"{name} is back" if words.is_failure else f"{quoted_name(kind)} of {name}: alert is over"
        return f"{what}: {meanwhile}" if meanwhile else f"{quoted_name(kind)} of {name}: alert is over, only {share}"
    latest = f", the last {in_a_row} of them in a row" if in_a_row >= _MANY_IN_A_ROW else ""
    return f"{share}{latest}{_mostly(details)}{_lasting(details)}; {_limit(details)}{_callers(details)}"


def _of(words: _Words, details: LimitDetails) -> str:
    """Say what the numbers are of."""
    if details.of_tool_alone and details.tool:
        return f"calls of the tool {details.tool.name}"
    return f"calls to {details.callee.name}" if details.of_tool_alone and details.callee else words.of


def _meanwhile(words: _Words, of: str, details: LimitDetails) -> str:
    """Say how bad it was in all while it lasted, and how long that was; empty where that is not known."""
    if not details.lasted_seconds:
        return ""
    lasted = duration(timedelta(seconds=details.lasted_seconds))
    bad, total, tool, callee = details.bad_meanwhile, details.requests_meanwhile, details.tool, details.callee
    if not bad or not total:
        return f"{of} {words.was} for {lasted}"
    line = f"{of} {words.was} for {lasted}, {_percent(bad / total)} of {total:,}{_mostly(details)}"
    one = tool or callee
    if one is not None and one.failed:
        if tool is not None:
            line = f"the tool {tool.name} failed for {lasted}, in {tool.failed:,} of {tool.calls:,} calls"
        else:
            line = f"calls to {one.name} failed for {lasted}, {one.failed:,} of {one.calls:,}{_mostly(details)}"
        if one.calls != total and not details.of_tool_alone:
            line = f"{line}; of all {total:,} {of} {_percent(bad / total)} {words.was}"
    return f"{line}{words.note}"


def bad_time(since: datetime, until: datetime) -> str:
    """Say from when to when something was bad, and how long that is."""
    return f"from {time(since)} to about {time(until)}, {duration(max(until - since, timedelta(0)))}"


def over_line(change: AlertChange) -> str:
    """Say that an alert is over, with the times that are its own: quality was bad before it, and back sooner."""
    what = f"{quoted_name(change.key.metric)} of deployment {change.key.deployment}"
    return f"Over: the alert on {what}, found at {time(change.fired_at)}, closed at {time(change.changed_at)}."


def _failed_tool(name: str, details: LimitDetails, tool: FailedTool) -> str:
    """Say which tool failed most often, and what share of all calls failed where it is not the only tool."""
    window = duration(timedelta(seconds=details.window_seconds or 0))
    line = f"the tool {tool.name} failed in {tool.failed} of {tool.calls} calls by {name} in the last {window}"
    if tool.calls == details.requests:
        return f"{line} {_COUNTED}"
    return f"{line}; of all {details.requests} calls of tools {_percent(details.share)} failed {_COUNTED}"


def _failed_calls(name: str, details: LimitDetails, callee: FailedCallee) -> str:
    """Say to which deployment most calls failed, and what share of all, where not all are to it."""
    window = duration(timedelta(seconds=details.window_seconds or 0))
    line = f"calls of {name} to {callee.name} failed: {callee.failed} of {callee.calls} in the last {window}"
    line = f"{line}{_mostly(details)}"
    if callee.calls == details.requests:
        return line
    return f"{line}; of all {details.requests} calls to other deployments {_percent(details.share)} failed"


def _callers(details: LimitDetails) -> str:
    """Say how many of those that call it fail too, and of how many only the calls do."""
    failing = len(details.failing_callers) + details.unnamed_failing_callers
    calls_of = len(details.failed_calls_of) + details.unnamed_failed_calls_of
    line = ""
    if failing:
        line = f"; {failing} of {details.callers} deployments that call it fail{'s' if failing == 1 else ''} too"
    if failing and calls_of:
        return f"{line}, and calls of {calls_of} more fail"
    return f"; calls of {calls_of} of {details.callers} deployments that call it fail" if calls_of else line


def _lasting(details: LimitDetails) -> str:
    """Say how long it is bad by now; nothing of what has just begun."""
    lasted = details.lasted_seconds
    return f", for {duration(timedelta(seconds=lasted))} by now" if lasted else ""


def _mostly(details: LimitDetails) -> str:
    return f", mostly {status_words(details.mostly)}" if details.mostly else ""


def _limit(details: LimitDetails) -> str:
    if details.usual is not None:
        return f"usual are {_percent(details.usual)} or less"
    return f"limit {_percent(details.limit)}"


def limit_lines(change: AlertChange) -> list[str]:
    """Say in a few lines what a person who was just woken needs."""
    kind, details, to_do = change.key.metric, change.details.exceeded, _to_do(change)
    if change.change == AlertEvent.RESOLVED:
        return [
            over_line(change),
            f"Why: {change.reason}.",
            *_in_all(change, details),
        ]
    lines = [
        f"What: {limit_summary(change)}.",
        f"Since: {time(change.since)}; found with what came until {time(change.changed_at)}.",
    ]
    if kind == LimitKind.REPLAY:
        return [
            *lines,
            "How sure: the answers were compared case by case with those of an earlier run; of all runs together, 1 in "
            "20 or fewer deployments that did not change have such an alert.",
            to_do,
        ]
    if kind == LimitKind.JUDGE_DRIFT:
        return [
            *lines,
            "How sure: a judge that does not change raises this at most once in 365 days on average.",
            to_do,
        ]
    if kind == LimitKind.AT_LEAST:
        return [
            *lines,
            "How sure: a mean that is no worse than the limit raises this at most once in `page_every`, 365 days by "
            "default, on average. It is over when there is as much evidence that the mean is good enough.",
            to_do,
        ]
    words = _SHARES.get(kind)
    if words is None or details is None:
        return [*lines, to_do]
    if details.failing_callers:
        shown = _names(details.failing_callers, details.unnamed_failing_callers)
        lines.append(f"These fail too, with no message of their own while this lasts: {shown}.")
    if details.failed_calls_of:
        shown = _names(details.failed_calls_of, details.unnamed_failed_calls_of)
        lines.append(f"Calls of these fail, with no message of their own while this lasts: {shown}.")
    if details.page_after_seconds and change.tier == Tier.WARN:
        length = duration(timedelta(seconds=details.page_after_seconds))
        lines.append(
            f"This is a warning: an outage of less than {length} is not urgent. It becomes urgent if it lasts."
        )
    return [*lines, _how_sure(details), to_do]


def _names(callers: Sequence[str], unnamed: int) -> str:
    shown = callers[:_CALLERS]
    more = len(callers) - len(shown) + unnamed
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def _to_do(change: AlertChange) -> str:
    return f"{WHAT_TO_DO}look at {first_small(limit_look(change))} {limit_what_to_do(change)}".rstrip()


def limit_look(change: AlertChange) -> str:
    """Return what to look at first of a limit, in a sentence.

    That is what the guide to metrics says of it; where most requests were refused, what of that their status says.
    """
    look, details = metric_look(change.key.metric), change.details.exceeded
    if change.key.metric == LimitKind.AT_LEAST:
        return (
            f"{look} A person set this limit, with monitor.limits.at_least: it does not depend on how good the answers "
            "were before."
        )
    is_share = change.key.metric in _SHARES and details is not None and details.tool is None
    return _REFUSED.get(details.mostly or "", look) if is_share and details else look


def limit_what_to_do(change: AlertChange) -> str:
    """Return what else to do about a limit, in sentences; empty where one can only look."""
    kind, details = change.key.metric, change.details.exceeded
    if kind == LimitKind.REPLAY:
        return (
            f"dialwatch ground-truth replay --deployment {change.key.deployment} asks them again and shows the worst "
            "with both answers. If the answers changed on purpose, add --accept."
        )
    if kind == LimitKind.JUDGE_DRIFT:
        return (
            "Its model, or who serves it, was changed. Its scores of before and after cannot be compared. Name the "
            "model's exact version, or give the judge another model or prompt: that is a new version of the metric, "
            "which learns what is usual anew. This warning never becomes urgent."
        )
    if kind == LimitKind.NO_DATA and details is not None and details.all_silent:
        return "No other deployment has had a later request either: check the collector and the log first."
    return "Other deployments get requests: check the application first." if kind == LimitKind.NO_DATA else ""


def _in_all(change: AlertChange, details: LimitDetails | None) -> list[str]:
    """Say from when to when it was bad, and how many were; nothing where that is not known."""
    words, until = _SHARES.get(change.key.metric), change.back_at
    if words is None or details is None or change.since is None or until is None:
        return []
    of = _of(words, details)
    of_all = f" of {details.requests_meanwhile:,}" if details.requests_meanwhile else ""
    number = f": {details.bad_meanwhile:,}{of_all} {of} {words.was}" if details.bad_meanwhile else ""
    return [f"In all, {bad_time(change.since, until)}{number}."]


def _how_sure(details: LimitDetails) -> str:
    if details.usual is not None:
        return (
            "How sure: chance alone gives this at most once in a year of such traffic, if bad ones are independent of "
            "each other. It is over after eight minutes with traffic and without a bad one."
        )
    return (
        f"How sure: this is counted, not estimated. The alert ends when the share falls to {_percent(details.ends_at)}."
    )


def _replay(change: AlertChange, details: LimitDetails) -> str:
    name = change.key.deployment
    if change.change == AlertEvent.RESOLVED:
        return f"{quoted_name(LimitKind.REPLAY)} of {name}: alert is over, {change.reason}"
    mostly = f", mostly by {details.mostly}" if details.mostly else ""
    return (
        f"accepted cases that were asked again of {name} are answered worse than before; {details.bad} of "
        f"{details.requests} answers do not agree with their case{mostly}"
    )


def _judges(change: AlertChange, details: LimitDetails | None) -> str:
    name = change.key.deployment
    if change.change == AlertEvent.RESOLVED or details is None:
        return f"judge of {name}: alert is over, {change.reason}"
    moved = "; ".join(
        f"that of {quoted_name(one.metric)} now differs by {one.shift:+.2f} on the same {one.answers} "
        f"answers (95 % interval {one.lower:+.2f} to {one.upper:+.2f})"
        for one in details.judges
    )
    return f"the judge of {name} changed: {moved or 'it gives the same answers other scores than at first'}"


def _means(change: AlertChange, details: LimitDetails | None) -> str:
    name = change.key.deployment
    if change.change == AlertEvent.RESOLVED or details is None:
        return f"{name}: alert is over, {change.reason}"
    found = "; ".join(
        f"the mean of {quoted_name(one.metric)} is {one.mean:.2f} (95 % interval {one.lower:.2f} to {one.upper:.2f}, "
        f"{one.conversations:,} conversation{'' if one.conversations == 1 else 's'}), {mean_limit(one)} {one.limit:g}"
        for one in details.means
    )
    return f"{name}: {found or 'a mean is worse than the limit that was set'}"


def mean_limit(found: MeanBeyondLimit) -> str:
    """Say on which side of its limit a mean is good: "limit at least"."""
    is_highest = found.mean > found.limit if found.lower_is_better is None else found.lower_is_better
    return "limit at most" if is_highest else "limit at least"


def _silence(change: AlertChange, details: LimitDetails | None) -> str:
    usual = timedelta(seconds=(details.usual_seconds or 0) if details else 0)
    return (
        f"{change.key.deployment} has had no request since {time(change.since)}; at this time of day its longest pause "
        f"in four weeks was {duration(usual)}"
    )


def _percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share * 100:.0f} %"
