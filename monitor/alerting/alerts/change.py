"""The change of an alert, and its row in the table `alerts`."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

import msgspec

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, OnsetKind, Tier
from lake.spec.case_vocabulary import FailedPart
from monitor.detect.causes import AffectedCounts, AroundOnset
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import NewClass, SegmentChange, StreamKey

logger = logging.getLogger(__name__)


class WorstAnswer(msgspec.Struct, frozen=True):
    """An answer to look at first: its id and its score."""

    response_id: str
    value: float


class AlertDetails(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `alerts.details` holds."""

    fired_at: datetime | None = None
    """When the alert began firing."""
    tier: Tier | None = None
    """How sure the alert is: `warn`, or `page` from the change on that says so."""
    log_page_threshold: float | None = None
    """Of a page: natural logarithm of the evidence that it took; None in older rows."""
    page_due: datetime | None = None
    """Until when, by the clock, what is a page by its evidence waits as a warning for the judge's anchors."""
    recorded_at: datetime | None = None
    """When this row was made, by the clock."""
    since_earliest: datetime | None = None
    since_latest: datetime | None = None
    """95 % interval of `since`."""
    onset: OnsetKind | None = None
    onset_hours: tuple[int, int] | None = None
    """How it began; of a recurring one, from and until which hour of the day (UTC, 1 to 24). None in older rows."""
    older_version: str | None = None
    """Of a new version: the deployment, an older one, whose reference it began with."""
    drop: float | None = None
    drop_lower: float | None = None
    drop_upper: float | None = None
    """How much worse than the reference, with its 90 % interval."""
    false_alarm_every_seconds: float | None = None
    can_drift: bool = True
    """Whether the metric has a judge, which might have changed."""
    judge_shift: float | None = None
    judge_shift_lower: float | None = None
    judge_shift_upper: float | None = None
    """By how much the judge scores its anchors higher since then, with its 95 % interval."""
    lower_is_better: bool | None = None
    observations: int | None = None
    """Conversations in the latest window."""
    since_observations: int | None = None
    reference_observations: int | None = None
    """Conversations behind the mean since then, and behind that of the reference."""
    within: float | None = None
    mix: float | None = None
    """Of the change of the mean: what comes from the segments' own means, and what from their shares."""
    segments: tuple[SegmentChange, ...] = ()
    """The segments of the traffic before and since; empty where there is only one."""
    most_worsened: SegmentChange | None = None
    """The one with the greatest part in the worsening."""
    marked_release: datetime | None = None
    """When a release was marked, if it is compared with what came before it."""
    while_learning: bool = False
    """Whether it began while the reference was learned: then it is compared with what came before."""
    back_since: datetime | None = None
    """Of an end: since when quality is most likely back."""
    outage_seconds: float | None = None
    """Of the end of a short outage, which was no change of quality: how long it was."""
    new_class: NewClass | None = None
    """The new class of traffic that alone is worse: then the alert is of it, and of no regression."""
    worst: tuple[WorstAnswer, ...] = ()
    failed_parts: dict[FailedPart, int] = {}
    """Answers since the onset that do not agree with their case of ground truth, by the part that failed."""
    around_onset: AroundOnset | None = None
    """What else changed around the onset, by the log; None where that was not looked for."""
    affected: AffectedCounts | None = None
    """Who asked from the onset to this change, of an end until quality was back; None where that was not counted."""
    exceeded: LimitDetails | None = msgspec.field(default=None, name="floor")
    """For a limit: the numbers behind it."""
    idle_since: datetime | None = None
    """For an end because no scores come: when the last score was made, or the alert recorded, whichever is later."""
    receiver: str | None = None
    """For a delivery: the receiver that was notified, could not be, or was not to be."""
    until: datetime | None = None
    """For silenced: when the silence ends."""
    installation: str | None = None
    """Name of the dialwatch that found the alert, when it began; None of alerts that earlier versions found."""


@dataclass(frozen=True, slots=True)
class AlertChange:
    """One row of `alerts`; its columns are described there. Times of firing and resolved are event times."""

    change_id: str
    alert_id: str
    key: StreamKey
    change: AlertEvent
    changed_at: datetime
    details: AlertDetails
    reason: str | None = None
    since: datetime | None = None
    reference_mean: float | None = None
    current_mean: float | None = None
    current_lower: float | None = None
    current_upper: float | None = None
    log_evidence: float | None = None
    log_threshold: float | None = None
    verdict: AlertVerdict | None = None
    """What has changed; None for a delivery."""
    delivery_of: str | None = None
    incident_id: str | None = None
    """Incident of its alert; None for a change that is not recorded yet."""

    @property
    def fired_at(self) -> datetime:
        """When the alert began firing."""
        return self.details.fired_at or self.changed_at

    @property
    def is_limit(self) -> bool:
        """Whether it is of a limit, not of a regression."""
        return self.key.metric_version == LIMIT_VERSION

    @property
    def is_judge_drift(self) -> bool:
        """Whether it says that a judge changed, whatever its metrics do."""
        return self.is_limit and self.key.metric == LimitKind.JUDGE_DRIFT

    @property
    def ended_without_recovery(self) -> bool:
        """Whether it ended for another reason than that quality is back; `reason` says which."""
        return self.change == AlertEvent.RESOLVED and not self.is_limit and self.current_mean is None

    @property
    def back_at(self) -> datetime | None:
        """Of an end: since when it was most likely good again; None of what fires, and where that is not known."""
        if self.change != AlertEvent.RESOLVED:
            return None
        exceeded, back_since = self.details.exceeded, self.details.back_since
        if self.is_limit and back_since is not None:
            return back_since
        lasted = exceeded.lasted_seconds if exceeded is not None else self.details.outage_seconds
        if lasted is not None and self.since is not None:
            return self.since + timedelta(seconds=lasted)
        return back_since

    @property
    def tier(self) -> Tier:
        """`page` once the evidence is what the whole fleet's promise needs."""
        return self.details.tier or Tier.WARN

    @property
    def pages(self) -> bool:
        """Whether it is a page."""
        return is_page(self.tier, self.verdict)


_decode_details = msgspec.json.Decoder(AlertDetails).decode
_SAME_COLUMNS = [column.name for column in fields(AlertChange) if column.name not in ("key", "details")]


def is_page(tier: Tier | None, verdict: AlertVerdict | None) -> bool:
    """Whether what fell should wake somebody: not where only the judge changed."""
    return tier == Tier.PAGE and verdict != AlertVerdict.JUDGE


def digest(*parts: str) -> str:
    """Return an id made of parts, 32 hexadecimal digits: the same for the same parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def to_row(change: AlertChange) -> dict[str, Any]:
    """Return the change as a row of `alerts`."""
    key = change.key
    return {name: getattr(change, name) for name in _SAME_COLUMNS} | {
        "deployment": key.deployment,
        "metric": key.metric,
        "metric_version": key.metric_version,
        "details": msgspec.json.encode(change.details).decode(),
    }


def from_row(row: dict[str, Any]) -> AlertChange:
    """Read a row of `alerts`; details that cannot be read count as absent, which is logged."""
    key = StreamKey(row["deployment"], row["metric"], row["metric_version"])
    try:
        details = _decode_details(row["details"] or "{}")
    except msgspec.MsgspecError as error:
        logger.warning("Details of the alert change %s cannot be read and count as absent: %s", row["change_id"], error)
        details = AlertDetails()
    return AlertChange(key=key, details=details, **{name: row[name] for name in _SAME_COLUMNS})
