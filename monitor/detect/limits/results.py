"""Types of what limits find: the change of an alert, the numbers behind it, and the present reading."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import msgspec

from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier


class ChangedJudge(msgspec.Struct, frozen=True):
    """By how much the judge of a metric scores the same `answers` higher than at first, with its 95 % interval."""

    metric: str
    shift: float
    lower: float
    upper: float
    answers: int


class FailedTool(msgspec.Struct, frozen=True):
    """The tool that failed most often, in so many of its calls: of an alert that fires within the window.

    Of one that is over `failed` and `calls` are of the whole time in which it was bad, where that is known
    (`lasted_seconds`).
    """

    name: str
    failed: int
    calls: int


class FailedCallee(msgspec.Struct, frozen=True):
    """The deployment to which most calls of another one failed, and so many of how many; times as of `FailedTool`."""

    name: str
    failed: int
    calls: int


class MeanBeyondLimit(msgspec.Struct, frozen=True):
    """The mean of a metric, with its 95 % interval, that is worse than its limit, of the latest `conversations`."""

    metric: str
    mean: float
    lower: float
    upper: float
    limit: float
    conversations: int
    lower_is_better: bool | None = None
    """None in rows of earlier versions."""


class LimitDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """The numbers behind a change: of a share the first ones, of silence and of judges only theirs.

    Of an end `share`, `requests`, `bad`, `in_a_row` and `window_seconds` are of the last window, after which the alert
    is over; `mostly`, `tool`, `callee`, `bad_meanwhile` and `requests_meanwhile` are of the whole time in which it was
    bad.
    """

    share: float | None = None
    limit: float | None = None
    ends_at: float | None = None
    """Share at which the alert is over."""
    requests: int | None = None
    """All that the share is of: requests, answers or evaluations."""
    bad: int | None = None
    in_a_row: int | None = None
    """How many at the end of the window were all bad."""
    usual: float | None = None
    """Usual share, where fewer than the minimum are enough as they are so many more than that."""
    window_seconds: float | None = None
    """Length of the stretch of event time."""
    mostly: str | None = None
    """The most frequent reason: a status, or a word."""
    page_after_seconds: float | None = None
    """Of a warning that becomes a page if it lasts: after how long."""
    lasted_seconds: float | None = None
    """Of an end, or a page that was a warning: from the first bad one that the alert was found with to the last one."""
    bad_meanwhile: int | None = None
    """Of the same change: how many bad ones there were in that time; None where it is longer than is kept."""
    requests_meanwhile: int | None = None
    """Of the same change: all that there were in that time, good ones too; None where `bad_meanwhile` is."""
    limit_seconds: float | None = None
    """Silence that fires."""
    usual_seconds: float | None = None
    """Longest pause that is usual."""
    all_silent: bool = False
    """Whether no other deployment was heard later."""
    callers: int = 0
    """Where a message is made: deployments that called this one lately."""
    failing_callers: tuple[str, ...] = ()
    """Those of them that fail too, of which no message is sent."""
    unnamed_failing_callers: int = 0
    """How many more fail too, that the receiver of the message is not for."""
    failed_calls_of: tuple[str, ...] = ()
    """Deployments that answer, and whose calls of this one fail, of which no message is sent."""
    unnamed_failed_calls_of: int = 0
    """How many more there are, that the receiver of the message is not for."""
    judges: tuple[ChangedJudge, ...] = ()
    """The judges that changed, by metric."""
    tool: FailedTool | None = None
    """Of calls of tools that fail: the one that failed most often, of an end in the whole bad time."""
    callee: FailedCallee | None = None
    """Of calls to other deployments that fail: the one to which most failed, as `tool`."""
    of_tool_alone: bool = False
    """Whether the numbers are those of `tool`, or of `callee`, not of the calls of all."""
    means: tuple[MeanBeyondLimit, ...] = ()
    """The means that are worse than the limit that a person has set, by metric."""


@dataclass(frozen=True)
class LimitChange:
    """An alert of a limit begins, is raised to a page, or is over; `at` and `since` are event times."""

    deployment: str
    kind: LimitKind
    change: AlertEvent
    at: datetime
    reason: str
    since: datetime | None = None
    details: LimitDetails | None = None
    tier: Tier = Tier.PAGE
    back_at: datetime | None = None
    """Of an end: since when it is most likely good again; None where one cannot tell, as of a limit that is off."""


class LastChange(NamedTuple):
    """The last recorded change of a limit: whether an alert is open since, and when that was, in event time."""

    is_open: bool
    at: datetime
    tier: Tier = Tier.WARN
    """Of an open alert, as it is recorded."""
    fired_at: datetime | None = None
    """When an open alert fired, where it was raised since."""
    tool: str | None = None
    """The tool, or the deployment that is called, that an open alert is about alone."""


@dataclass(frozen=True)
class LimitReading:
    """How a limit stands: the share now and its limit; None for silence, the share where there are too few."""

    active: bool
    share: float | None = None
    limit: float | None = None
    unjudged: str | None = None
    """Why it cannot fire yet, in words; None where it can, and where it does."""
    stopped: str | None = None
    """The error for which it is not judged; then `active` is whether an alert is open."""
    silent_since: datetime | None = None
    """Of silence: when the last request came, to five minutes, if that is longer ago than pauses usually are."""
