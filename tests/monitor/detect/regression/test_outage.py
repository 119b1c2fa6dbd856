"""Short outages of quality: an hour in which nearly all answers are bad is told as that, and pages only if it lasts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from lake.spec.schemas import SCORES
from monitor.alerting.alerts.new_changes import change_of
from monitor.detect.regression import RegressionSettings, Streams, Transition
from monitor.detect.regression.detector import Detector
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.outage import Outage
from monitor.notify.texts.alert import summary

START = datetime(2026, 11, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURS = 24 * 12
BEGIN = 24 * 10
NOW = START + HOURS * HOUR


def rows(bad: dict[int, float], minutes: int = 0, segment: str | None = None) -> list[dict[str, Any]]:
    """Twenty answers an hour, right or wrong; the share of right ones is 0.8, and another one in these hours."""
    random = np.random.default_rng(3)
    found = []
    for number in range(HOURS * 20):
        at = START + timedelta(minutes=3 * number)
        hour = int((at - timedelta(minutes=minutes) - START) // HOUR)
        known = {"deployment": "rag", "metric": "m", "metric_version": "1", "event_id": str(number)}
        value = float(random.uniform() < bad.get(hour, 0.8))
        found.append(known | {"requested_at": at, "response_id": str(number), "value": value, "segment": segment})
    return found


def found_in(scores: list[dict[str, Any]], cuts: int = 1) -> list[Transition]:
    streams, found = Streams(RegressionSettings()), []
    for part in np.array_split(np.arange(len(scores)), cuts):
        now = scores[part[-1]]["requested_at"] + timedelta(minutes=1)
        streams.add(SCORES.rows([scores[place] for place in part]), now)
        found += streams.advance(now)
    return found + streams.advance(NOW + 3 * HOUR)


def test_an_outage_after_which_no_score_comes_holds_its_page_for_three_hours_by_the_clock() -> None:
    """The detector stays as it is: what later scores give does not depend on the clock."""
    scores = [one for one in rows({BEGIN: 0.0}) if one["requested_at"] < START + (BEGIN + 1) * HOUR]
    streams = Streams(RegressionSettings())
    streams.add(SCORES.rows(scores), START + (BEGIN + 1) * HOUR)
    (begin,) = streams.advance(START + (BEGIN + 3) * HOUR)
    assert (begin.change, begin.reading.tier) == ("firing", "warn")
    held = streams.readings()
    until = START + (BEGIN + 3) * HOUR
    assert held[begin.key].page_held_until == until
    due = until + RegressionSettings().grace
    assert streams.with_ended_holds(held, {}, due - timedelta(microseconds=1)) == held
    assert [one.tier for one in streams.with_ended_holds(held, {}, due).values()] == ["page"]
    few = {begin.key: replace(held[begin.key], log_evidence=held[begin.key].log_page_threshold - 0.1)}
    assert streams.with_ended_holds(few, {}, due) == few
    assert streams.readings() == held


def words(found: list[Transition]) -> list[tuple[str, str | None, int]]:
    return [(one.change, one.reading.tier, round((one.at - START) / HOUR) - BEGIN) for one in found]


@pytest.mark.parametrize("minutes", [0, 30])
@pytest.mark.parametrize("cuts", [1, 40])
def test_an_hour_of_bad_answers_is_a_warning_and_over_soon(minutes: int, cuts: int) -> None:
    """Whether or not it begins with a batch, and in whatever portions rows come."""
    found = found_in(rows({BEGIN: 0.0}, minutes), cuts)
    begin, end = found
    assert (begin.change, begin.reading.tier, end.change) == ("firing", "warn", "resolved")
    assert begin.at >= START + (BEGIN + 1) * HOUR
    assert end.at <= START + (BEGIN + 4) * HOUR
    lasted = end.reading.outage_lasted
    assert lasted is not None
    assert timedelta(minutes=50) <= lasted <= timedelta(minutes=100)
    opened = change_of(begin, None, NOW)
    over = change_of(end, opened, NOW)
    assert summary(over).startswith("rag is back: nearly all answers were bad by “m” for ")
    assert summary(over).endswith(", which is an outage and no change of quality")
    assert not over.ended_without_recovery
    assert over.reason == (
        "nearly all answers were bad for a short time, and are as good as before: no change of quality"
    )


def test_an_outage_that_lasts_is_a_page_an_hour_later() -> None:
    found = found_in(rows(dict.fromkeys(range(BEGIN, HOURS), 0.0)))
    assert words(found) == [("firing", "warn", 1), ("firing", "page", 2)]


def test_the_end_of_a_long_outage_is_that_of_any_fall() -> None:
    """It is told when the evidence says so: nothing is said of an outage."""
    found = found_in(rows(dict.fromkeys(range(BEGIN, BEGIN + 6), 0.0)))
    assert words(found)[:2] == [("firing", "warn", 1), ("firing", "page", 2)]
    assert all(one.reading.outage_lasted is None for one in found)


def run(*values: float, hour: int = 0) -> Observations:
    at = hour * 3_600_000_000 + np.arange(len(values)) * 60_000_000
    return Observations(
        at, np.array(values), np.ones(len(values)), np.zeros(len(values), np.intp), np.zeros(1, np.intp)
    )


@pytest.mark.parametrize(
    ("values", "is_outage"),
    [
        ([0.0] * 10, True),
        ([1.0] * 8 + [0.0] * 10, True),
        ([1.0, 1.0, 1.0, 0.0, 1.0] * 4 + [0.0] * 10, False),
        ([1.0, 0.0] * 5 + [0.0] * 10, False),
        ([0.0, 0.0, 1.0, 0.0] * 5, False),
        ([0.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 3, True),
        ([0.0, 1.0] * 10, False),
    ],
)
def test_an_outage_is_most_of_what_came_since_the_fall_and_the_rest_is_as_usual(
    values: list[float], is_outage: bool
) -> None:
    assert (Outage.of(run(*values), 0.8, 0) is not None) is is_outage
    assert Outage.of(run(*values), 0.8, 4 * 3_600_000_000) is None
    assert Outage.of(run(*values), None, 0) is None


def test_an_outage_of_which_nothing_is_sure_holds_no_page_after_three_hours() -> None:
    """Its end is that of the last bad answers."""
    outage = Outage.of(run(*[0.0] * 10), 0.8, 0)
    assert outage is not None
    assert outage.length == timedelta(minutes=9)
    assert [follow(outage, run(0.4, hour=hour)) for hour in (1, 2, 3)] == [None, None, "lasts"]
    assert outage.length == timedelta(minutes=9)
    follow(outage, run(0.0, 0.0, 1.0, hour=4))
    assert outage.length == timedelta(hours=4, minutes=1)


def follow(outage: Outage, batch: Observations) -> str | None:
    return outage.add(batch, run(*[0.0] * 10).joined(batch, 10 + len(batch)), 0.8)


def test_an_outage_ends_with_the_last_bad_answer_also_in_a_batch_that_is_good() -> None:
    outage = Outage.of(run(*[0.0] * 10), 0.8, 0)
    assert outage is not None
    assert follow(outage, run(*[0.0] * 5, *[1.0] * 40, hour=1)) == "back"
    assert outage.length == timedelta(hours=1, minutes=4)


def test_an_application_that_is_back_and_clearly_worse_than_before_is_not_back() -> None:
    """The middle is 0.4, and 0.55 is above it: it would be told as good as before."""
    outage = Outage.of(run(*[0.0] * 10), 0.8, 0)
    assert outage is not None
    worse = [1.0, 0.0] * 9 + [1.0] * 2
    assert [follow(outage, run(*worse * 3, hour=hour)) for hour in (1, 2, 3)] == [None, None, "lasts"]


def test_another_fall_is_no_outage() -> None:
    """A quarter of the answers is right: its page does not wait, and its end is not that of an outage."""
    found = found_in(rows({BEGIN + hour: 0.25 for hour in range(8)}))
    assert ("firing", "page") in [one[:2] for one in words(found)]
    assert all(one.reading.outage_lasted is None for one in found)


def test_a_fall_that_stays_after_an_outage_is_found() -> None:
    """The application is back, and worse than before: that is another alert, and pages."""
    after = dict.fromkeys(range(BEGIN + 1, HOURS), 0.55)
    found = found_in(rows({BEGIN: 0.0} | after))
    assert words(found)[0] == ("firing", "warn", 1)
    assert words(found)[-1][:2] == ("firing", "page")


def test_an_outage_that_is_neither_over_nor_sure_holds_its_page_for_three_hours() -> None:
    """One answer an hour is too few to say."""
    scores = [one for one in rows(dict.fromkeys(range(BEGIN, HOURS), 0.0)) if one["requested_at"].minute == 0]
    scores = [one for one in rows({}) if one["requested_at"] < START + BEGIN * HOUR] + [
        one for one in scores if one["requested_at"] >= START + BEGIN * HOUR
    ]
    found = words(found_in(scores))
    assert found[0][:2] == ("firing", "warn")
    assert found[1][:2] == ("firing", "page")
    assert found[1][2] - found[0][2] <= 24


def busy(bad: tuple[int, int], hours: int = 32) -> Observations:
    """3,600 conversations an hour; of hour 30 those of these minutes are bad."""
    number = np.arange(hours * 3600)
    at = number * 1_000_000
    minute = at // 60_000_000 - 30 * 60
    values = np.where((minute >= bad[0]) & (minute < bad[1]), 0.0, np.random.default_rng(5).random(len(at)) < 0.8)
    begins = np.arange(hours) * 3600
    return Observations(at, values.astype(np.float64), np.ones(len(at)), np.zeros(len(at), np.intp), begins)


@pytest.mark.parametrize(("bad", "minutes"), [((0, 40), 40), ((10, 25), 15), ((0, 60), 60), ((45, 75), 30)])
@pytest.mark.parametrize("at_once", [True, False])
def test_an_outage_of_a_busy_application_is_seen_whole(bad: tuple[int, int], minutes: int, *, at_once: bool) -> None:
    """An hour has more conversations than are kept, of which the last may all be good, or all be bad."""
    detector, found = Detector(RegressionSettings()), busy(bad)
    parts = [found] if at_once else [found.between(hour, hour + 1) for hour in range(found.batches)]
    readings = [reading for part in parts for _, reading in detector.changes(part, np.ones(part.batches))]
    assert [(one.status, one.tier) for one in readings] == [("regressed", "warn"), ("watching", None)]
    lasted = readings[1].outage_lasted
    assert lasted is not None
    assert abs(lasted - timedelta(minutes=minutes)) < timedelta(minutes=1)


def test_a_page_is_held_longer_than_the_clock_says_while_scores_of_before_still_come() -> None:
    """The evaluator is five hours late: the scores that say that the application is back are on their way."""
    scores = rows({BEGIN: 0.0})
    streams, late = Streams(RegressionSettings()), 5 * HOUR
    known = [one for one in scores if one["requested_at"] < START + (BEGIN + 1.3) * HOUR]
    streams.add(SCORES.rows(known), START + (BEGIN + 1.3) * HOUR + late)
    now = START + (BEGIN + 1.3) * HOUR + late
    (begin,) = streams.advance(now)
    held = streams.readings()
    assert held[begin.key].page_held_until is not None
    assert now > held[begin.key].page_held_until + RegressionSettings().grace
    told = {begin.key: now}
    assert streams.with_ended_holds(held, told, now) == held
    idle = now + HOUR + RegressionSettings().grace
    assert [one.tier for one in streams.with_ended_holds(held, told, idle).values()] == ["page"]
    # Scores of before the outage go on coming.
    due = now + 4 * HOUR + RegressionSettings().grace
    for at in (due - timedelta(microseconds=1), due):
        streams.add(SCORES.rows([scores[-1] | {"requested_at": known[-1]["requested_at"], "event_id": str(at)}]), at)
        found = streams.with_ended_holds(held, told, at).values()
        assert [one.tier for one in found] == ["page" if at == due else "warn"]
