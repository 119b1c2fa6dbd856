"""Which incident an alert joins, and which it opens."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, AlertVerdict, LimitKind
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.alerts.incident_ids import with_incident_ids
from monitor.detect.regression import StreamKey
from tests.monitor.alerting.alerts.test_pending import NOW

MINUTE = timedelta(minutes=1)


def change(alert: str, event: AlertEvent, minute: int, verdict: AlertVerdict | None = None) -> AlertChange:
    """Of an alert; those whose names begin with `drift` say that a judge changed."""
    key = (
        StreamKey("rag", LimitKind.JUDGE_DRIFT, LIMIT_VERSION)
        if alert.startswith("drift")
        else StreamKey("rag", alert, "1")
    )
    at = NOW + minute * MINUTE
    said = AlertVerdict.JUDGE if alert.startswith("drift") else verdict
    return AlertChange(f"{alert} {event} {minute}", alert, key, event, at, AlertDetails(recorded_at=at), verdict=said)


def incidents(*changes: AlertChange, together: bool = True) -> list[str | None]:
    """Of each change, in one append or one each."""
    known: list[AlertChange] = []
    for some in [list(changes)] if together else [[one] for one in changes]:
        known += with_incident_ids(known, some)
    return [one.incident_id for one in known]


FIRES, ENDS = AlertEvent.FIRING, AlertEvent.RESOLVED


@pytest.mark.parametrize("together", [True, False])
def test_an_alert_joins_what_fires_and_opens_what_is_over(together: bool) -> None:
    """Through any of its alerts; what ended once fires for nobody, also where its rows come again."""
    found = incidents(
        change("a", FIRES, 0), change("b", FIRES, 1), change("a", ENDS, 2), change("c", FIRES, 3),
        change("b", ENDS, 4), change("c", ENDS, 5), change("c", FIRES, 6), change("d", FIRES, 7),
        together=together,
    )  # fmt: skip
    assert len(set(found[:7])) == 1
    assert found[7] != found[0]


def test_of_two_open_incidents_the_newest_is_joined() -> None:
    """Two are open at once where a judge's came first, or in rows of two monitors."""
    old, new = replace(change("a", FIRES, 0), incident_id="old"), replace(change("b", FIRES, 1), incident_id="new")
    for known in ([old, new], [new, old]):
        (joined,) = with_incident_ids(known, [change("c", FIRES, 2)])
        assert joined.incident_id == "new"


@pytest.mark.parametrize("verdict", [None, *AlertVerdict])
@pytest.mark.parametrize("together", [True, False])
def test_a_judge_that_changed_joins_only_what_says_so(verdict: AlertVerdict | None, together: bool) -> None:
    """And what it opens is joined only by alerts of the judge alone."""
    says_so = verdict in (AlertVerdict.JUDGE, AlertVerdict.BOTH)
    first, second = incidents(change("a", FIRES, 0, verdict), change("drift", FIRES, 1), together=together)
    assert (first == second) is says_so
    first, second = incidents(change("drift", FIRES, 0), change("a", FIRES, 1, verdict), together=together)
    assert (first == second) is (verdict == AlertVerdict.JUDGE)


@given(st.permutations([change("a", FIRES, 0), change("b", FIRES, 1), change("a", ENDS, 2), change("b", ENDS, 3)]))
def test_ids_that_are_there_stay(order: list[AlertChange]) -> None:
    """Whatever order a table gives rows of one append in; other events get the id of their alert."""
    ids = {one.change_id: one.incident_id for one in with_incident_ids([], order)}
    assert len(set(ids.values())) == 1
    kept = [replace(one, incident_id="mine") for one in order]
    assert with_incident_ids(kept, kept) == kept
    delivered = replace(order[0], change=AlertEvent.DELIVERED, change_id="d")
    assert with_incident_ids(kept, [delivered]) == [replace(delivered, incident_id="mine")]


def test_a_change_that_has_an_id_keeps_it() -> None:
    """Whatever id the alert had before."""
    known = replace(change("a", FIRES, 0), incident_id="old")
    new = replace(change("a", FIRES, 1), incident_id="new")
    assert [one.incident_id for one in with_incident_ids([known], [new])] == ["new"]
