import logging
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.spec.schemas import SCORES
from monitor.detect.regression import (
    Status,
    StreamKey,
    Streams,
    Transition,
)
from tests.monitor.detect.regression.feeding import HOUR, KEY, NOW, SETTINGS, START, feed, feed_all, hourly_scores, row


def test_a_planted_drop_is_found_once_and_resolved_once() -> None:
    """Worse from hour 20 to hour 40: one firing soon after 20, since about then, one resolved soon after 40."""
    _, (fired, page, resolved) = feed_all(hourly_scores(60, 20, 40))
    assert (fired.key, fired.change, page.change, resolved.change) == (KEY, "firing", "firing", "resolved")
    assert (fired.reading.tier, page.reading.tier) == ("warn", "page")
    assert START + 20 * HOUR < fired.at <= START + 28 * HOUR
    assert START + 40 * HOUR < resolved.at <= START + 56 * HOUR
    assert fired.reading.since is not None
    assert abs(fired.reading.since - (START + 20 * HOUR)) <= 2 * HOUR


def test_the_worst_answers_are_those_since_the_change() -> None:
    """An alert names five answers of the bad time, worst first, not an older one that was worse still."""
    rows = hourly_scores(40, 25)
    rows[100]["value"] = 0.0
    _, transitions = feed_all(rows)
    fired = transitions[0]
    bad = {r["response_id"]: r["value"] for r in rows if START + 24 * HOUR <= r["requested_at"] < fired.at}
    assert fired.worst == tuple(sorted(bad.items(), key=lambda item: item[1])[:5])


@cache
def fed_at_once() -> tuple[list[dict[str, Any]], Streams, list[Transition]]:
    rows = hourly_scores(50, 20, 35)
    return rows, *feed_all(rows)


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.integers(0, 300), max_size=8))
def test_the_split_of_rows_over_calls_changes_nothing(cuts: list[int]) -> None:
    """Rows in order of time give the same transitions and readings in one call and in any number of calls."""
    rows, whole, expected = fed_at_once()
    parts, transitions = feed_all(rows, cuts)
    assert transitions == expected
    assert parts.readings() == whole.readings()


odd_rows = st.builds(
    lambda minute, value, chat, probability, odd: row(
        START + minute * timedelta(minutes=1), value, str(minute), chat_id=chat, sampling_probability=probability, **odd
    ),
    st.integers(0, 1200),
    st.sampled_from([0.0, 0.2, 0.9, 1.0, 1.5, None, float("nan")]),
    st.sampled_from([None, "", "one", "two"]),
    st.sampled_from([None, 1.0, 0.5, 0.01, 0.0, float("nan")]),
    st.sampled_from(
        [
            *[{}] * 4,
            {"metric_version": None},
            {"direction": "down", "high": 2.0},
            {"direction": "up", "low": 0.0, "high": None},
            {"response_id": ""},
            {"event_id": None},
            {"is_backfill": True},
            {"deployment": None},
            {"requested_at": None},
            {"direction": "none"},
        ]
    ),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(odd_rows, min_size=1, max_size=60))
def test_rows_at_once_are_what_they_are_one_by_one(rows: list[dict[str, Any]]) -> None:
    """However odd, rows in order of time give the same readings, transitions and counts in one table as one by one."""
    rows = sorted(rows, key=lambda one: one["requested_at"] or START)
    whole, transitions = feed_all(rows)
    single, expected = feed_all(rows, list(range(len(rows))))
    assert transitions == expected
    assert whole.readings() == single.readings()
    assert whole.skipped == single.skipped


def test_streams_do_not_touch_each_other() -> None:
    """Of two deployments and two versions only the stream that got worse fires."""
    rows = hourly_scores(40, 20) + [
        r | change
        for change in ({"deployment": "other"}, {"metric_version": "2"})
        for r in hourly_scores(40, 1000, seed=2)
    ]
    streams, transitions = feed_all(rows)
    assert {t.key for t in transitions} == {KEY}
    assert {key: reading.status for key, reading in streams.readings().items()} == {
        KEY: Status.REGRESSED,
        StreamKey("other", KEY.metric, "1"): Status.WATCHING,
        StreamKey(KEY.deployment, KEY.metric, "2"): Status.WATCHING,
    }


