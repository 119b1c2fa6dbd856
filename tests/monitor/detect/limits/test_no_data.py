from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from lake.spec.deployment_families import Families
from monitor.detect.limits.no_data import (
    PENDING,
    NoDataDetector,
    RequestTimes,
    replaced_versions,
    with_history_of_families,
)
from monitor.detect.limits.results import LimitChange

FRIDAY = datetime(2026, 11, 20, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def heard(times: Iterable[datetime]) -> RequestTimes:
    one = RequestTimes()
    every = sorted(times)
    for portion in (every[1::2], every[::2]):
        one.add(pa.chunked_array([pa.array(portion, pa.timestamp("us", "UTC"))]), every[-1])
    return one


def at_work(until: datetime, days: int = 28) -> RequestTimes:
    """Somebody asks every quarter of an hour from 8 to 18, Monday to Friday."""
    quarters = (until - number * HOUR / 4 for number in range(days * 96))
    return heard(at for at in quarters if at.weekday() < 5 and 8 <= at.hour < 18)


def always(until: datetime, days: int = 28) -> RequestTimes:
    return heard(until - number * timedelta(minutes=10) for number in range(days * 144))


def looked(
    silences: NoDataDetector, known: dict[str, RequestTimes], now: datetime, **opened: datetime
) -> list[LimitChange]:
    """Look twice, as far apart as a silence must be seen."""
    silences.look(known, lambda name: 3.0, opened, now - PENDING)
    return silences.look(known, lambda name: 3.0, opened, now)


def test_nights_and_weekends_of_an_app_at_work_are_no_silence() -> None:
    """From Friday evening to Monday morning, and over a holiday after it, nothing fires."""
    known = {"hr": at_work(FRIDAY + 18 * HOUR), "all day": always(FRIDAY + 5 * DAY)}
    for hours in range(18, 24 * 4):
        assert looked(NoDataDetector(), known, FRIDAY + hours * HOUR) == []


def test_a_version_whose_requests_go_to_another_one_is_not_silent() -> None:
    """Nor does its alert stay open: one that was replaced, and one that was rolled back."""
    older, newer, newest = (f"help__1.{number}.0" for number in range(3))
    stopped, now = always(FRIDAY), FRIDAY + DAY
    known = {older: stopped, newer: always(now), newest: stopped, "other": stopped}
    replaced = replaced_versions(known, Families())
    assert replaced == {older: newer, newest: newer}
    assert replaced_versions({older: stopped, newer: stopped}, Families()) == {}
    assert replaced_versions(known, Families(by_id=False)) == {}
    silences = NoDataDetector()
    for at in (now - PENDING, now):
        found = silences.look(known, lambda name: 3.0, {}, at, replaced)
    assert [change.deployment for change in found] == ["other"]
    (over,) = silences.look(known, lambda name: 3.0, {older: FRIDAY + HOUR}, now, replaced)[:1]
    assert (over.deployment, over.change, over.at) == (older, "resolved", now)
    assert over.reason == f"requests go to {newer}, another version"


def test_a_new_version_knows_the_usual_pauses_of_the_older_ones() -> None:
    """It has answered for an hour; the older one was at work for weeks, and what it got later does not count."""
    older, newer = "help__1.0.0", "help__1.1.0"
    known = {older: at_work(FRIDAY + 12 * HOUR), newer: heard(FRIDAY + (48 + n) * HOUR / 4 for n in range(5))}
    assert not known[newer].is_known
    joined = with_history_of_families(known, Families())
    assert joined[newer].is_known
    assert joined[newer].until == known[newer].until
    assert joined[newer].usual_pause() == at_work(FRIDAY + 12 * HOUR).usual_pause()
    later = {older: at_work(FRIDAY + 4 * DAY), newer: known[newer]}
    assert with_history_of_families(later, Families())[newer].until == known[newer].until
    assert with_history_of_families(known, Families(by_id=False))[newer] is known[newer]


def every_ten_minutes(day: datetime, first: float, last: float) -> list[datetime]:
    """From one hour of a day to another, which may be of the next day."""
    return [day + first * HOUR + number * timedelta(minutes=10) for number in range(int((last - first) * 6) + 1)]


@pytest.mark.parametrize(
    ("early", "late", "last", "usual"),
    [
        # The long pauses begin after midnight, or every other day before it, and the last request is on its other side.
        pytest.param(25.0, 25.0, 23.5, 13.0, id="last before midnight"),
        pytest.param(22.5, 26.0, 24.5, 15.5, id="last after midnight"),
    ],
)
def test_the_usual_pause_is_of_its_time_of_day_across_midnight(
    early: float, late: float, last: float, usual: float
) -> None:
    """The longest pause that began within three hours of the last request's time of day counts, past midnight too."""
    days = [FRIDAY - number * DAY for number in range(28)]
    times = [at for n, day in enumerate(days[1:]) for at in every_ten_minutes(day, 14, late if n % 2 else early)]
    known = heard([*times, *every_ten_minutes(FRIDAY, 14, last)])
    assert known.usual_pause() == usual * HOUR


def test_silence_in_the_middle_of_a_working_day_fires_after_an_hour() -> None:
    """The usual pause at this time of day is a quarter of an hour; an hour is the least."""
    known = {"hr": at_work(FRIDAY + 11 * HOUR), "all day": always(FRIDAY + 5 * DAY)}
    assert looked(NoDataDetector(), known, FRIDAY + 12 * HOUR) == []
    (change,) = looked(NoDataDetector(), known, FRIDAY + 12.5 * HOUR)
    since = FRIDAY + 11 * HOUR + timedelta(minutes=5)
    assert (change.deployment, change.change, change.since, change.at) == ("hr", "firing", since, since + HOUR)
    assert change.details is not None
    assert (change.details.usual_seconds, change.details.limit_seconds) == (900, 3600)
    assert not change.details.all_silent


def test_a_request_ends_it_and_so_do_four_weeks() -> None:
    """It is over with the first request after it fired, or when none is expected any more."""
    fired = FRIDAY + 13 * HOUR
    still = {"hr": at_work(FRIDAY + 11 * HOUR)}
    assert looked(NoDataDetector(), still, FRIDAY + 15 * HOUR, hr=fired) == []
    (again,) = looked(NoDataDetector(), {"hr": at_work(FRIDAY + 14 * HOUR)}, FRIDAY + 15 * HOUR, hr=fired)
    assert (again.change, again.at) == ("resolved", FRIDAY + 14 * HOUR + timedelta(minutes=5))
    (over,) = looked(NoDataDetector(), still, fired + 28 * DAY + HOUR, hr=fired)
    assert (over.change, over.at) == ("resolved", fired + 28 * DAY)


def test_where_all_are_silent_one_fires() -> None:
    """A collector that is down is one alert; whoever stays away when the others are heard again is one each."""
    known = {name: always(FRIDAY) for name in ("a", "b", "c")}
    silences = NoDataDetector()
    (change,) = looked(silences, known, FRIDAY + 3 * HOUR)
    assert change.deployment == "a"
    assert change.details is not None
    assert change.details.all_silent
    assert looked(silences, known, FRIDAY + 9 * HOUR, a=change.at) == []
    back = FRIDAY + 10 * HOUR
    known |= {"b": always(back)}
    assert [c.deployment for c in looked(silences, known, back, a=change.at)] == ["c"]


def test_a_request_of_the_future_is_none() -> None:
    """A wrong clock neither hides that a deployment is silent nor drives out what is known of it."""
    known = {"hr": at_work(FRIDAY + 11 * HOUR), "all day": always(FRIDAY + 5 * DAY)}
    future = pa.chunked_array([pa.array([FRIDAY + 900 * DAY], pa.timestamp("us", "UTC"))])
    known["hr"].add(future, FRIDAY + 11 * HOUR)
    assert [c.deployment for c in looked(NoDataDetector(), known, FRIDAY + 12.5 * HOUR)] == ["hr"]


def test_tables_that_are_read_a_moment_apart_are_no_silence() -> None:
    """After a long stop one deployment's rows come before another's: it fires only if it lasts."""
    silences, factor = NoDataDetector(), lambda name: 3.0
    late = {"a": always(FRIDAY), "b": always(FRIDAY + 5 * HOUR)}
    assert silences.look(late, factor, {}, FRIDAY + 5 * HOUR) == []
    both = {"a": always(FRIDAY + 5 * HOUR), "b": always(FRIDAY + 5 * HOUR)}
    assert silences.look(both, factor, {}, FRIDAY + 5 * HOUR + PENDING) == []


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(lambda: always(FRIDAY, days=13), id="too new"),
        pytest.param(lambda: heard(FRIDAY - day * DAY for day in range(28)), id="once a day"),
        pytest.param(lambda: always(FRIDAY - 4 * DAY), id="silent for long when first seen"),
    ],
)
def test_who_is_not_expected_is_not_missed(known: Callable[[], RequestTimes]) -> None:
    """Less than two weeks of history say nothing, a day is no pause for who asks daily, and old silence is no news."""
    assert looked(NoDataDetector(), {"a": known(), "b": always(FRIDAY + DAY)}, FRIDAY + DAY) == []


def test_what_is_silent_for_longer_than_usual_says_since_when() -> None:
    """After an hour where the usual pauses are not known; to five minutes."""
    new = heard([FRIDAY, FRIDAY + timedelta(minutes=2)])
    assert new.until == FRIDAY + timedelta(minutes=5)
    assert new.silent_since(FRIDAY + timedelta(minutes=64)) is None
    assert new.silent_since(FRIDAY + timedelta(minutes=66)) == new.until
    assert RequestTimes().silent_since(FRIDAY) is None
    busy = always(FRIDAY)
    assert busy.silent_since(FRIDAY + timedelta(minutes=60)) is None
    assert busy.silent_since(FRIDAY + timedelta(minutes=66)) == busy.until
    at_night = at_work(FRIDAY + 18 * HOUR)
    assert at_night.silent_since(FRIDAY + 30 * HOUR) is None
    assert at_night.silent_since(FRIDAY + 90 * HOUR) == at_night.until
