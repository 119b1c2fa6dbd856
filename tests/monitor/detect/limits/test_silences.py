"""Silences at each of their limits, on both sides."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from monitor.detect.limits import LimitChange
from monitor.detect.limits.no_data import PENDING, NoDataDetector, RequestTimes
from tests.monitor.detect.limits.test_no_data import FRIDAY, always, heard
from tests.monitor.detect.limits.test_shares import MINUTE

SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)


def test_two_weeks_of_requests_are_known() -> None:
    """Exactly two are; and twenty pauses of a time of day are enough."""
    for minutes, is_known in ((14 * 1440, True), (14 * 1440 - 5, False)):
        one = heard([FRIDAY, FRIDAY - minutes * MINUTE])
        assert (one.is_known, one.length) == (is_known, minutes * MINUTE)
        assert (one.usual_pause() is not None) is is_known
    assert RequestTimes().until is None
    assert RequestTimes().length == timedelta(0)
    for number, usual in ((20, 9), (19, 15)):
        # Of so many days two requests each, five hours apart; on the others the pause begins at another time of day.
        days = [FRIDAY - n * DAY for n in range(1, 28)]
        at = [day + hours * HOUR for n, day in enumerate(days) for hours in ((3, 8) if n < number else (8,))]
        found = heard([*at, FRIDAY + 3 * HOUR]).usual_pause()
        assert found is not None
        assert (found < 10 * HOUR) is (usual == 9)


def silence(last: datetime, now: datetime, **opened: datetime) -> list[LimitChange]:
    detector = NoDataDetector()
    known = {"a": always(last), "b": always(now)}
    detector.look(known, lambda name: 12.0 if name == "a" else None, opened, now - PENDING)
    return detector.look(known, lambda name: 12.0 if name == "a" else None, opened, now)


@pytest.mark.parametrize(
    ("minutes", "fires"), [(124.9, False), (125, True), (125 + 3 * 1440, True), (125.1 + 3 * 1440, False)]
)
def test_a_silence_fires_at_its_limit_and_for_three_days(minutes: float, fires: bool) -> None:
    """Twelve times the usual ten minutes, from the end of the last slot with a request, once it was seen for five."""
    now = FRIDAY + minutes * MINUTE
    detector, known = NoDataDetector(), {"a": always(FRIDAY), "b": always(FRIDAY + 9 * DAY)}
    factor = {"a": 12.0, "b": None}.get
    first = detector.look(known, factor, {}, now)
    assert first == []
    assert detector.look(known, factor, {}, now + PENDING - SECOND) == []
    found = detector.look(known, factor, {}, now + PENDING)
    if fires and minutes < 1000:
        (one,) = found
        assert (one.at, one.since) == (FRIDAY + 125 * MINUTE, FRIDAY + 5 * MINUTE)
    if minutes < 125:
        assert detector._pending == {"a": now + PENDING - SECOND}
    if minutes > 1000:
        assert ("a" in detector._pending) is False
        again = NoDataDetector()
        again.look(known, factor, {}, now)
        assert ("a" in again._pending) is fires


def test_the_time_for_which_a_silence_was_seen_begins_anew_with_a_clock_that_was_set_back() -> None:
    """Five minutes of that time are waited for."""
    detector, known = NoDataDetector(), {"a": always(FRIDAY), "b": always(FRIDAY + 9 * HOUR)}
    now = FRIDAY + 5 * HOUR
    assert detector.look(known, lambda _: 3.0, {}, now) == []
    assert detector.look(known, lambda _: 3.0, {}, now - HOUR) == []
    assert [one.deployment for one in detector.look(known, lambda _: 3.0, {}, now - HOUR + PENDING)] == ["a"]


def test_a_silence_is_over_with_a_later_request_or_after_four_weeks() -> None:
    """Not with one of the time at which it fired."""
    until = FRIDAY + 5 * MINUTE
    assert silence(FRIDAY, FRIDAY + HOUR, a=until) == []
    (over,) = silence(FRIDAY, FRIDAY + HOUR, a=until - SECOND)
    assert (over.change, over.at, over.reason) == ("resolved", until, "there are requests again")
    fired = FRIDAY + 3 * HOUR
    assert silence(FRIDAY, fired + 28 * DAY, a=fired) == []
    (over,) = silence(FRIDAY, fired + 28 * DAY + SECOND, a=fired)
    assert (over.at, over.reason) == (fired + 28 * DAY, "no request for four weeks: none is expected")


def test_of_all_that_are_silent_the_first_to_be_due_stands_for_all() -> None:
    """By when it is due, then by name; none where such an alert is open."""
    known = {"b": always(FRIDAY), "a": always(FRIDAY + 10 * MINUTE), "c": always(FRIDAY)}
    for opened, found in [({}, ["b"]), ({"x": FRIDAY + DAY}, []), ({"x": FRIDAY}, ["b"])]:
        detector, now = NoDataDetector(), FRIDAY + 5 * HOUR
        for at in (now, now + PENDING):
            changes = detector.look(known, lambda _: 3.0, opened, at)
        assert [one.deployment for one in changes] == found


def test_a_silence_that_another_was_heard_at_the_end_of_is_its_own() -> None:
    """To the moment; of several that are silent together the first to be due fires, however long each was silent."""
    assert timedelta(minutes=5) == PENDING
    known = {"a": always(FRIDAY), "b": always(FRIDAY + 60 * MINUTE)}
    detector, now = NoDataDetector(), FRIDAY + 70 * MINUTE
    for at in (now, now + PENDING):
        changes = detector.look(known, lambda _: 3.0, {}, at)
    (one,) = changes
    assert one.details is not None
    assert (one.deployment, one.at, one.details.all_silent) == ("a", FRIDAY + 65 * MINUTE, False)
    together = {"a": always(FRIDAY), "b": always(FRIDAY + 10 * MINUTE)}
    detector, now = NoDataDetector(), FRIDAY + 8 * HOUR
    for at in (now, now + PENDING):
        changes = detector.look(together, {"a": 30.0, "b": 3.0}.get, {}, at)
    assert [one.deployment for one in changes] == ["b"]
