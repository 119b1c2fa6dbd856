import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertVerdict, Tier
from lake.spec.schemas import ALERTS, SCORES
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import (
    Judgement,
    Reading,
    RegressionSettings,
    SegmentChange,
    Shift,
    Status,
    StreamKey,
    Streams,
    Transition,
)
from tests.monitor.detect.regression.feeding import feed

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOW = START + 30 * timedelta(days=1)
KEY = StreamKey("apps/rag", "faithfulness_kprecision", "1")
READING = Reading(
    status=Status.REGRESSED,
    tier="warn",
    reference_observations=200,
    reference_needed=200,
    learning_left=None,
    reference_mean=0.8,
    baseline=0.71,
    can_fire=True,
    observations=200,
    mean=0.6,
    mean_lower=0.55,
    mean_upper=0.65,
    log_evidence=7.1,
    log_threshold=6.6,
    log_page_threshold=9.1,
    false_alarm_every=timedelta(days=30),
    latest=START + 9 * HOUR,
    since=START + 5 * HOUR,
    since_earliest=START + 4 * HOUR,
    since_latest=START + 7 * HOUR,
    since_mean=0.4,
    since_lower=0.3,
    since_upper=0.5,
    drop=0.4,
    drop_lower=0.26,
    drop_upper=0.54,
    improved=False,
    smallest_drop=None,
    delay=None,
)


def fired(hour: int = 10, key: StreamKey = KEY) -> Transition:
    return Transition(key, "firing", START + hour * HOUR, READING, (("answer-1", 0.0), ("answer-2", 0.1)))


def resolved(hour: int = 20, key: StreamKey = KEY) -> Transition:
    return Transition(key, "resolved", START + hour * HOUR, replace(READING, status=Status.WATCHING), ())


def judged(verdict: AlertVerdict, tier: Tier = "warn") -> Transition:
    return replace(
        fired(12 if tier == "page" else 10),
        reading=replace(READING, tier=tier),
        judgement=Judgement(verdict, Shift(-0.4, -0.5, -0.3, 200)),
    )


