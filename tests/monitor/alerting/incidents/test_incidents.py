from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent, AlertVerdict, LimitKind, Tier
from lake.spec.schemas import ALERTS, INCIDENTS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.alerts.change import to_row
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.log import IncidentLog
from monitor.detect.limits import LimitChange
from monitor.detect.regression import Judgement, Shift, StreamKey, Transition
from tests.killing import KILLED, Moment, die, run
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, READING, START, fired, resolved

OTHERS = tuple(replace(KEY, metric=metric) for metric in ("answer_relevance", "context_recall", "refusal"))


def page(hour: int, key: StreamKey = KEY, verdict: AlertVerdict = AlertVerdict.SYSTEM) -> Transition:
    shift = Shift(-0.4, -0.5, -0.3, 200)
    reading = replace(READING, tier=Tier.PAGE)
    return replace(fired(hour, key), reading=reading, judgement=Judgement(verdict, shift))


def incidents(store: AlertStore, log: IncidentLog) -> tuple[Incident, ...]:
    return log.incidents(store.changes()).get(KEY.deployment, ())


def record(lake: Lake, store: AlertStore) -> tuple[Incident, ...]:
    log = IncidentLog(lake)
    found = incidents(store, log)
    log.record(KEY.deployment, found)
    return found


def rows_of(lake: Lake) -> list[dict[str, Any]]:
    return lake.table(INCIDENTS, KEY.deployment).read().to_pylist()


def words(incident: Incident) -> list[str]:
    return [row.change for row in incident.changes]


def test_alerts_that_overlap_are_one_incident(lake: Lake) -> None:
    store = AlertStore(lake)
    store.record([fired(1)], NOW)
    store.record([fired(2, OTHERS[0])], NOW + HOUR)
    store.record([resolved(3)], NOW + 2 * HOUR)
    store.record([page(4, OTHERS[1])], NOW + 3 * HOUR)
    (incident,) = record(lake, store)
    assert (incident.ended_at, incident.tier, incident.verdict) == (None, "page", "system")
    store.record([resolved(5, OTHERS[0]), resolved(6, OTHERS[1])], NOW + 4 * HOUR)
    (ended,) = record(lake, store)
    assert words(ended) == ["opened", "joined", "joined", "raised", "verdict_changed", "ended"]
    assert (ended.opened_at, ended.ended_at) == (START + HOUR, START + 6 * HOUR)
    assert [change.key.metric for change in ended.alerts] == [KEY.metric, OTHERS[0].metric, OTHERS[1].metric]
    assert ended.incident_id == incident.incident_id
    assert {row["incident_id"] for row in lake.table(ALERTS, KEY.deployment).read().to_pylist()} == {ended.incident_id}
    assert sorted(row["change"] for row in rows_of(lake)) == sorted(words(ended))


def test_an_alert_after_the_end_opens_another_incident(lake: Lake) -> None:
    store = AlertStore(lake)
    store.record([fired(1)], NOW)
    store.record([resolved(2)], NOW)
    store.record([fired(3, OTHERS[0])], NOW)
    newest, oldest = record(lake, store)
    assert (newest.ended_at, oldest.ended_at) == (None, START + 2 * HOUR)
    assert newest.incident_id != oldest.incident_id


def test_a_history_that_is_read_at_once_is_grouped_by_the_times_of_the_answers(lake: Lake) -> None:
    """A monitor that starts late finds months of alerts in one look, stream by stream."""
    store = AlertStore(lake)
    store.record([fired(1), resolved(2), fired(30), resolved(40), fired(35, OTHERS[0]), resolved(50, OTHERS[0])], NOW)
    newest, oldest = record(lake, store)
    assert words(newest) == ["opened", "joined", "ended"]
    assert words(oldest) == ["opened", "ended"]


def test_a_limit_and_a_regression_are_one_incident_and_other_deployments_have_theirs(lake: Lake) -> None:
    store = AlertStore(lake)
    store.record_limits(
        KEY.deployment, [LimitChange(KEY.deployment, LimitKind.ERRORS, AlertEvent.FIRING, START, "errors", START)], NOW
    )
    (kind,) = incidents(store, IncidentLog(lake))
    assert (kind.tier, kind.verdict) == ("page", None)
    store.record([fired(1), fired(1, replace(KEY, deployment="other"))], NOW)
    (both,) = incidents(store, IncidentLog(lake))
    assert (both.tier, both.verdict, words(both)) == ("page", "undecided", ["opened", "joined"])
    assert len(IncidentLog(lake).incidents(store.changes())) == 2


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["judge", "judge"], "judge"),
        (["judge", "undecided"], "undecided"),
        (["undecided", "system"], "system"),
        (["judge", "system"], "both"),
        (["both", "undecided"], "both"),
    ],
)
def test_only_the_judge_changed_if_all_alerts_say_so(lake: Lake, verdicts: list[AlertVerdict], expected: str) -> None:
    store = AlertStore(lake)
    store.record([page(1, key, verdict) for key, verdict in zip(OTHERS, verdicts, strict=False)], NOW)
    (incident,) = incidents(store, IncidentLog(lake))
    assert incident.verdict == expected
    assert incident.tier == ("warn" if expected == "judge" else "page")


