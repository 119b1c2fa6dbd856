"""The standard format of a webhook's body: Alertmanager's shape, version 4, with our own `data` beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, OnsetKind
from lake.spec.case_vocabulary import FailedPart
from monitor.alerting.alerts.change import AlertChange, WorstAnswer
from monitor.detect.causes import AffectedCounts
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import SegmentChange
from monitor.notify.digest.table import DigestTable
from monitor.notify.texts.alert import WORST, description, summary, worst_links
from monitor.notify.texts.incident import IncidentNote, tier_of
from monitor.notify.texts.link import link_to
from monitor.notify.texts.plain import one_line
from runtime.labelled_registry import INSTALLATION

ALERT_NAME, LIMIT_ALERT_NAME, SUMMARY_NAME = "DialwatchRegression", "DialwatchFloor", "DialwatchSummary"
_NEVER = datetime(1, 1, 1, tzinfo=UTC)


class Alert(msgspec.Struct, frozen=True, rename="camel"):
    """One alert as Alertmanager writes it; `ends_at` is the year 1 while it is firing."""

    status: str
    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: datetime
    ends_at: datetime
    generator_url: str = msgspec.field(name="generatorURL")
    fingerprint: str


class MeanScore(msgspec.Struct, frozen=True):
    """A mean score; the 95 % interval is null for the reference."""

    mean: float | None
    lower: float | None = None
    upper: float | None = None


class WebhookData(msgspec.Struct, frozen=True):
    """What Alertmanager's shape has no place for in an alert. Ids and numbers only, never the text of a user."""

    change_id: str
    alert_id: str
    deployment: str
    metric: str
    metric_version: str
    before: MeanScore
    after: MeanScore
    since: datetime | None
    since_earliest: datetime | None
    since_latest: datetime | None
    """95 % interval of `since`."""
    onset: OnsetKind | None
    onset_hours: tuple[int, int] | None
    """How it began; of a recurring one, from and until which hour of the day (UTC)."""
    older_version: str | None
    """Of a new version: the deployment, an older one, whose reference it began with."""
    marked_release: datetime | None
    """When a release was marked, if `before` is what came before it."""
    while_learning: bool
    """Whether it began while the reference was learned; `before` is then what came before it."""
    changed_at: datetime
    log_evidence: float | None
    log_threshold: float | None
    within: float | None
    """Of the change of the mean, what comes from the segments' own means; `mix` is what comes from their shares."""
    mix: float | None
    segments: tuple[SegmentChange, ...]
    verdict: str | None
    """What has changed; null for a limit, which is counted and not judged."""
    judge_shift: MeanScore | None
    worst: tuple[WorstAnswer, ...]
    link: str | None
    """Where the deployment's page is."""
    exceeded: LimitDetails | None = msgspec.field(name="floor")
    """Of an alert of a limit: its numbers."""
    failed_parts: dict[FailedPart, int]
    """Answers since the onset that do not agree with their case of ground truth, by the part that failed."""
    affected: AffectedCounts | None
    """Who asked from the onset to this change, of an end until quality was back, counted; null where not known."""
    worst_links: tuple[str, ...]
    """Where the pages of the `worst` answers are, in their order; empty where nobody said where our pages are."""


class WebhookBody(msgspec.Struct, frozen=True, rename="camel"):
    """Changes of alerts of one deployment (https://prometheus.io/docs/alerting/latest/configuration/#webhook_config)."""

    group_key: str
    status: str
    receiver: str
    group_labels: dict[str, str]
    common_labels: dict[str, str]
    common_annotations: dict[str, str]
    external_url: str = msgspec.field(name="externalURL")
    alerts: list[Alert]
    data: list[WebhookData]
    version: str = "4"
    truncated_alerts: int = 0
    incident: IncidentNote | None = None
    """The incident that the changes belong to; null in a test message and in a summary."""
    summary: tuple[IncidentNote, ...] | None = None
    """Of a summary: the incidents that go on, in the order of `alerts`; else null."""
    digest: DigestTable | msgspec.UnsetType = msgspec.UNSET
    """Of a summary that is a digest: what the receiver's deployments had; else absent."""


def webhook_body(
    changes: Sequence[AlertChange], receiver: str, external_url: str, incident: IncidentNote | None = None
) -> bytes:
    """Return the JSON of changes of one deployment, all `firing` or all `resolved`, for `receiver`.

    `alerts` and `data` are in the order of `changes`; labels and annotations that all alerts share are common.
    `incident` is what there is to say of the incident that they belong to.
    `external_url` is where our pages are. The same changes always give the same bytes.
    """
    group = {"alertname": _name(changes[0]), "deployment": one_line(changes[0].key.deployment)}
    group |= _installation_of(changes[0])
    alerts = [alert_of(change, external_url) for change in changes]
    body = WebhookBody(
        group_key=_group_key(group),
        status=changes[0].change,
        receiver=receiver,
        group_labels=group,
        common_labels=_common([alert.labels for alert in alerts]),
        common_annotations=_common([alert.annotations for alert in alerts]),
        external_url=external_url,
        alerts=alerts,
        data=[_data(change, external_url) for change in changes],
        incident=incident,
    )
    return msgspec.json.encode(body)


