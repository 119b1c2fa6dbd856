import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lake.spec.root_tables import SILENCES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.table import Table
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.notify.notifier import Notifier
from monitor.notify.view import NotificationView
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.notify.test_notifier import HOUR, START, transition


@pytest.fixture
def alerts(lake: Lake) -> AlertStore:
    return AlertStore(lake)


@pytest.fixture
def silenced(alerts: AlertStore) -> Callable[..., Notifier]:
    """A notifier for one receiver, with rag silenced for three hours; without a book it begins as after a restart."""

    def build(receiver: Any, **matchers: str) -> Notifier:
        silence = Silence(until=START + 3 * HOUR, comment="new index", **(matchers or {"deployment": "rag"}))
        view = NotificationView(silences=[silence])
        return Notifier([receiver.settings()], alerts, view=view, internal_hosts=["127.0.0.1"])

    return build


def rows(alerts: AlertStore, kind: str) -> list[AlertChange]:
    return [change for change in alerts.changes() if change.change == kind]


def test_what_still_fires_when_the_silence_ends_is_sent_then(
    alerts: AlertStore, silenced: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """Till then there is one row that says why nothing was sent, and the next look is due at the end."""
    receiver = start_receiver()
    (fired,) = alerts.record([transition()], START)
    sender = silenced(receiver)
    for _ in range(3):
        assert sender.run_due(START + HOUR) == START + 3 * HOUR
    assert receiver.requests == []
    (row,) = rows(alerts, "silenced")
    assert (row.delivery_of, row.details.receiver) == (fired.change_id, "pager")
    assert row.reason == "silenced until 2026-11-01T03:00:00+00:00: new index"
    assert sender.run_due(START + 3 * HOUR) is None
    assert [request.headers["webhook-id"] for request in receiver.requests] == [fired.change_id]
    assert len(rows(alerts, "delivered")) == 1


def test_what_is_over_before_the_silence_is_not_sent(
    lake: Lake, alerts: AlertStore, silenced: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """Neither its beginning nor its end, also after the silence and a restart, and both have a row."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    sender = silenced(receiver)
    sender.run_due(START + HOUR)
    (end,) = alerts.record([transition("resolved", 2)], START + 2 * HOUR)
    assert sender.run_due(START + 2 * HOUR) is None
    assert sender.run_due(START + 4 * HOUR) is None
    again = Notifier([receiver.settings()], AlertStore(lake), internal_hosts=["127.0.0.1"])
    assert again.run_due(START + 4 * HOUR) is None
    assert receiver.requests == []
    assert end.change_id in {row.delivery_of for row in rows(alerts, "silenced")}
    assert len(rows(alerts, "silenced")) == 2


def test_the_end_of_a_sent_alert_is_sent_in_a_silence(
    alerts: AlertStore, silenced: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """Who knows that something is wrong hears that it is over."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    Notifier([receiver.settings()], alerts, internal_hosts=["127.0.0.1"]).run_due(START)
    alerts.record([transition("resolved", 2)], START + HOUR)
    assert silenced(receiver).run_due(START + HOUR) is None
    assert len(receiver.requests) == 2
    assert rows(alerts, "silenced") == []


def test_a_table_that_cannot_be_read_ends_no_silence(alerts: AlertStore, start_receiver: Callable[..., Any]) -> None:
    """What was known of silences goes on until they are known again; who knows nothing yet goes by what there is."""
    receiver = start_receiver()
    view = NotificationView(silences=None)
    sender = Notifier([receiver.settings()], alerts, view=view, internal_hosts=["127.0.0.1"])
    alerts.record([transition()], START)
    assert sender.run_due(START) is None
    silence = Silence(deployment="rag", until=START + 3 * HOUR)
    sender.view = sender.view.with_silences([silence], is_certain=False)
    assert sender.run_due(START) == START + 3 * HOUR
    sender.view = sender.view.with_silences([], is_certain=False)
    assert sender.run_due(START + HOUR) == START + 3 * HOUR
    assert receiver.requests == []
    sender.view = sender.view.with_silences([], is_certain=True)
    sender.run_due(START + HOUR)
    assert len(receiver.requests) == 1


def test_an_alert_that_ends_after_the_silence_is_sent_whole(
    lake: Lake, alerts: AlertStore, silenced: Callable[..., Notifier], start_receiver: Callable[..., Any]
) -> None:
    """Also where the monitor was down between the end of the silence and that of the alert."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    silenced(receiver).run_due(START + HOUR)
    alerts.record([transition("resolved", 5)], START + 5 * HOUR)
    assert silenced(receiver).run_due(START + 5 * HOUR) is None
    assert len(receiver.requests) == 2


@pytest.mark.parametrize(("is_settled", "other_ended"), [(False, -HOUR), (True, -HOUR), (True, 1.5 * HOUR)])
def test_a_silence_that_left_the_configuration_has_held_until_then(
    alerts: AlertStore,
    silenced: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    is_settled: bool,
    other_ended: timedelta,
) -> None:
    """What was over before is not sent, whichever silence ended before it, and what is over after it is sent whole."""
    receiver = start_receiver()
    sender = silenced(receiver)
    alerts.record([transition(), transition(metric="n")], START)
    sender.run_due(START + HOUR)
    alerts.record([transition("resolved", 2)], START + 2 * HOUR)
    if is_settled:
        sender.run_due(START + 2 * HOUR)
    others = [Silence(deployment="rag", metric="m", until=START + other_ended)]
    view = NotificationView(silences=others)
    again = Notifier([receiver.settings()], alerts, view=view, internal_hosts=["127.0.0.1"])
    alerts.record([transition("resolved", 2, metric="n")], START + 2.5 * HOUR)
    again.run_due(START + 2.5 * HOUR)
    again.run_due(START + 4 * HOUR)
    assert [b'"metric":"n"' in request.body for request in receiver.requests] == [True, True]


@pytest.mark.parametrize(
    ("matchers", "silent"),
    [
        ({"deployment": "rag"}, True),
        ({"deployment": "rag", "metric": "m"}, True),
        ({"metric": "m"}, True),
        ({"deployment": "other"}, False),
        ({"deployment": "rag", "metric": "other"}, False),
    ],
)
def test_a_silence_holds_what_matches_it_and_nothing_else(
    alerts: AlertStore,
    silenced: Callable[..., Notifier],
    start_receiver: Callable[..., Any],
    matchers: dict[str, str],
    silent: bool,
) -> None:
    """Every matcher that is given must fit."""
    receiver = start_receiver()
    alerts.record([transition()], START)
    silenced(receiver, **matchers).run_due(START)
    assert len(receiver.requests) == (0 if silent else 1)


def test_metrics_of_one_deployment_are_one_message_and_a_row_each(
    alerts: AlertStore, start_receiver: Callable[..., Any]
) -> None:
    """A minute after the first came all go out at once, recorded together."""
    receiver = start_receiver(500, 200)
    alerts.record([transition(metric="m"), transition(metric="n")], START)
    alerts.record([transition(metric="o")], START + timedelta(seconds=30))
    minute = timedelta(minutes=1)
    sender = Notifier([receiver.settings()], alerts, internal_hosts=["127.0.0.1"], group=minute)
    assert sender.run_due(START + timedelta(seconds=31)) == START + minute
    assert receiver.requests == []
    due = sender.run_due(START + minute)
    assert due is not None
    sender.run_due(due)
    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert len(rows(alerts, "delivered")) == 3
    assert {row.reason for row in rows(alerts, "delivered")} == {"answered 200, in one message with 2 more"}


def test_a_silence_without_a_zone_is_refused() -> None:
    """An end that could be two instants is an error."""
    with pytest.raises(ValidationError, match="timezone"):
        Silence.model_validate({"until": "2026-11-01T03:00:00"})
    assert Silence.model_validate({"until": "2026-11-01T03:00:00Z"}).until == datetime(2026, 11, 1, 3, tzinfo=UTC)


def test_a_monitor_that_reads_all_anew_keeps_the_silences_that_it_cannot_read(
    lake: Lake, rows: Any, clock: Any, start_receiver: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment that leaves the lake while `_silences` cannot be read wakes nobody who asked for silence."""
    receiver = start_receiver()
    settings = MonitorSettings(webhooks=(receiver.settings(),), internal_hosts=("127.0.0.1",), group_seconds=0)
    monitor = Monitor(lake, settings, clock)
    add_silence(lake, Silence(metric="m", until=clock() + 3 * HOUR), clock())
    rows.logs("gone", {})
    rows.logs("rag", {})
    monitor.refresh()
    shutil.rmtree(Path(lake.table(PARSED_LOGS, "gone").uri).parent)
    AlertStore(lake).record([transition()], clock())
    read_since = Table.read_since

    def fail(table: Table, *given: Any, **more: Any) -> Any:
        if table.spec is SILENCES:
            raise OSError("503 SlowDown")
        return read_since(table, *given, **more)

    monkeypatch.setattr(Table, "read_since", fail)
    for _ in range(2):
        monitor.refresh()
        monitor._notifier.run_due(clock())
    assert any("_silences" in problem for problem in monitor.health().problems)
    assert receiver.requests == []
    clock.advance(hours=3)
    monitor.refresh()
    monitor._notifier.run_due(clock())
    assert len(receiver.requests) == 1
