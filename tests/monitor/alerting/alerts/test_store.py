"""The alerts of several deployments, and what a store does while tables refuse or others write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from lake.delta_log.change import LostRaceError
from lake.spec.alert_vocabulary import LIMIT_VERSION, AlertEvent, LimitKind, Tier
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.change import AlertChange, digest, to_row
from monitor.alerting.alerts.deployment_alerts import DeploymentAlerts
from monitor.alerting.alerts.incident_ids import in_order
from monitor.alerting.alerts.limit_alerts import last_changes
from monitor.alerting.alerts.new_changes import change_of
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.limits import LastChange
from monitor.detect.regression import StreamKey
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, START, fired, kinds, resolved
from tests.monitor.alerting.alerts.test_pending import FIRED

DAY = timedelta(days=1)
OTHER = replace(KEY, deployment="a")
CHANGE = change_of(fired(), None, NOW)


@pytest.mark.parametrize(("others", "is_lost"), [(9, False), (10, True)])
def test_a_change_is_tried_ten_times_against_other_monitors(lake: Lake, others: int, is_lost: bool) -> None:
    """Each time with all that they have written."""
    mine, seen = DeploymentAlerts(lake, KEY.deployment), list[int]()

    def another_is_faster(known: Sequence[AlertChange]) -> list[AlertChange]:
        seen.append(len(known))
        if len(seen) <= others:
            theirs = replace(CHANGE, change_id=str(len(seen)))
            assert DeploymentAlerts(lake, KEY.deployment).append(lambda _: [theirs]) != []
        return [CHANGE]

    if is_lost:
        with pytest.raises(LostRaceError, match=r"changed by others 10 times in a row; run fewer monitors"):
            mine.append(another_is_faster)
    else:
        assert len(mine.append(another_is_faster)) == 1
    assert seen == list(range(10))


def test_rows_of_earlier_versions_get_the_ids_of_incidents_when_they_are_read(lake: Lake) -> None:
    """The alert that they opened gave its incident its id."""
    lake.table(ALERTS, KEY.deployment).append(ALERTS.rows([to_row(CHANGE)]))
    alerts = DeploymentAlerts(lake, KEY.deployment)
    assert [change.incident_id for change in alerts.changes] == [digest("incident", CHANGE.alert_id)]
    (joins,) = alerts.append(lambda _: [change_of(fired(11, replace(KEY, metric="m")), None, NOW)])
    assert joins.incident_id == alerts.changes[0].incident_id


def test_changes_of_all_deployments_are_in_the_order_of_their_times(lake: Lake) -> None:
    """Whichever deployment was read first; an end that was recorded later than another one's beginning too."""
    store = AlertStore(lake)
    store.record(
        [fired(11), fired(10, OTHER), resolved(15), resolved(14, OTHER), fired(12, replace(KEY, metric="m"))], NOW
    )
    for one in (store, AlertStore(lake)):
        assert [(change.changed_at - START) / HOUR for change in one.changes()] == [10, 11, 12, 14, 15]
        assert [(alert.key.metric, alert.change) for alert in one.active()] == [("m", "firing")]
        assert kinds(one.changes_of("a")) == ["firing", "resolved"]
        assert one.changes_of("nobody") == []


def test_of_two_tables_that_refuse_the_first_error_is_raised(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What both refused is written at the next call; a store that was read anew has forgotten it."""
    store, forgets = AlertStore(lake), AlertStore(lake)

    def refuse(table: Table, *_: Any, **__: Any) -> None:
        raise OSError(table.uri)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "append", refuse)
        for one in (store, forgets):
            with pytest.raises(OSError, match=lake.table(ALERTS, KEY.deployment).uri):
                one.record([fired(), fired(key=OTHER)], NOW)
    forgets.reload([KEY.deployment, "a"])
    assert forgets.record([], NOW) == []
    assert len(store.record([fired()], NOW)) == 2


def test_a_summary_is_a_row_each_day(lake: Lake) -> None:
    """Of each receiver; the same one again is none."""
    store = AlertStore(lake)
    changes = store.record([fired()], NOW)
    for receiver in ("team", "pager"):
        for at in (NOW, NOW, NOW + DAY):
            store.record_summary(changes, receiver, at)
    rows = [change for change in AlertStore(lake).changes() if change.change == AlertEvent.SUMMARIZED]
    told = sorted((row.changed_at, str(row.details.receiver)) for row in rows)
    assert told == [(NOW, "pager"), (NOW, "team"), (NOW + DAY, "pager"), (NOW + DAY, "team")]
    assert {(row.delivery_of, row.reason) for row in rows} == {(changes[0].change_id, "it goes on")}


def test_what_became_of_messages_says_nothing_of_a_limit() -> None:
    """That an end was delivered is no change of the limit, nor is anything of a metric."""
    key = StreamKey("rag", LimitKind.ERRORS, LIMIT_VERSION)
    fires = replace(FIRED, key=key, details=structs.replace(FIRED.details, tier=Tier.WARN))
    told = replace(fires, change=AlertEvent.DELIVERED, changed_at=NOW + HOUR)
    assert last_changes([fires, told, FIRED]) == {
        ("rag", LimitKind.ERRORS): LastChange(True, fires.changed_at, fires.tier, fires.fired_at)
    }


def test_an_open_limit_of_a_row_without_a_tier_is_raised_no_more() -> None:
    """Versions without tiers told it as they told everything."""
    old = replace(FIRED, key=StreamKey("rag", LimitKind.ERRORS, LIMIT_VERSION))
    assert old.details.tier is None
    assert [one.tier for one in last_changes([old]).values()] == [Tier.PAGE]


def test_a_page_that_is_found_again_while_the_lake_takes_no_row_waits_once(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at each look where an outage held it back; the newest is kept, and is recorded once."""
    store = AlertStore(lake)
    with monkeypatch.context() as patch:
        patch.setattr(DeploymentAlerts, "append", _refused)
        for _ in range(3):
            with pytest.raises(OSError, match="full"):
                store.record([fired()], NOW)
        assert len(store._unrecorded) == 1
    assert len(store.record([fired()], NOW)) == 1
    assert store._unrecorded == []


def _refused(*_: Any) -> Any:
    raise OSError("full")


def test_the_order_of_changes_is_that_in_which_they_were_found() -> None:
    """By the clock, then by the times of the answers, then by id; deliveries are none of them."""
    late = change_of(resolved(5), CHANGE, NOW - HOUR)
    same = replace(CHANGE, change_id="0", details=CHANGE.details)
    earlier = replace(CHANGE, changed_at=CHANGE.changed_at - HOUR)
    told = replace(CHANGE, change=AlertEvent.DELIVERED)
    found_last = change_of(fired(1), None, NOW + HOUR)
    expected = [late, earlier, *sorted([same, CHANGE], key=lambda one: one.change_id), found_last]
    assert in_order([found_last, told, CHANGE, same, earlier, late]) == expected