def summary_body(
    incidents: Sequence[tuple[AlertChange, IncidentNote]],
    receiver: str,
    external_url: str,
    digest: DigestTable | None = None,
) -> bytes:
    """Return the JSON of a summary: of each incident that goes on an alert that fires, as it was sent before.

    One of a digest has its table, and perhaps no incident; its status is `resolved` then.
    """
    alerts = [alert_of(change, external_url) for change, _ in incidents]
    group = {"alertname": SUMMARY_NAME} | _installation_of_summary(incidents, digest)
    body = WebhookBody(
        group_key=_group_key(group),
        status=AlertEvent.FIRING if incidents else AlertEvent.RESOLVED,
        receiver=receiver,
        group_labels=group,
        common_labels=_common([alert.labels for alert in alerts]),
        common_annotations=_common([alert.annotations for alert in alerts]),
        external_url=external_url,
        alerts=alerts,
        data=[_data(change, external_url) for change, _ in incidents],
        summary=tuple(note for _, note in incidents),
        digest=msgspec.UNSET if digest is None else digest,
    )
    return msgspec.json.encode(body)


def alert_of(change: AlertChange, external_url: str) -> Alert:
    """Return the alert as it is after a `firing` or `resolved` change."""
    return Alert(
        status=change.change,
        labels=labels_of(change),
        annotations={"summary": summary(change), "description": description(change, external_url)},
        starts_at=change.fired_at,
        ends_at=change.changed_at if change.change == AlertEvent.RESOLVED else _NEVER,
        generator_url=link_to(change.key.deployment, external_url),
        fingerprint=change.alert_id[:16],
    )


def labels_of(change: AlertChange) -> dict[str, str]:
    """Return the labels of an alert; `severity` is `warning`, and `page` from the change on that says so.

    One that only says that the judge has changed is a warning, however sure it is. Names are in one line: receivers
    write them into their own texts.
    """
    key = change.key
    return {
        "alertname": _name(change),
        "deployment": one_line(key.deployment),
        "metric": one_line(key.metric),
        "metric_version": one_line(key.metric_version),
        "severity": tier_of(change),
    } | _installation_of(change)


def _installation_of(change: AlertChange) -> dict[str, str]:
    """Return the label of the installation; none of an alert that an earlier version found."""
    installation = change.details.installation
    return {} if installation is None else {INSTALLATION: one_line(installation)}


def _installation_of_summary(
    incidents: Sequence[tuple[AlertChange, IncidentNote]], digest: DigestTable | None
) -> dict[str, str]:
    if incidents:
        return _installation_of(incidents[0][0])
    return {INSTALLATION: one_line(digest.installation)} if digest and digest.installation else {}


def _group_key(group: Mapping[str, str]) -> str:
    return "{}:{" + ", ".join(f"{name}={_quoted(value)}" for name, value in group.items()) + "}"


def _common(every: Sequence[dict[str, str]]) -> dict[str, str]:
    first = every[0] if every else {}
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in every)}


def _name(change: AlertChange) -> str:
    return LIMIT_ALERT_NAME if change.is_limit else ALERT_NAME


def _data(change: AlertChange, external_url: str) -> WebhookData:
    details = change.details
    shift = details.judge_shift
    return WebhookData(
        change_id=change.change_id,
        alert_id=change.alert_id,
        deployment=change.key.deployment,
        metric=change.key.metric,
        metric_version=change.key.metric_version,
        before=MeanScore(change.reference_mean),
        after=MeanScore(change.current_mean, change.current_lower, change.current_upper),
        since=change.since,
        since_earliest=details.since_earliest,
        since_latest=details.since_latest,
        onset=details.onset,
        onset_hours=details.onset_hours,
        older_version=details.older_version,
        marked_release=details.marked_release,
        while_learning=details.while_learning,
        changed_at=change.changed_at,
        log_evidence=change.log_evidence,
        log_threshold=change.log_threshold,
        within=details.within,
        mix=details.mix,
        segments=details.segments,
        verdict=None if change.is_limit else change.verdict or AlertVerdict.UNDECIDED,
        judge_shift=None if shift is None else MeanScore(shift, details.judge_shift_lower, details.judge_shift_upper),
        worst=details.worst[:WORST],
        link=link_to(change.key.deployment, external_url) or None,
        exceeded=details.exceeded,
        failed_parts=details.failed_parts,
        affected=details.affected,
        worst_links=worst_links(change, external_url),
    )


def _quoted(value: str) -> str:
    return msgspec.json.encode(value).decode()
