"""Alerts that nothing watches any more: when they end, why, and when they fire again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind, OnsetKind, Tier
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, AlertDetails, digest
from monitor.alerting.alerts.learned_anew import is_back, kept_open
from monitor.alerting.alerts.new_changes import change_of
from monitor.alerting.alerts.obsolete import end_of_obsolete, refired
from monitor.alerting.alerts.open_alerts import recorded_verdicts, with_open_alerts
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import Judgement, Reading, RegressionSettings, Status, StreamKey, Streams
from monitor.detect.stats.means import weighted_sums
from monitor.detect.stats.period_sums import PeriodSums
from monitor.detect.stats.scores import IDLE, REPLACED_IDLE, MetricStats
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, READING, START, fired, judged

MOMENT = timedelta(microseconds=1)
ALERT = change_of(judged(AlertVerdict.SYSTEM, Tier.PAGE), None, START + 13 * HOUR)
"""Changed at 12, recorded at 13 o'clock of the first day."""
NEXT = StreamKey(KEY.deployment, KEY.metric, "2")


def read(status: Status, hour: int = 20) -> Reading:
    return replace(READING, status=status, latest=START + hour * HOUR)


@pytest.mark.parametrize(
    ("reading", "newest", "reason"),
    [
        (read(Status.REGRESSED), {KEY: NOW}, None),
        (read(Status.REGRESSED), {KEY: NOW, StreamKey("other", KEY.metric, "2"): NOW}, None),
        (read(Status.REGRESSED), {NEXT: NOW}, "the metric has a new version"),
        (read(Status.REGRESSED), {KEY: NOW, NEXT: NOW}, None),
        (read(Status.LEARNING, 11), {KEY: NOW}, None),
        (
            read(Status.LEARNING, 12),
            {KEY: NOW},
            "no longer watched: the stream learns its reference anew, so nothing can tell whether quality is back",
        ),
        (
            read(Status.WATCHING),
            {KEY: NOW},
            "computed anew from the scores, with the settings of now, this is no regression",
        ),
        (None, {KEY: NOW}, None),
        (replace(READING, status=Status.WATCHING, latest=None), {KEY: NOW}, None),
    ],
)
def test_an_alert_ends_with_what_watched_it(
    reading: Reading | None, newest: dict[StreamKey, datetime], reason: str | None
) -> None:
    """Once its stream was read past its beginning, or its metric has another version alone."""
    end = end_of_obsolete(ALERT, reading, newest, NOW)
    assert (end and end.reason) == reason
    if end is None or reading is None or reading.latest is None:
        return
    assert end == AlertChange(
        digest(ALERT.alert_id, "resolved"), ALERT.alert_id, KEY, AlertEvent.RESOLVED,
        max(reading.latest, ALERT.changed_at + MOMENT), AlertDetails(ALERT.fired_at, Tier.PAGE, recorded_at=NOW),
        reason, ALERT.since, ALERT.reference_mean, verdict=AlertVerdict.SYSTEM,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scored", "read_until", "last"),
    [
        (15, 14, 15),
        (14, 15, 15),
        (None, 15, 15),
        (None, 9, 13),
        (9, 9, 13),
        (None, None, 13),
    ],
)
def test_an_alert_ends_four_weeks_after_its_last_sign_of_life(
    scored: int | None, read_until: int | None, last: int
) -> None:
    """A score that was made, one that was read, or its own row, whichever came last."""
    newest = {} if scored is None else {KEY: START + scored * HOUR}
    reading = None if read_until is None else replace(READING, latest=START + read_until * HOUR)
    ends_at = START + last * HOUR + IDLE
    assert end_of_obsolete(ALERT, reading, newest, ends_at - MOMENT) is None
    end = end_of_obsolete(ALERT, reading, newest, ends_at)
    assert end is not None
    since = next(hour for hour in (scored, read_until, last) if hour is not None)
    assert end.reason == (
        f"no longer watched: no score of this metric since 2026-11-01 {since:02}:00 UTC, so nothing can tell whether "
        "quality is back"
    )
    assert end.details.idle_since == START + last * HOUR
    replaced_at = START + last * HOUR + REPLACED_IDLE
    assert end_of_obsolete(ALERT, reading, newest, replaced_at - MOMENT, "apps/rag-2") is None
    replaced = end_of_obsolete(ALERT, reading, newest, replaced_at, "apps/rag-2")
    assert replaced is not None
    assert replaced.reason == f"{end.reason}; requests go to apps/rag-2"
    assert end.changed_at == max(ALERT.changed_at + MOMENT, START + (read_until or 0) * HOUR)


