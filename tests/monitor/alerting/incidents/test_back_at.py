"""Since when an incident that is over was most likely good again, where its alerts say that."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from lake.spec.alert_vocabulary import LimitKind
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident, incidents_of
from monitor.detect.limits import LimitDetails
from tests.monitor.alerting.incidents.test_states import ENDS, FIRES, MINUTE, NOW, change


def incident_of(*changes: AlertChange) -> Incident:
    (incident,) = incidents_of([replace(one, incident_id="i") for one in changes])
    return incident


def ended(alert: str, begins: int, ends: int, back: int | None, kind: LimitKind | None = None) -> list[AlertChange]:
    """An alert from one minute to another that was good again at `back`."""
    begin, end = change(alert, FIRES, begins, kind=kind), change(alert, ENDS, ends, kind=kind, fired=begins)
    back_since = None if back is None else NOW + back * MINUTE
    return [begin, replace(end, current_mean=0.9, details=msgspec.structs.replace(end.details, back_since=back_since))]


def test_it_is_back_when_the_last_of_its_metrics_was() -> None:
    """Not when the alerts closed; while it is open it is not back."""
    begin, end = ended("a", 0, 9, 2)
    other = ended("b", 1, 7, 4, LimitKind.ERRORS)
    incident = incident_of(begin, *other, end)
    assert (incident.ended_at, incident.back_at) == (NOW + 9 * MINUTE, NOW + 4 * MINUTE)
    assert incident_of(begin).back_at is None


@pytest.mark.parametrize("kind", [LimitKind.NO_DATA, LimitKind.AT_LEAST, LimitKind.TOOL_ERRORS])
def test_it_is_unknown_where_an_alert_ended_for_another_reason(kind: LimitKind) -> None:
    """A limit that is switched off, or a silence that is what is usual now; but not where a later alert says it."""
    unknown = ended("a", 0, 3, None, kind)
    assert incident_of(*unknown, *ended("b", 1, 9, 5)).back_at is None
    assert incident_of(*unknown, *ended("b", 2, 9, 5, kind)).back_at == NOW + 5 * MINUTE


def test_a_row_of_an_earlier_version_has_how_long_it_was_bad() -> None:
    begin, end = ended("a", 0, 9, None, LimitKind.ERRORS)
    details = msgspec.structs.replace(end.details, exceeded=LimitDetails(lasted_seconds=120.0))
    assert incident_of(begin, replace(end, since=NOW, details=details)).back_at == NOW + 2 * MINUTE