def rows_of(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(ALERTS, KEY.deployment).read().to_pylist()


def kinds(changes: list[AlertChange]) -> list[str]:
    return [change.change for change in changes]


def test_a_change_is_a_row_with_what_is_known_of_it(lake: Lake) -> None:
    """A regression that begins is one row with its stream, times, means and evidence, never a text."""
    AlertStore(lake).record([fired()], NOW)
    (row,) = rows_of(lake)
    assert {name: row[name] for name in ("deployment", "metric", "metric_version", "change", "verdict")} == {
        "deployment": "apps/rag",
        "metric": "faithfulness_kprecision",
        "metric_version": "1",
        "change": "firing",
        "verdict": "undecided",
    }
    assert (row["changed_at"], row["since"]) == (START + 10 * HOUR, START + 5 * HOUR)
    assert (row["reference_mean"], row["current_mean"], row["current_lower"], row["current_upper"]) == (
        0.8,
        0.4,
        0.3,
        0.5,
    )
    assert (row["log_evidence"], row["log_threshold"]) == (7.1, 6.6)
    assert "answer-1" in row["details"]


def test_the_segments_of_a_change_are_read_back_as_they_were(lake: Lake) -> None:
    """After a restart an alert still knows which segment fell most."""
    most = SegmentChange("language ru", 0.2, 0.25, 0.6, 0.2)
    segments = (SegmentChange("language en", 0.8, 0.75, None, 0.9), most)
    reading = replace(READING, within=-0.1, mix=-0.05, segments=segments, most_worsened=most)
    AlertStore(lake).record([replace(fired(), reading=reading)], NOW)
    (change,) = AlertStore(lake).changes()
    assert (change.details.within, change.details.mix) == (-0.1, -0.05)
    assert (change.details.segments, change.details.most_worsened) == (segments, most)


def test_one_alert_lives_from_firing_to_resolved(lake: Lake) -> None:
    """Both changes carry one alert_id; a later regression of the stream is an alert of its own."""
    alerts = AlertStore(lake)
    first, end, second = alerts.record([fired(10), resolved(20), fired(30)], NOW)
    assert first.alert_id == end.alert_id != second.alert_id
    assert end.fired_at == START + 10 * HOUR
    assert len({first.change_id, end.change_id, second.change_id}) == 3
    assert alerts.active() == [second]


def test_an_alert_that_becomes_a_page_is_one_more_change_of_it(lake: Lake) -> None:
    """It is sent anew, once, as the same alert; after a restart neither tier is new, and it counts as one."""
    raised = replace(fired(12), reading=replace(READING, tier="page"))
    first, page = AlertStore(lake).record([fired(10), raised], NOW)
    assert (first.tier, page.tier, page.change) == ("warn", "page", "firing")
    assert page.alert_id == first.alert_id
    assert page.change_id != first.change_id
    assert page.fired_at == first.changed_at
    restarted = AlertStore(lake)
    assert restarted.record([fired(10), raised, fired(13)], NOW) == []
    assert restarted.active() == [page]
    (end,) = restarted.record([resolved(20)], NOW)
    assert (end.alert_id, end.change_id) not in {(c.alert_id, c.change_id) for c in (first, page)}
    totals = AlertStats().with_alerts(lake.table(ALERTS, KEY.deployment).read())
    assert totals.regressions == {(KEY.metric, "undecided"): 1}


def test_an_open_alert_is_not_opened_twice(lake: Lake) -> None:
    """After a restart the same and later firings of a stream with an open alert are no news."""
    AlertStore(lake).record([fired()], NOW)
    restarted = AlertStore(lake)
    assert restarted.record([fired(10), fired(12)], NOW) == []
    assert kinds(restarted.active()) == ["firing"]
    assert len(rows_of(lake)) == 1


def test_scores_read_again_after_a_restart_are_no_news(lake: Lake) -> None:
    """History that is computed again, whole or slightly shifted, adds no row; what is new does."""
    AlertStore(lake).record([fired(10), resolved(20)], NOW)
    restarted = AlertStore(lake)
    assert restarted.record([fired(10), resolved(20)], NOW) == []
    assert restarted.record([fired(11), resolved(19)], NOW) == []
    assert restarted.record([resolved(21)], NOW) == []
    assert kinds(restarted.record([fired(30)], NOW)) == ["firing"]


def test_pending_is_what_a_receiver_was_not_sent(lake: Lake) -> None:
    """A delivery to one receiver, or giving it up, settles the change for that receiver alone, also after a restart."""
    alerts = AlertStore(lake)
    first, end = alerts.record([fired(), resolved()], NOW)
    assert alerts.pending("new", START + 21 * HOUR) == [first, end]
    alerts.record_deliveries([first], "pager", "delivered", "answered 200", NOW)
    alerts.record_deliveries([end], "chat", "undeliverable", "answered 410", NOW)
    alerts.record_deliveries([first], "pager", "delivered", "answered 200", NOW + HOUR)
    for same in (alerts, AlertStore(lake)):
        assert same.pending("pager", NOW) == [end]
        assert same.pending("chat", NOW) == [first]
    deliveries = [row for row in rows_of(lake) if row["delivery_of"]]
    assert [(r["change"], r["delivery_of"], r["reason"]) for r in sorted(deliveries, key=lambda r: r["change"])] == [
        ("delivered", first.change_id, "answered 200"),
        ("undeliverable", end.change_id, "answered 410"),
    ]


def test_a_new_receiver_gets_no_history(lake: Lake) -> None:
    """Under a new name come the open alerts and those that ended in the last day by the clock and in event time."""
    other = replace(KEY, metric="other")
    ends_late = [fired(10), resolved(20), fired(30, other), resolved(40, other), fired(50)]
    alerts = AlertStore(lake)
    recorded = alerts.record(ends_late, START + 50 * HOUR)
    _, _, first, end, still_open = recorded
    assert alerts.pending("team", START + 51 * HOUR) == [first, end, still_open]
    assert alerts.pending("team", START + 65 * HOUR) == [still_open]


def test_a_backfill_sends_no_history(lake: Lake) -> None:
    """What ended long ago in event time is no news, whenever it is found, and whoever the receiver is."""
    alerts = AlertStore(lake)
    alerts.record([fired(10), resolved(20)], NOW)
    assert alerts.pending("team", NOW) == []
    (alert,) = alerts.record([fired(30)], NOW)
    alerts.record_deliveries([alert], "team", "delivered", "answered 200", NOW)
    alerts.record([fired(10, replace(KEY, metric="other")), resolved(20, replace(KEY, metric="other"))], NOW + HOUR)
    assert alerts.pending("team", NOW + HOUR) == []


def test_the_end_of_a_sent_alert_is_sent_however_late(lake: Lake) -> None:
    """A receiver that knows of an alert's beginning hears that it is over, also after days."""
    alerts = AlertStore(lake)
    (first,) = alerts.record([fired(10)], START + 10 * HOUR)
    alerts.record_deliveries([first], "team", "delivered", "answered 200", START + 10 * HOUR)
    (end,) = alerts.record([resolved(20)], START + 21 * HOUR)
    assert alerts.pending("team", NOW) == [end]
    assert alerts.pending("new", NOW) == []


def test_what_a_known_receiver_missed_is_not_forgotten(lake: Lake) -> None:
    """An alert that began and ended while a receiver was down for days still goes to it once it is back."""
    alerts = AlertStore(lake)
    (first,) = alerts.record([fired(10)], START + 10 * HOUR)
    alerts.record_deliveries([first], "team", "delivered", "answered 200", START + 10 * HOUR)
    other = replace(KEY, metric="other")
    missed = alerts.record([fired(12, other)], START + 12 * HOUR) + alerts.record(
        [resolved(14, other)], START + 15 * HOUR
    )
    assert alerts.pending("team", START + 80 * HOUR) == missed


def test_a_book_that_forgot_knows_what_the_tables_say(lake: Lake) -> None:
    """A deployment that was erased and came back may have the alert it had, and lost transitions stay lost."""
    alerts = AlertStore(lake)
    (first,) = alerts.record([fired(10)], NOW)
    kept = replace(KEY, deployment="kept")
    alerts.record([fired(10, kept)], NOW)
    shutil.rmtree(lake.table(ALERTS, KEY.deployment).uri)
    alerts.reload(["kept", None])
    assert [change.key for change in alerts.active()] == [kept]
    assert alerts.record([fired(10), fired(11, kept)], NOW) == [first]


def test_an_alert_of_an_old_version_is_resolved_with_the_reason(lake: Lake) -> None:
    """Scores of two versions are not compared, so no evidence can end it: it ends with its stream's last scores."""
    alerts = AlertStore(lake)
    alerts.record([fired()], NOW)
    regressed = {KEY: replace(READING, latest=START + 12 * HOUR)}
    assert (
        alerts.close_obsolete(
            regressed, {KEY: NOW, replace(KEY, metric="other", metric_version="2"): NOW}, {KEY.deployment}, NOW
        )
        == []
    )
    (end,) = alerts.close_obsolete(regressed, {replace(KEY, metric_version="2"): NOW}, {KEY.deployment}, NOW)
    assert (end.change, end.changed_at, end.reason) == (
        "resolved",
        START + 12 * HOUR,
        "the metric has a new version",
    )
    restarted = AlertStore(lake)
    assert restarted.record([fired()], NOW) == []
    assert restarted.active() == []


def test_what_the_lake_refused_is_written_at_the_next_call(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that fails raises, and the transition is neither lost nor doubled."""
    alerts = AlertStore(lake)

    def fail(*args: Any, **options: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as broken:
        broken.setattr(Table, "append", fail)
        with pytest.raises(OSError, match="no space"):
            alerts.record([fired()], NOW)
    assert alerts.active() == []
    assert kinds(alerts.record([], NOW)) == ["firing"]
    assert alerts.record([], NOW) == []


def test_a_table_that_takes_nothing_keeps_no_other_deployment_back(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts and ends of the others are written, the error is raised, and the rest follows at the next call."""
    alerts, other = AlertStore(lake), replace(KEY, deployment="other")
    alerts.record([fired(), fired(11, other)], NOW)
    readings = dict.fromkeys((KEY, other), READING)
    judgements = dict.fromkeys((KEY, other), judged("system").judgement)
    newest = {replace(key, metric_version="2"): NOW for key in (KEY, other)}
    deployments = {KEY.deployment, "other"}
    append = Table.append

    def refuse(table: Table, *given: Any, **more: Any) -> Any:
        if table.uri == lake.table(ALERTS, KEY.deployment).uri:
            raise OSError("no space left")
        return append(table, *given, **more)

    with monkeypatch.context() as full:
        full.setattr(Table, "append", refuse)
        with pytest.raises(OSError, match="no space"):
            alerts.update_verdicts(judgements, readings, NOW)
        with pytest.raises(OSError, match="no space"):
            alerts.close_obsolete(readings, newest, deployments, NOW)
    assert [change.key for change in alerts.active()] == [KEY]
    assert [c.verdict for c in alerts.changes() if c.key == other] == ["undecided", "system", "system"]
    assert kinds(alerts.close_obsolete(readings, newest, deployments, NOW)) == ["resolved"]


def test_an_alert_that_the_streams_no_longer_have_is_resolved_with_the_reason(lake: Lake) -> None:
    """With other settings the same scores are no regression: the alert ends, once the stream is past its beginning."""
    AlertStore(lake).record([fired()], NOW)
    alerts = AlertStore(lake)
    latest, watching = START + 12 * HOUR, replace(READING, status=Status.WATCHING)
    assert alerts.close_obsolete({KEY: watching}, {KEY: NOW}, {KEY.deployment}, NOW) == []
    assert alerts.close_obsolete({}, {KEY: NOW}, {KEY.deployment}, NOW) == []
    assert alerts.close_obsolete({KEY: replace(READING, latest=latest)}, {KEY: NOW}, {KEY.deployment}, NOW) == []
    (end,) = alerts.close_obsolete({KEY: replace(watching, latest=latest)}, {KEY: NOW}, {KEY.deployment}, NOW)
    assert (end.change, end.changed_at) == ("resolved", latest)
    assert end.reason is not None
    assert "settings" in end.reason
    assert alerts.active() == []


def test_an_alert_whose_stream_learns_anew_is_no_longer_watched(lake: Lake) -> None:
    """It ends, not as a recovery, once the stream was read past its beginning; a stream that was not is left alone."""
    AlertStore(lake).record([fired()], NOW)
    alerts = AlertStore(lake)
    learning = replace(READING, status=Status.LEARNING)
    for latest in (None, START + 9 * HOUR):
        assert alerts.close_obsolete({KEY: replace(learning, latest=latest)}, {KEY: NOW}, {KEY.deployment}, NOW) == []
    (end,) = alerts.close_obsolete(
        {KEY: replace(learning, latest=START + 12 * HOUR)}, {KEY: NOW}, {KEY.deployment}, NOW
    )
    assert (end.change, end.changed_at, end.current_mean) == ("resolved", START + 12 * HOUR, None)
    assert end.reason is not None
    assert end.reason.startswith("no longer watched: the stream learns its reference anew")
    assert end.ended_without_recovery
    assert AlertStore(lake).active() == []


def test_a_strange_deployment_keeps_its_name(lake: Lake) -> None:
    """A name with slashes, quotes and line ends comes back as it was."""
    key = StreamKey('apps/"Ü\n../x', "m", "1")
    AlertStore(lake).record([fired(key=key)], NOW)
    assert [change.key for change in AlertStore(lake).active()] == [key]


def test_details_that_cannot_be_read_do_not_stop_the_book(lake: Lake) -> None:
    """A row that somebody wrote by hand, with no JSON in its details, is still an alert."""
    row = {
        "change_id": "c",
        "alert_id": "a",
        "deployment": "d",
        "metric": "m",
        "metric_version": "1",
        "change": "firing",
    }
    lake.table(ALERTS, "d").append(ALERTS.rows([row | {"changed_at": START, "details": "not JSON"}]))
    (alert,) = AlertStore(lake).active()
    assert alert.fired_at == START


@pytest.fixture
def score_rows() -> list[dict[str, Any]]:
    """Six answers an hour for sixty hours; each hour alternates around 0.8, and around 0.1 from hour 30 to 45."""
    return [
        {
            "deployment": KEY.deployment,
            "metric": KEY.metric,
            "metric_version": KEY.metric_version,
            "event_id": f"{hour}-{n}",
            "requested_at": START + hour * HOUR + n * HOUR / 6,
            "value": (0.1 if 30 <= hour < 45 else 0.8) + (0.1 if n % 2 else -0.1),
        }
        for hour in range(60)
        for n in range(6)
    ]


def test_a_restart_in_the_middle_changes_nothing_in_the_table(lake: Lake, score_rows: list[dict[str, Any]]) -> None:
    """A monitor that starts anew every ten hours and reads all again leaves the rows of one that never stopped."""
    settings = RegressionSettings(reference_observations=60, reference_time=0 * HOUR, tolerance=0.05)
    for end in range(60, 361, 60):
        now = score_rows[end - 1]["requested_at"]
        streams, alerts = Streams(settings), AlertStore(lake)
        alerts.record(feed(streams, SCORES.rows(score_rows[:end]), now), now)
        alerts.close_obsolete(streams.readings(), {KEY: now}, {KEY.deployment}, now)
    whole = feed(Streams(settings), SCORES.rows(score_rows), NOW)
    assert {(row["change"], row["changed_at"]) for row in rows_of(lake)} == {(t.change, t.at) for t in whole}
    assert len(rows_of(lake)) == 3
    assert [t.change for t in whole] == ["firing", "firing", "resolved"]
