"""The times of an incident."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from lake.spec.alert_vocabulary import AlertEvent
from monitor.pages.incidents.log_rows import moments_of
from tests.monitor.conftest import NOW

HOUR = timedelta(hours=1)


def words(
    fired_at: datetime = NOW, onset: datetime | None = None, **more: Any
) -> list[tuple[datetime, str, str | None]]:
    """The moments of an incident that began now."""
    fired = SimpleNamespace(fired_at=fired_at, is_limit=more.get("is_limit", False), alert_id="a")
    ended_at = more.get("ended_at")
    incident = SimpleNamespace(opened_at=NOW, ended_at=ended_at, recovering_since=more.get("recovering_since"))
    changes = [SimpleNamespace(alert_id=alert, changed_at=at, pages=True) for alert, at in more.get("pages", ())]
    times = {"is_open": ended_at is None, "since": onset, "back_at": more.get("back_at")}
    found = SimpleNamespace(incident=incident, state=SimpleNamespace(changes=changes), **times)
    chosen = SimpleNamespace(fired=fired, shown_onset=onset, metric="m")
    moments = moments_of(found, chosen, more.get("received", ()))  # type: ignore[arg-type]
    return [(one.at, one.text, one.metric) for one in moments]


BEGAN = (NOW, "found: first alert fired", None)


def test_the_fall_comes_before_the_alert_and_recovery_after_it() -> None:
    """Of a limit it is when it began to be exceeded."""
    fell = (NOW - HOUR, "quality most likely began to fall, as seen in", "m")
    recovers = (NOW + HOUR, "most of the fall is gone: it recovers", None)
    assert words(onset=NOW - HOUR, recovering_since=NOW + HOUR) == [fell, BEGAN, recovers]
    over = words(onset=NOW - HOUR, back_at=NOW + HOUR, ended_at=NOW + 3 * HOUR)
    assert over == [
        (NOW - HOUR, "it most likely began", None),
        BEGAN,
        (NOW + HOUR, "quality was most likely back", None),
        (NOW + 3 * HOUR, "closed: last alert over", None),
    ]
    assert words(onset=NOW - HOUR, is_limit=True) == [(NOW - HOUR, "it began, as seen in", "m"), BEGAN]


def test_an_alert_that_fired_later_and_one_that_became_a_page_have_times_of_their_own() -> None:
    """The alert that is looked at; a page that it was from its beginning is no other time."""
    assert words(NOW + HOUR) == [BEGAN, (NOW + HOUR, "alert fired, on", "m")]
    assert words(pages=[("a", NOW), ("b", NOW + HOUR)]) == [BEGAN]
    page = (NOW + 2 * HOUR, "alert became urgent, on", "m")
    assert words(pages=[("a", NOW + 3 * HOUR), ("a", NOW + 2 * HOUR)]) == [BEGAN, page]


@pytest.mark.parametrize(
    ("outcome", "reason", "text"),
    [
        (AlertEvent.DELIVERED, "", "latest message sent to pager"),
        (AlertEvent.SUMMARIZED, "it goes on", "latest message sent to pager"),
        (AlertEvent.SILENCED, "", "latest message to pager was held back by a silence"),
        (
            AlertEvent.SILENCED,
            "told by the incident of x",
            "latest message to pager was held back: told by the incident of x",
        ),
    ],
)
def test_messages_say_what_came_of_them(outcome: AlertEvent, reason: str, text: str) -> None:
    told = SimpleNamespace(at=NOW + HOUR, receiver="pager", outcome=outcome, reason=reason)
    assert words(received=[told]) == [BEGAN, (NOW + HOUR, text, None)]
