"""Values of columns of alerts, incidents, and what people say about them: silences, releases, saved searches."""

from __future__ import annotations

from enum import StrEnum


class AlertEvent(StrEnum):
    """`alerts.change`: an alert begins or ends, or what became of that on its way to a receiver.

    `grouped`: it is no message of its own, as the receiver knows of its incident. `summarized`: it was delivered
    before, and its incident was in the day's summary.
    """

    FIRING = "firing"
    RESOLVED = "resolved"
    DELIVERED = "delivered"
    UNDELIVERABLE = "undeliverable"
    SILENCED = "silenced"
    GROUPED = "grouped"
    SUMMARIZED = "summarized"


ALERT_STATES = (AlertEvent.FIRING, AlertEvent.RESOLVED)
"""Events that begin or end an alert."""

DELIVERY_EVENTS = tuple(event for event in AlertEvent if event not in ALERT_STATES)
"""Events that say what became of another event on its way to a receiver."""


class DigestEvent(StrEnum):
    """`_digests.change`: a monitor says that it sends the digest, and what came of that."""

    CLAIMED = "claimed"
    SENT = "sent"
    FAILED = "failed"


class IncidentEvent(StrEnum):
    """`incidents.change`: what became of an incident, or that a person took note of it or took that back."""

    OPENED = "opened"
    JOINED = "joined"
    RAISED = "raised"
    VERDICT_CHANGED = "verdict_changed"
    LIMIT_ADDED = "limit_added"
    ACKNOWLEDGED = "acknowledged"
    ACKNOWLEDGEMENT_WITHDRAWN = "acknowledgement_withdrawn"
    ENDED = "ended"


class Tier(StrEnum):
    """`tier` in `alerts.details`: `warn` bounds the false alarms of each stream, `page` those of all together."""

    WARN = "warn"
    PAGE = "page"


class OnsetKind(StrEnum):
    """`onset` in `alerts.details`: how a regression began.

    At once, gradually, in the same hours of each day, or with the first answer of a new version.
    """

    SUDDEN = "sudden"
    GRADUAL = "gradual"
    RECURRING = "recurring"
    RELEASE = "release"


class AlertVerdict(StrEnum):
    """`alerts.verdict`: what has changed, the application (`system`) or what judges it."""

    SYSTEM = "system"
    JUDGE = "judge"
    BOTH = "both"
    UNDECIDED = "undecided"


class LimitKind(StrEnum):
    """`alerts.metric` of an alert of a limit: the fixed limit that was exceeded."""

    ERRORS = "errors"
    EMPTY_ANSWERS = "empty_answers"
    TOOL_ERRORS = "tool_errors"
    CHILD_ERRORS = "child_errors"
    REFUSALS = "refusals"
    UNSCORED = "unscored"
    NO_DATA = "no_data"
    REPLAY = "replay"
    JUDGE_DRIFT = "judge_drift"
    AT_LEAST = "at_least"


LIMIT_VERSION = "floor"
"""`alerts.metric_version` of an alert of a limit."""


class SilenceEvent(StrEnum):
    """`_silences.change`."""

    ADDED = "added"
    ENDED = "ended"


class SavedSearchEvent(StrEnum):
    """`_saved_searches.change`."""

    SAVED = "saved"
    REMOVED = "removed"


class ReleaseEvent(StrEnum):
    """`_releases.change`."""

    ADDED = "added"
    WITHDRAWN = "withdrawn"