def test_a_metric_whose_better_direction_is_down_is_watched_upside_down() -> None:
    """Latency-like values from 0 to 10 that rise are a regression reported in their own units; that fall are none."""
    ends = {"direction": "down", "low": 0.0, "high": 10.0}

    def turned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [r | ends | {"value": 10 * (1 - r["value"])} for r in rows]

    plain, turned_over = feed_all(hourly_scores(40, 20)), feed_all(turned(hourly_scores(40, 20)))
    assert [(t.key, t.at, t.change) for t in plain[1]] == [(t.key, t.at, t.change) for t in turned_over[1]]
    up, down = plain[0].readings()[KEY], turned_over[0].readings()[KEY]
    assert down.reference_mean == pytest.approx(10 * (1 - up.reference_mean))  # type: ignore[operator]
    assert down.since_lower == pytest.approx(10 * (1 - up.since_upper))  # type: ignore[operator]
    assert down.drop == pytest.approx(10 * up.drop)  # type: ignore[operator]
    assert down.log_evidence == pytest.approx(up.log_evidence)
    assert [value for _, value in turned_over[1][0].worst] == pytest.approx(
        [10 * (1 - value) for _, value in plain[1][0].worst]
    )
    better = [r | ends | {"value": 10 * r["value"]} for r in hourly_scores(40, 20)]
    assert feed_all(better)[1] == []


@pytest.mark.parametrize("ends", [{"direction": "none"}, {"direction": "down", "high": float("inf")}, {"low": 1.0}])
def test_a_metric_without_two_ends_and_a_better_one_is_not_watched(ends: dict[str, Any]) -> None:
    """It has no reading, and is counted."""
    streams, transitions = feed_all([r | ends for r in hourly_scores(30, 10)])
    assert (streams.readings(), transitions, streams.skipped) == ({}, [], {"no_scale": 180})


def test_the_fleet_is_what_has_had_scores_so_far() -> None:
    """The evidence that pages grows with the deployments and metrics seen before, not with versions or later ones."""
    quiet = [r | {"deployment": f"app-{n}"} for n in range(9) for r in hourly_scores(12, 1000, seed=n)]
    later = [r | {"deployment": "later", "requested_at": r["requested_at"] + 30 * HOUR} for r in hourly_scores(6, 1000)]
    version = [
        r | {"metric_version": "2", "requested_at": r["requested_at"] + 30 * HOUR} for r in hourly_scores(6, 1000)
    ]
    alone = feed_all(hourly_scores(30, 20))[1]
    fleet = feed_all([*hourly_scores(30, 20), *quiet, *later, *version])[1]
    assert [np.exp(t.reading.log_page_threshold) for t in alone] == pytest.approx([365 * 24] * len(alone))
    assert [np.exp(t.reading.log_page_threshold) for t in fleet] == pytest.approx([10 * 365 * 24] * len(fleet))


def test_answers_of_one_conversation_are_one_observation() -> None:
    """Forty answers of one chat in an hour teach one observation, forty of no chat teach forty."""
    alone = [row(START, 0.5, str(n)) for n in range(40)]
    together = [row(START, 0.5, str(n), chat_id="chat", deployment="chatty") for n in range(40)]
    streams, _ = feed_all(
        [*alone, *together, row(START + 3 * HOUR, 0.5), row(START + 3 * HOUR, 0.5, deployment="chatty")]
    )
    assert sorted(r.reference_observations for r in streams.readings().values()) == [1, 40]