def ended(change: AlertChange, idle_since: datetime | None, hour: int = 20) -> AlertChange:
    details = AlertDetails(fired_at=change.fired_at, idle_since=idle_since)
    at = START + hour * HOUR
    return replace(change, change_id="end", change=AlertEvent.RESOLVED, changed_at=at, details=details)


def test_an_alert_fires_again_with_scores_that_are_no_better() -> None:
    """Later than the end, of a stream that is regressed, and only where it ended because none came."""
    asked: list[tuple[StreamKey, datetime]] = []

    def is_worse(key: StreamKey, since: datetime) -> bool:
        asked.append((key, since))
        return True

    end = ended(ALERT, START)
    judgement = Judgement(AlertVerdict.JUDGE)
    (again,) = refired([ALERT, end], {KEY: read(Status.REGRESSED, 21)}, {KEY: judgement}, is_worse)
    assert (again.key, again.change, again.at, again.judgement) == (KEY, "firing", START + 21 * HOUR, judgement)
    assert asked == [(KEY, end.changed_at + MOMENT)]
    for changes, reading in [
        ([ALERT, end], read(Status.REGRESSED, 20)),
        ([ALERT, end], read(Status.WATCHING, 21)),
        ([ALERT, ended(ALERT, None)], read(Status.REGRESSED, 21)),
        ([ALERT, end, replace(ALERT, changed_at=START + 21 * HOUR)], read(Status.REGRESSED, 22)),
    ]:
        assert refired(changes, {KEY: reading}, {}, is_worse) == []
    assert refired([ALERT, end], {}, {}, is_worse) == []
    assert refired([ALERT, end], {KEY: read(Status.REGRESSED, 21)}, {}, lambda *_: False) == []


def test_a_store_says_why_an_alert_fires_again(lake: Lake) -> None:
    """As a new alert, after the end of the first."""
    store = AlertStore(lake)
    store.record([fired()], START + 11 * HOUR)
    (end,) = store.close_obsolete({}, {}, [KEY.deployment], START + 12 * HOUR + IDLE)
    assert store.close_obsolete({}, {}, [KEY.deployment], START + 12 * HOUR + IDLE) == []
    later = replace(READING, latest=NOW)
    (again,) = store.refire({KEY: later}, {}, lambda *_: True, NOW)
    assert again.reason == "its scores have come again, and are no better"
    assert again.alert_id != end.alert_id
    assert [change.change for change in AlertStore(lake).changes()] == ["firing", "resolved", "firing"]


def test_an_alert_ends_where_its_metric_is_not_scored_any_more_of_what_the_application_does(lake: Lake) -> None:
    """At once, as its page shows the metric as idle; where it is scored again, and is no better, it fires again."""
    store = AlertStore(lake)
    store.record([fired()], START + 11 * HOUR)
    state = {KEY: read(Status.REGRESSED)}
    assert store.close_obsolete(state, {KEY: NOW}, [KEY.deployment], NOW, unscored={NEXT}) == []
    (end,) = store.close_obsolete(state, {KEY: NOW}, [KEY.deployment], NOW, unscored={KEY})
    assert end.reason is not None
    assert end.reason.endswith("can tell whether quality is back; it is not scored of what the application does now")
    assert end.details.idle_since == NOW


def test_alerts_of_deployments_that_are_still_read_do_not_end(lake: Lake) -> None:
    """Their streams seem to learn; so do those of limits, which no stream watches."""
    store = AlertStore(lake)
    store.record([fired()], START + 11 * HOUR)
    assert store.close_obsolete({KEY: read(Status.LEARNING)}, {KEY: NOW}, [], NOW) == []
    assert len(store.close_obsolete({KEY: read(Status.LEARNING)}, {KEY: NOW}, [KEY.deployment], NOW)) == 1


def scores(values: list[float], hour: int, version: str = "1") -> MetricStats:
    at = pa.chunked_array([pa.array([START + hour * HOUR] * len(values), pa.timestamp("us", "UTC"))])
    sums = weighted_sums(np.array(values), np.ones(len(values)))
    return MetricStats(version, None, NOW, False, means_by_time=PeriodSums().with_values(at, *sums))


NEAR, FAR = [0.75, 0.77] * 25, [0.45, 0.47] * 25
"""Fifty scores each: near the reference of 0.8, and near the fallen mean of 0.4."""