def fire_and_die(root: str, when: Moment) -> None:
    """A monitor that is killed around its append of rows of incidents."""
    lake = Lake(root)
    store = AlertStore(lake)
    store.record([fired(1), fired(2, OTHERS[0])], NOW)
    die(when, PassTransaction, "append")
    record(lake, store)


@pytest.mark.integration
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_between_the_rows_of_alerts_and_those_of_incidents_loses_and_repeats_nothing(
    lake: Lake, when: Moment
) -> None:
    assert run(fire_and_die, lake.root, when) == KILLED
    assert len(rows_of(lake)) == (2 if when == "after" else 0)
    (incident,) = record(lake, AlertStore(lake))
    assert words(incident) == ["opened", "joined"]
    record(lake, AlertStore(lake))
    assert sorted(row["change_id"] for row in rows_of(lake)) == sorted(row.change_id for row in incident.changes)


def test_two_monitors_come_to_the_same_incidents_and_write_each_row_once(lake: Lake) -> None:
    one, other = AlertStore(lake), AlertStore(lake)
    logs = IncidentLog(lake), IncidentLog(lake)
    found = []
    for store, log, seen in ((one, logs[0], fired(1)), (other, logs[1], fired(2, OTHERS[0]))):
        store.record([seen], NOW)
        log.record(KEY.deployment, incidents(store, log))
    for store, log in zip((one, other), logs, strict=True):
        store.record([fired(1), fired(2, OTHERS[0]), resolved(3), resolved(4, OTHERS[0])], NOW + HOUR)
        found.append(incidents(store, log))
        log.record(KEY.deployment, found[-1])
    assert [words(incident) for (incident,) in found] == [["opened", "joined", "ended"]] * 2
    assert sorted(row["change"] for row in rows_of(lake)) == ["ended", "joined", "opened"]


def rows_without_incidents(lake: Lake, transitions: list[Transition]) -> Iterator[dict[str, Any]]:
    store = AlertStore(Lake(f"{lake.root}-of-an-earlier-version"))
    for transition in transitions:
        store.record([transition], NOW + (transition.at - START))
    for change in store.changes():
        row = to_row(change)
        del row["incident_id"]
        yield row


def test_alerts_of_a_lake_of_an_earlier_version_are_grouped_by_the_same_rule(lake: Lake) -> None:
    history = [fired(1), fired(2, OTHERS[0]), resolved(3), resolved(4, OTHERS[0]), fired(5)]
    old = replace(ALERTS, schema=ALERTS.schema.remove(ALERTS.schema.get_field_index("incident_id")))
    lake.table(old, KEY.deployment).append(old.rows(list(rows_without_incidents(lake, history))))
    before = record(lake, AlertStore(lake))
    assert [words(incident) for incident in before] == [["opened"], ["opened", "joined", "ended"]]

    store = AlertStore(lake)
    store.record([fired(6, OTHERS[0])], NOW + 9 * HOUR)
    store.record([resolved(7), resolved(8, OTHERS[0])], NOW + 10 * HOUR)
    after = record(lake, AlertStore(lake))
    assert [one.incident_id for one in after] == [one.incident_id for one in before]
    assert words(after[0]) == ["opened", "joined", "ended"]
    stored = lake.table(ALERTS, KEY.deployment).read().to_pylist()
    assert [row["incident_id"] for row in stored if row["incident_id"]] == [after[0].incident_id] * 3


def test_an_acknowledgement_holds_until_receivers_are_told_something(lake: Lake) -> None:
    store, log = AlertStore(lake), IncidentLog(lake)
    store.record([fired(1)], NOW)
    (incident,) = incidents(store, log)
    assert incident.acknowledged is None
    log.acknowledge(incident, "ada", "I look", NOW + timedelta(minutes=1))
    store.record([fired(2, OTHERS[0])], NOW + HOUR)
    (joined,) = incidents(store, log)
    assert joined.acknowledged is not None
    assert (joined.acknowledged.who, joined.acknowledged.comment) == ("ada", "I look")
    store.record([page(3, OTHERS[1])], NOW + 2 * HOUR)
    (raised,) = incidents(store, log)
    assert raised.acknowledged is None
    assert [row.who for row in raised.changes if row.change == "acknowledged"] == ["ada"]

    other = IncidentLog(lake)
    other.add(KEY.deployment, lake.table(INCIDENTS, KEY.deployment).read())
    assert incidents(store, other) == (raised,)


def test_every_alert_has_an_incident(lake: Lake) -> None:
    store = AlertStore(lake)
    store.record([fired(1), fired(2, OTHERS[0]), resolved(3), page(4, OTHERS[0])], NOW)
    assert all(change.incident_id for change in store.changes() if change.change in ALERT_STATES)