def test_an_idle_stream_closes_its_last_batch_by_the_clock() -> None:
    """After a batch and its grace without news, an empty call takes in the last hour."""
    streams = Streams(SETTINGS)
    feed(streams, SCORES.rows([row(START, 0.5)]), START + HOUR)
    nothing = SCORES.rows([])
    feed(streams, nothing, START + 2 * HOUR)
    assert streams.readings()[KEY].reference_observations == 0
    feed(streams, nothing, START + 2 * HOUR + SETTINGS.grace)
    assert streams.readings()[KEY].reference_observations == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"value": None}, "no_value"),
        ({"value": float("nan")}, "out_of_range"),
        ({"value": 1.5}, "out_of_range"),
        ({"value": float("-inf")}, "out_of_range"),
        ({"requested_at": None}, "no_time"),
        ({"requested_at": NOW + HOUR}, "future"),
        ({"deployment": None}, "no_stream"),
        ({"metric": None}, "no_stream"),
        ({"sampling_probability": 0.0}, "bad_probability"),
        ({"sampling_probability": float("nan")}, "bad_probability"),
    ],
)
def test_a_row_that_cannot_be_used_is_counted_and_harms_nothing(
    change: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One bad row in the middle of good ones leaves their readings as they were, is counted, and is logged once."""
    good = hourly_scores(10, 1000)
    with caplog.at_level(logging.WARNING):
        streams, _ = feed_all([*good[:30], *[row(START + 5 * HOUR, 0.5) | change] * 2, *good[30:]])
    assert streams.skipped == {reason: 2}
    assert streams.readings() == feed_all(good)[0].readings()
    assert len(caplog.records) == (0 if reason == "no_value" else 1)


@pytest.mark.parametrize("probability", [None, 5e-324])
def test_an_odd_sampling_probability_is_bearable(probability: float | None) -> None:
    """Null counts as certain, and the smallest number above 0 does not break the mean."""
    rows = [row(START, 0.5, sampling_probability=probability), row(START + 3 * HOUR, 0.5)]
    streams, _ = feed_all(rows)
    assert streams.readings()[KEY].mean == pytest.approx(0.5)


def test_a_clock_that_was_never_set_holds_up_no_stream() -> None:
    """A score of the year 1 is a batch of its own: nothing is raised, and the delay is a century at most."""
    streams, first = Streams(SETTINGS), datetime.min.replace(tzinfo=UTC)
    assert feed(streams, SCORES.rows([row(first, 0.8)]), NOW) == []
    assert feed(streams, SCORES.rows([one | {"value": 0.8} for one in hourly_scores(30, 1000)]), NOW) == []
    reading = streams.readings()[KEY]
    assert (reading.status, reading.delay) == (Status.WATCHING, timedelta(days=36_525))


def two_languages(hours: int, worse_from: int) -> list[dict[str, Any]]:
    """Twelve scores an hour, half of them in German, which are lower, and lower still from some hour on."""
    random, rows = np.random.default_rng(7), []
    for hour in range(hours):
        for i in range(12):
            language = "de" if i % 2 else "en"
            mean = 0.85 if language == "en" else 0.3 if hour >= worse_from else 0.6
            segment = f'{{"language":"{language}","model":"m"}}'
            at = START + hour * HOUR + i * HOUR / 12
            rows.append(row(at, float(random.beta(6 * mean, 6 * (1 - mean))), segment=segment))
    return rows


@settings(max_examples=5)
@given(st.lists(st.integers(0, 800), max_size=5))
def test_a_segment_that_fell_is_named_and_a_restart_comes_to_the_same(cuts: list[int]) -> None:
    """Read at once or in any portions, the column `segment` of the rows gives the same alarm about German."""
    rows = two_languages(70, 40)
    whole, expected = feed_all(rows)
    assert expected[0].reading.most_worsened is not None
    assert expected[0].reading.most_worsened.name == "language de"
    parts, transitions = feed_all(rows, cuts)
    assert transitions == expected
    assert parts.readings() == whole.readings()


@pytest.mark.parametrize(
    ("language", "value", "goes_on"), [("de", 0.2, True), ("de", 0.75, False), ("en", 0.85, False)]
)
def test_whether_a_fall_goes_on_is_asked_of_the_segment_that_fell(language: str, value: float, goes_on: bool) -> None:
    """However good the others are, and however many: what is new of German says it, and nothing is said without."""
    streams, later = feed_all(two_languages(70, 40))[0], START + 70 * HOUR
    segment = f'{{"language":"{language}","model":"m"}}'
    new = [row(later + n * HOUR / 18, value, f"new {n}", segment=segment) for n in range(18)]
    good = '{"language":"en","model":"m"}'
    others = [row(later + n * HOUR / 22, 1.0, f"other {n}", segment=good) for n in range(22)]
    feed(streams, SCORES.rows([*new, *others, row(later + 3 * HOUR, 1.0, segment=good)]), NOW)
    assert streams.is_worse_since(KEY, later) is goes_on
    assert not streams.is_worse_since(KEY, later + HOUR)


def test_a_segment_that_cannot_be_read_is_an_unknown_class() -> None:
    """The row takes part like any other."""
    rows = [one | {"segment": "{not JSON"} for one in hourly_scores(40, 20)]
    streams, transitions = feed_all(rows)
    assert streams.skipped == {}
    assert transitions == feed_all(hourly_scores(40, 20))[1]


def test_an_attribute_with_too_many_values_is_named_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """With a user in segment_by the log says once what to do, a reading how many; all else is as without."""
    rows = hourly_scores(98, 80)
    for number, one in enumerate(rows):
        one["segment"] = f'{{"user_id": "user {number}"}}'
    both = SCORES.rows(rows + [one | {"metric": "other"} for one in rows])
    streams, plain = (Streams(SETTINGS.model_copy(update={"segment_by": by})) for by in (("user_id",), ()))
    with caplog.at_level(logging.WARNING):
        found, expected = feed(streams, both, NOW), feed(plain, both, NOW)
    (record,) = caplog.records
    assert re.search("names user_id.*Take it out of segment_by", record.message)
    assert streams.readings()[KEY].beyond == (("user_id", 97 * 6 - 500),)
    assert {key: replace(one, beyond=()) for key, one in streams.readings().items()} == plain.readings()
    assert expected
    assert [replace(one, reading=replace(one.reading, beyond=())) for one in found] == expected
