from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.alerting.alerts.pending import ended_in_silence, held_back, pending
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import StreamKey
from monitor.notify.retries import DELAYS
from tests.monitor.notify.test_notifier import transition

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FIRED = AlertChange(
    "fired", "a", StreamKey("rag", "m", "1"), "firing", NOW, AlertDetails(fired_at=NOW, recorded_at=NOW)
)


def row(of: AlertChange, kind: Any, until: datetime | None = None) -> AlertChange:
    details = AlertDetails(receiver="team", until=until)
    return replace(of, change_id=f"{of.change_id} {kind}", change=kind, delivery_of=of.change_id, details=details)


def later(change_id: str, kind: Any, hours: int) -> AlertChange:
    at = NOW + hours * HOUR
    return replace(
        FIRED, change_id=change_id, change=kind, changed_at=at, details=AlertDetails(fired_at=NOW, recorded_at=at)
    )


def test_a_second_firing_that_a_silence_held_back_is_not_sent_after_the_end() -> None:
    """An alert that was sent, fired again in a silence and ended in it: its end is sent, and then nothing more."""
    again, end = later("again", "firing", 1), later("end", "resolved", 2)
    changes = [FIRED, row(FIRED, "delivered"), again, row(again, "silenced", NOW + 3 * HOUR)]
    assert pending(changes, "team", NOW + HOUR) == [again]
    assert end in pending([*changes, end], "team", NOW + 2 * HOUR)
    assert pending([*changes, end, row(end, "delivered")], "team", NOW + 4 * HOUR) == []


def test_an_end_after_the_silence_leaves_the_beginning_to_be_sent() -> None:
    """The silence was over before the alert was, whether or not anybody looked in between."""
    end = later("end", "resolved", 4)
    changes = [FIRED, row(FIRED, "silenced", NOW + 3 * HOUR), end]
    assert pending(changes, "team", NOW + 5 * HOUR) == [FIRED, end]
    assert pending([*changes, row(FIRED, "silenced", NOW + 6 * HOUR)], "team", NOW + 5 * HOUR) == [end]


ENDED = later("end", "resolved", 1)


def of_other(change: AlertChange, deployment: str = "hr") -> AlertChange:
    return replace(change, change_id=f"{change.change_id} other", alert_id="b", key=StreamKey(deployment, "m", "1"))


@pytest.mark.parametrize(
    ("hours", "is_news"), [(0, True), (24, True), (80, True), (95, True), (96, False), (200, False)]
)
def test_a_receiver_that_knows_another_deployment_gets_an_end_while_messages_are_tried(
    hours: int, is_news: bool
) -> None:
    """With its beginning: all the time in which a message of it could still be under way."""
    assert sum(DELAYS, timedelta()) * 1.2 < timedelta(hours=96)
    changes = [of_other(FIRED), row(of_other(FIRED), "delivered"), FIRED, ENDED]
    changes[1] = replace(changes[1], changed_at=NOW - HOUR, alert_id="b", key=changes[0].key)
    expected = [FIRED, ENDED] if is_news else []
    assert [one for one in pending(changes, "team", NOW + (1 + hours) * HOUR) if one.alert_id == "a"] == expected


@pytest.mark.parametrize(("found_after", "is_news"), [(0, True), (24, True), (25, False)])
def test_a_receiver_that_knows_the_deployment_gets_an_end_however_late_it_looks(
    found_after: int, is_news: bool
) -> None:
    """If it was found within a day: history that is read anew wakes nobody. One that came later is new to it."""
    earlier = replace(row(of_other(FIRED, "rag"), "delivered"), changed_at=NOW - HOUR, alert_id="b")
    end = replace(ENDED, details=AlertDetails(fired_at=NOW, recorded_at=ENDED.changed_at + found_after * HOUR))
    late = NOW + 2000 * HOUR
    assert pending([of_other(FIRED, "rag"), earlier, FIRED, end], "team", late)[:2] == ([FIRED, end] if is_news else [])
    came_later = replace(earlier, changed_at=ENDED.changed_at + (found_after + 1) * HOUR)
    assert pending([of_other(FIRED, "rag"), came_later, FIRED, end], "team", late)[-2:] == []


@pytest.mark.parametrize(
    ("recorded", "looks", "is_news"), [(0, 24, True), (0, 25, False), (5, 24, True), (5, 26, False), (-5, 20, False)]
)
def test_a_new_receiver_gets_what_ended_within_a_day(recorded: int, looks: int, is_news: bool) -> None:
    """By the clock and by the times of the answers; what fires it gets in any case."""
    end = replace(ENDED, details=AlertDetails(fired_at=NOW, recorded_at=ENDED.changed_at + recorded * HOUR))
    fires = of_other(FIRED)
    found = pending([fires, FIRED, end], "team", ENDED.changed_at + looks * HOUR)
    assert found == ([fires, FIRED, end] if is_news else [fires])


def test_a_silence_that_ends_when_the_alert_does_has_not_outlasted_it() -> None:
    """To the second: who looks then is told both."""
    for hours, over in ((0.999, set()), (1, set()), (1.001, {"a"})):
        changes = [FIRED, row(FIRED, "silenced", NOW + hours * HOUR), ENDED]
        assert ended_in_silence(changes, "team") == over
        assert pending(changes, "team", NOW + 2 * HOUR) == ([ENDED] if over else [FIRED, ENDED])
        assert ended_in_silence([*changes, row(FIRED, "delivered")], "team") == set()
        assert ended_in_silence(changes, "another team") == set()


def test_a_silence_that_returns_to_an_earlier_end_has_a_row_of_its_own(lake: Lake) -> None:
    """Made longer and shorter again: each change is written once, of each receiver, and the last one counts."""
    store = AlertStore(lake)
    (fired,) = store.record([transition()], NOW)
    ends = [NOW + hours * HOUR for hours in (3, 3, 5, 5, 3, 5, 3, 3)]
    for minutes, until in enumerate(ends):
        at = NOW + timedelta(minutes=minutes)
        for receiver in ("pager", "team"):
            store.record_silence(fired, receiver, "why", at, until)
            AlertStore(lake).record_silence(fired, receiver, "why", at, until)
    rows = [change for change in AlertStore(lake).changes() if change.change == "silenced"]
    assert len({one.change_id for one in rows}) == len(rows) == 10
    for receiver in ("pager", "team"):
        mine = [one.details.until for one in rows if one.details.receiver == receiver]
        assert mine == [NOW + hours * HOUR for hours in (3, 5, 3, 5, 3)]
        ((change, last),) = held_back(AlertStore(lake).changes(), receiver)
        assert (change.change_id, last.details.until) == (fired.change_id, NOW + 3 * HOUR)
