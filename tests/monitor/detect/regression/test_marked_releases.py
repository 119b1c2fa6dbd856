"""Streams after a release that a person has marked."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import Tier
from lake.spec.schemas import SCORES
from monitor.detect.regression import RegressionSettings, Release, Releases, Status, Stream, Streams
from monitor.detect.regression.observations import Observations
from tests.monitor.detect.regression.feeding import HOUR, KEY, NOW, SETTINGS, START, feed, feed_all, hourly_scores


def released(*hours: float, metric: str | None = None) -> Releases:
    return Releases({n: Release(KEY.deployment, metric, START + hour * HOUR) for n, hour in enumerate(hours, 1)})


@settings(max_examples=10)
@given(st.lists(st.integers(0, 360), max_size=5))
def test_after_a_marked_release_the_new_level_is_what_is_usual(cuts: list[int]) -> None:
    """Worse from hour 20 on as released: a fall from that level fires, in any portions of rows.

    Until that level is learned it is compared with the one before the release, as a warning.
    """
    rows = hourly_scores(60, 20)
    for one in rows[46 * 6 :]:
        one["value"] /= 4
    found, streams = [], Streams(SETTINGS, released(19.5, metric=KEY.metric))
    for begin, end in pairwise([0, *sorted(cuts), len(rows)]):
        found += feed(streams, SCORES.rows(rows[begin:end]), NOW)
    since_mark = [one for one in found if one.reading.marked_release is not None]
    assert [(one.change, one.reading.tier) for one in since_mark] == [("firing", Tier.WARN), ("resolved", Tier.WARN)]
    assert {one.reading.marked_release for one in since_mark} == {START + 19.5 * HOUR}
    assert since_mark[0].reading.reference_mean == pytest.approx(0.8, abs=0.1)
    assert START + 20 * HOUR < since_mark[0].at < since_mark[1].at <= START + 28 * HOUR
    assert since_mark[1].reading.since_mean is None
    later = [one for one in found if one not in since_mark]
    assert {one.change for one in later} == {"firing"}
    assert START + 46 * HOUR < later[0].at < START + 54 * HOUR
    assert later[0].reading.reference_mean == pytest.approx(0.4, abs=0.1)
    assert streams.readings()[KEY].status is Status.REGRESSED
    whole = Streams(SETTINGS, released(19.5))
    assert feed(whole, SCORES.rows(rows), NOW) == found


def test_a_release_that_changes_nothing_is_told_nothing_of() -> None:
    assert feed(Streams(SETTINGS, released(19.5)), SCORES.rows(hourly_scores(60, 1000)), NOW) == []


def test_while_the_level_after_a_release_is_learned_the_stream_is_regressed_against_the_one_before() -> None:
    streams = Streams(SETTINGS, released(19.5))
    (begins,) = feed(streams, SCORES.rows(hourly_scores(26, 20)), NOW)
    reading = streams.readings()[KEY]
    assert (reading.status, reading.tier, reading.marked_release) == (
        Status.REGRESSED, Tier.WARN, begins.reading.marked_release,
    )  # fmt: skip
    assert reading.since is not None
    assert reading.since >= START + 19 * HOUR


@pytest.mark.parametrize("also_new", [True, False])
def test_a_fall_that_the_new_reference_sees_when_the_old_one_is_dropped_is_one_alert(also_new: bool) -> None:
    """The same batch ends the learning: the old comparison ends only where the new one says nothing."""
    stream = Stream.new(RegressionSettings(), False, START, START)
    regressed = replace(stream.detector.reading, status=Status.REGRESSED, since_mean=0.5)
    status = Status.REGRESSED if also_new else Status.WATCHING
    found = [(0, regressed)] if also_new else []
    stream.releases = (0,)
    after: Any = SimpleNamespace(changes=lambda *_: found, status=status)
    before: Any = SimpleNamespace(changes=lambda *_: [], status=Status.REGRESSED, reading=regressed)
    stream.before, stream.detector = before, after
    nothing = np.empty(0)
    batch = Observations(nothing.astype(np.int64), nothing, nothing, nothing.astype(np.intp), np.zeros(1, np.int64))
    said = [reading for _, reading in stream.take(batch, np.ones(1, np.int64), np.zeros(1, np.int64), np.ones(1, int))]
    assert [(one.status, one.since_mean, one.marked_release is None) for one in said] == [
        (Status.REGRESSED, 0.5, True) if also_new else (Status.WATCHING, None, False)
    ]
    assert stream.before is None


def test_who_marks_a_release_of_a_stream_that_is_regressed_accepts_it() -> None:
    """Also of one that is regressed against the level before an earlier mark."""
    rows = hourly_scores(60, 20)
    fired = [one.at for one in feed(Streams(SETTINGS, released(26.5)), SCORES.rows(rows), NOW)]
    assert fired
    assert max(fired) < START + 27 * HOUR
    found = feed(Streams(SETTINGS, released(19.5, 25.5)), SCORES.rows(rows), NOW)
    assert [one.change for one in found] == ["firing"]
    assert found[0].at < START + 26 * HOUR


def test_a_mark_that_comes_later_is_compared_with_the_reference_that_was_known() -> None:
    """The rows from its day on come again, as a running monitor reads them, and the first ones do not."""
    rows = hourly_scores(26, 20)
    old, _ = feed_all(rows[: 22 * 6 - 3])
    streams = Streams(SETTINGS, released(19.5))
    streams.restore(old.state_of(KEY.deployment))
    assert streams.forget_outdated(KEY.deployment) == {KEY.metric: START + 19.5 * HOUR}
    found = feed(streams, SCORES.rows(rows[18 * 6 :]), NOW)
    assert [(one.change, one.reading.marked_release) for one in found] == [("firing", START + 19.5 * HOUR)]
    assert found[0].reading.reference_mean == pytest.approx(0.8, abs=0.05)


def test_a_release_of_another_metric_or_deployment_changes_nothing() -> None:
    """Nor does one before the first score, or one that was taken back."""
    rows, expected = hourly_scores(40, 20), feed_all(hourly_scores(40, 20))[1]
    taken_back = Releases(released(20).marked, frozenset({1}))
    other = Releases({1: Release("other", None, START + 20 * HOUR)})
    for releases in (released(20, metric="other"), other, released(-5), taken_back):
        assert feed(Streams(SETTINGS, releases), SCORES.rows(rows), NOW) == expected