@pytest.mark.parametrize(
    ("values", "hour", "now", "expected"),
    [
        (NEAR, 13, 20, True),
        (NEAR[1:], 13, 20, False),
        (FAR, 13, 20, False),
        ([0.2, 1.0] * 25, 13, 20, False),
        (NEAR, 12, 20, False),
        (NEAR, 20, 20, True),
        (NEAR, 13, 13 + 7 * 24 - 1, True),
        (NEAR, 13, 13 + 7 * 24, False),
    ],
)
def test_quality_is_back_with_fifty_scores_on_the_side_of_the_reference(
    values: list[float], hour: int, now: int, expected: bool
) -> None:
    """Of whole hours since the alert, and of the last seven days."""
    metric, at = scores(values, hour), START + now * HOUR
    assert is_back(ALERT, metric, at) is expected
    risen = replace(ALERT, reference_mean=0.4, current_mean=0.8)
    assert is_back(risen, scores([1.2 - value for value in values], hour), at) is expected
    assert (kept_open(ALERT, READING, metric, at) is None) is expected


def test_what_says_nothing_of_an_alert_leaves_it_open() -> None:
    """Another version, no score, or an alert without means; its reading is then that of the alert."""
    at, metric = START + 20 * HOUR, scores(NEAR, 13)
    assert not is_back(ALERT, scores(NEAR, 13, "2"), at)
    assert not is_back(replace(ALERT, reference_mean=None), metric, at)
    assert not is_back(replace(ALERT, current_mean=None), metric, at)
    learning = replace(
        READING, status=Status.LEARNING, reference_mean=None, since_mean=None, since_lower=None, since_upper=None,
        drop=None, drop_lower=None, drop_upper=None,
    )  # fmt: skip
    assert kept_open(ALERT, learning, None, at) == replace(READING, kept=True)


def test_an_open_alert_has_the_reading_that_it_was_found_with() -> None:
    """Where its last batch is not read yet, or elsewhere as `kept_without_history` says; limits have no reading."""
    found_with = replace(READING, onset=OnsetKind.RECURRING, onset_hours=(9, 17))
    alert = change_of(replace(fired(), reading=found_with), None, NOW)
    learning = replace(
        READING, status=Status.LEARNING, tier=None, reference_mean=None, since=None, since_earliest=None,
        since_latest=None, since_mean=None, since_lower=None, since_upper=None, drop=None, drop_lower=None,
        drop_upper=None, latest=START + 9 * HOUR,
    )  # fmt: skip
    streams = Streams(RegressionSettings())
    found = with_open_alerts({KEY: learning}, [alert], streams)
    assert found == {KEY: replace(found_with, kept=True, latest=START + 9 * HOUR)}
    unread = replace(learning, latest=None)
    assert with_open_alerts({KEY: unread}, [alert], streams) == {KEY: replace(found_with, kept=True, latest=None)}
    without_means = replace(alert, reference_mean=None)
    past = replace(learning, latest=START + 10 * HOUR)
    assert with_open_alerts({KEY: past}, [without_means], streams) == {KEY: past}
    kept = with_open_alerts({KEY: past}, [without_means], streams, lambda _, reading: replace(reading, kept=True))
    assert (kept[KEY].kept, kept[KEY].since, kept[KEY].tier) == (True, READING.since, Tier.WARN)
    regressed = {KEY: replace(READING, latest=START)}
    assert with_open_alerts(regressed, [alert], streams) == regressed
    assert with_open_alerts({}, [alert], streams) == {}
    kind = replace(alert, key=StreamKey("apps/rag", LimitKind.ERRORS, LIMIT_VERSION))
    assert with_open_alerts({kind.key: learning}, [kind], streams) == {kind.key: learning}


def test_a_recorded_verdict_is_given_with_whether_the_judge_can_drift() -> None:
    """Of a metric without a judge it cannot."""
    kept = {KEY: replace(READING, kept=True)}
    measured = change_of(replace(fired(), judgement=Judgement(AlertVerdict.SYSTEM, can_drift=False)), None, NOW)
    assert recorded_verdicts(kept, [measured]) == {KEY: Judgement(AlertVerdict.SYSTEM, can_drift=False)}
    assert recorded_verdicts(kept, [ALERT]) == {KEY: Judgement(AlertVerdict.SYSTEM)}


def test_a_stream_is_asked_what_came_since_the_onset_of_its_alert() -> None:
    """Since the alert where that is not known; marks that the alert was recorded after say nothing."""
    asked: list[Any] = []

    class Asked(Streams):
        def still_worse(self, *given: Any) -> Reading:
            asked.append(given)
            return replace(READING, kept=True)

    streams, read_past = Asked(RegressionSettings()), read(Status.WATCHING)
    for alert in (ALERT, replace(ALERT, since=None)):
        assert with_open_alerts({KEY: read_past}, [alert], streams)[KEY].kept
    recorded = START + 13 * HOUR
    assert asked == [(KEY, 0.8, START + 5 * HOUR, recorded), (KEY, 0.8, START + 12 * HOUR, recorded)]
