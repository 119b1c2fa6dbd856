"""New versions of an application: each begins with the reference of the version before, and is watched at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake.spec.alert_vocabulary import OnsetKind
from lake.spec.deployment_families import Families
from lake.spec.schemas import SCORES
from monitor.detect.regression import Reading, RegressionSettings, Release, Releases, Status, Streams, Transition
from tests.monitor.detect.regression.feeding import HOUR, KEY, START, feed, row

FIRST, SECOND, THIRD = (f"applications/public/help__1.{number}.0" for number in range(3))
SETTINGS = RegressionSettings(false_alarm_every=500 * HOUR, reference_observations=40, reference_time=0 * HOUR)
NOW = START + 1000 * HOUR


def answers(deployment: str, hours: range, mean: float, seed: int = 1, **changes: Any) -> list[dict[str, Any]]:
    """Six scores an hour around a mean."""
    generator = np.random.default_rng([seed, len(hours)])
    values = generator.beta(8 * mean, 8 * (1 - mean), (len(hours), 6))
    return [
        row(START + hour * HOUR + place * HOUR / 6, float(value), deployment, deployment=deployment, **changes)
        for hour, of_hour in zip(hours, values, strict=True)
        for place, value in enumerate(of_hour)
    ]


def fed(rows: list[dict[str, Any]], portions: int = 1, **more: Any) -> tuple[Streams, list[Transition]]:
    """Feed rows by their times, in so many portions."""
    streams, found = Streams(SETTINGS, **more), []
    ordered = sorted(rows, key=lambda one: (one["requested_at"], one["deployment"]))
    edges = np.linspace(0, len(ordered), portions + 1).astype(int)
    for begin, end in pairwise(edges):
        is_last = end == len(ordered)
        portion = ordered[begin:end]
        found += feed(streams, SCORES.rows(portion), NOW if is_last else portion[-1]["requested_at"])
    return streams, found


def reading_of(streams: Streams, deployment: str) -> Reading:
    return streams.readings()[replace(KEY, deployment=deployment)]


RELEASE = answers(FIRST, range(50), 0.9), answers(SECOND, range(50, 80), 0.5, seed=2)


def test_a_version_that_answers_worse_is_told_from_its_first_answer() -> None:
    streams, found = fed([*RELEASE[0], *RELEASE[1]])
    assert {(one.key.deployment, one.change) for one in found} == {(SECOND, "firing")}
    told = found[0].reading
    assert found[0].at <= START + 56 * HOUR
    assert (told.older_version, told.onset, told.since) == (FIRST, OnsetKind.RELEASE, START + 50 * HOUR)
    assert told.since_earliest == told.since_latest == told.since
    reference = reading_of(streams, FIRST).reference_mean
    assert reference is not None
    assert told.reference_mean == pytest.approx(reference, abs=0.02)
    assert reading_of(streams, SECOND).status is Status.REGRESSED
    assert reading_of(streams, FIRST).status is Status.WATCHING


@pytest.mark.parametrize("seed", range(10))
def test_a_version_that_answers_as_well_is_watched_without_an_alert(seed: int) -> None:
    rows = [*answers(FIRST, range(50), 0.8, seed), *answers(SECOND, range(50, 150), 0.8, seed + 100)]
    streams, found = fed(rows)
    assert found == []
    reading = reading_of(streams, SECOND)
    assert (reading.status, reading.older_version) == (Status.WATCHING, FIRST)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100))
def test_in_however_many_portions_rows_come_the_same_is_found(portions: int) -> None:
    whole, parts = fed([*RELEASE[0], *RELEASE[1]]), fed([*RELEASE[0], *RELEASE[1]], portions)
    assert parts[1] == whole[1]
    assert parts[0].readings() == whole[0].readings()


def test_a_fall_long_after_the_release_begins_where_it_begins() -> None:
    rows = [*answers(FIRST, range(50), 0.9), *answers(SECOND, range(50, 120), 0.9, 2)]
    _, found = fed([*rows, *answers(SECOND, range(120, 160), 0.5, 3)])
    told = found[0].reading
    assert told.onset is OnsetKind.SUDDEN
    assert told.since is not None
    assert abs(told.since - (START + 120 * HOUR)) <= 2 * HOUR


def test_the_reference_is_that_of_the_newest_version_that_has_one() -> None:
    """The second had too few answers to learn from, but began with what the first had."""
    rows = [*answers(FIRST, range(50), 0.9), *answers(SECOND, range(50, 53), 0.9, 2)]
    streams, found = fed([*rows, *answers(THIRD, range(53, 80), 0.5, 3)])
    assert {one.key.deployment for one in found} == {THIRD}
    assert reading_of(streams, THIRD).older_version == SECOND


def test_a_version_whose_first_batch_was_still_open_passes_its_reference_on_too() -> None:
    """The second has one hour, which its own answers do not close."""
    streams = Streams(SETTINGS)
    rows = [*answers(FIRST, range(50), 0.9), *answers(SECOND, range(50, 51), 0.9, 2)]
    streams.add(SCORES.rows([*rows, *answers(THIRD, range(53, 80), 0.5, 3)]), NOW)
    streams.close_batches()
    assert {one.key.deployment for one in streams.advance(NOW)} == {THIRD}
    assert reading_of(streams, THIRD).older_version == SECOND


def test_versions_of_one_refresh_begin_in_the_order_of_their_first_answers() -> None:
    """A repair of the first version comes long after the third; the first has got better meanwhile."""
    rows = [*answers(FIRST, range(50), 0.6), *answers(FIRST, range(50, 400), 0.9, 3)]
    later = [*answers(THIRD, range(50, 400), 0.6, 2), *answers(SECOND, range(380, 400), 0.9, 4)]
    assert fed([*rows, *later])[1] == []


def test_answers_from_before_the_older_version_that_are_scored_late_begin_without_its_reference() -> None:
    streams = Streams(SETTINGS)
    feed(streams, SCORES.rows(answers(FIRST, range(10, 60), 0.9)), START + 70 * HOUR)
    found = feed(streams, SCORES.rows(answers(SECOND, range(5, 60), 0.5, 2)), NOW)
    assert found == []
    assert reading_of(streams, SECOND).older_version is None


@pytest.mark.parametrize(
    ("earliest", "latest", "onset"),
    [(-1, 5, OnsetKind.RELEASE), (0, 5, OnsetKind.RELEASE), (1, 5, OnsetKind.SUDDEN), (-5, -1, OnsetKind.RELEASE)],
)
def test_a_fall_that_may_have_begun_with_the_first_answer_did(earliest: int, latest: int, onset: OnsetKind) -> None:
    """Whatever the most likely time; one that began with the older version is told from the first answer of the new."""
    streams, found = fed([*RELEASE[0], *RELEASE[1]])
    ((_, scale, _), stream), *_ = streams.state_of(SECOND).streams.items()
    first = START + 50 * HOUR
    ends = {"since_earliest": first + earliest * HOUR, "since_latest": first + latest * HOUR}
    known = replace(found[0].reading, since=first + 3 * HOUR, onset=OnsetKind.SUDDEN, **ends)
    told = stream.reading_on(scale, known)
    assert told.onset is onset
    assert told.since == (first if onset is OnsetKind.RELEASE else first + 3 * HOUR)
    recurring = stream.reading_on(scale, replace(known, onset=OnsetKind.RECURRING))
    assert recurring.onset is OnsetKind.RECURRING


def test_a_version_before_which_none_has_a_reference_learns_its_own() -> None:
    rows = [*answers(FIRST, range(3), 0.9), *answers(SECOND, range(3, 60), 0.5, 2)]
    streams, found = fed(rows)
    assert found == []
    reading = reading_of(streams, SECOND)
    assert (reading.status, reading.older_version) == (Status.WATCHING, None)
    assert reading.reference_mean == pytest.approx(0.5, abs=0.05)


def test_a_higher_version_that_came_first_is_no_reference_for_a_lower_one_nor_a_later_one_for_it() -> None:
    """A rollback goes on with its own reference, and a version of before is not compared with what came after it."""
    rows = [*answers(SECOND, range(50), 0.9), *answers(FIRST, range(50, 100), 0.5, 2)]
    streams, found = fed(rows)
    assert found == []
    assert reading_of(streams, FIRST).older_version is None


def test_versions_that_answer_side_by_side_compare_with_what_was_known_at_the_release() -> None:
    """The older one gets better after the release: that is not asked of the newer one."""
    rows = [*answers(FIRST, range(50), 0.6), *answers(FIRST, range(50, 400), 0.9, 3)]
    streams, found = fed([*rows, *answers(SECOND, range(50, 400), 0.6, 2)])
    assert found == []
    assert reading_of(streams, SECOND).status is Status.WATCHING


def test_a_marked_release_learns_anew() -> None:
    at = START + 55 * HOUR
    streams, found = fed([*RELEASE[0], *RELEASE[1]], releases=Releases({1: Release(SECOND, None, at)}))
    reading = reading_of(streams, SECOND)
    assert [one for one in found if one.at > at + HOUR] == []
    assert (reading.older_version, reading.status) == (None, Status.WATCHING)
    assert reading.reference_mean == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("changes", [{"metric_version": "2"}, {"high": 2.0}, {"reference_status": "proposed"}])
def test_scores_that_cannot_be_compared_have_a_reference_of_their_own(changes: dict[str, Any]) -> None:
    rows = [*RELEASE[0], *answers(SECOND, range(50, 80), 0.5, 2, **changes)]
    streams, found = fed(rows)
    assert found == []
    assert [one.older_version for one in streams.readings().values()] == [None, None]


def test_families_may_be_switched_off_or_named() -> None:
    rows = [*RELEASE[0], *RELEASE[1]]
    assert fed(rows, families=Families(by_id=False))[1] == []
    renamed = [one | {"deployment": {FIRST: "help-v1", SECOND: "help-v2"}[one["deployment"]]} for one in rows]
    assert fed(renamed)[1] == []
    named = Families({"help": ["help-v1", "help-v2"]}, by_id=False)
    assert {one.key.deployment for one in fed(renamed, families=named)[1]} == {"help-v2"}


def test_a_restored_older_version_is_known_to_a_new_one() -> None:
    before, _ = fed(RELEASE[0])
    after = Streams(SETTINGS)
    after.restore(before.state_of(FIRST))
    found = feed(after, SCORES.rows(RELEASE[1]), NOW + timedelta(hours=1))
    assert {one.key.deployment for one in found} == {SECOND}


def test_an_error_in_the_older_version_stops_that_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams(SETTINGS)
    streams.add(SCORES.rows(RELEASE[0]), NOW)
    streams.add(SCORES.rows(RELEASE[1]), NOW)
    older = streams.state_of(FIRST).streams
    (stream,) = older.values()
    close = type(stream.batches).close

    def fail(watermark: object) -> None:
        raise ValueError(f"planted at {watermark}")

    monkeypatch.setattr(
        type(stream.batches), "close", lambda self, at: fail(at) if self is stream.batches else close(self, at)
    )
    streams.advance(NOW)
    assert list(streams.stopped.errors) == [(FIRST, KEY.metric)]
    assert reading_of(streams, SECOND).status is not Status.REGRESSED
