from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lake.spec.schemas import INCIDENTS
from lake.tables.lake import Lake
from monitor.alerting.incidents.incident import Incident
from monitor.service.monitor import Monitor
from tests.monitor.conftest import Clock


def the_incident(monitor: Monitor) -> Incident:
    assert monitor.snapshot is not None
    (incident,) = monitor.snapshot.deployments["rag-search"].incidents
    return incident


def test_the_snapshot_has_incidents_and_their_acknowledgements(
    lake: Lake, make_monitor: Callable[[], Monitor], clock: Clock, three_deployments: None
) -> None:
    monitor = make_monitor()
    monitor.refresh()
    assert the_incident(monitor).acknowledged is None
    clock.advance(minutes=1)
    monitor.acknowledge(the_incident(monitor), "ada", "known")
    incident = the_incident(monitor)
    assert incident.acknowledged is not None
    assert incident.acknowledged.who == "ada"
    clock.advance(minutes=1)
    other = make_monitor()
    for each in (monitor, other):
        each.refresh()
        # Each counts by itself who is affected, at the time of its own look.
        assert replace(the_incident(each), counted_at=incident.counted_at) == incident
    written = lake.table(INCIDENTS, "rag-search").read()["change"].to_pylist()
    assert sorted(written) == sorted(row.change for row in incident.changes)
    assert monitor.failures == {}


def test_a_running_monitor_sees_an_acknowledgement_of_another(
    make_monitor: Callable[[], Monitor], clock: Clock, three_deployments: None
) -> None:
    one, other = make_monitor(), make_monitor()
    one.refresh()
    other.refresh()
    clock.advance(minutes=1)
    other.acknowledge(the_incident(other), "ada", "known")
    one.refresh()
    assert the_incident(one).acknowledged is not None
