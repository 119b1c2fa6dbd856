from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.alerts.change import AlertChange, AlertDetails
from monitor.alerts.pending import pending
from monitor.regression import StreamKey

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
