"""Scores by cases that nobody has accepted: they warn and never page, whatever the others do."""

from datetime import timedelta
from typing import Any

import pytest

from lake.spec.schemas import SCORES
from monitor.detect.regression.stream import SILENT
from monitor.detect.regression.streams import Streams
from tests.monitor.detect.regression.feeding import HOUR, KEY, NOW, SETTINGS, START, feed, feed_all, hourly_scores, row


def by(status: str | None, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = dict.fromkeys(("event_id", "response_id"), f"{status} ")
    mine = {"reference_status": status}
    return [row | {name: start + row[name] for name, start in names.items()} | mine for row in rows]


@pytest.mark.parametrize(("status", "tiers"), [("proposed", ["warn"]), ("accepted", ["warn", "page"])])
def test_a_regression_by_proposed_cases_is_a_warning(status: str, tiers: list[str]) -> None:
    _, transitions = feed_all(by(status, hourly_scores(90, 20)))
    assert [one.reading.tier for one in transitions] == tiers
    assert {one.reading.by_proposed for one in transitions} == {status == "proposed"}


@pytest.mark.parametrize("cuts", [[], list(range(0, 1000, 37))])
def test_accepted_cases_page_beside_proposed_ones(cuts: list[int]) -> None:
    """It begins once and ends once, when both are back; what was found does not depend on how the rows come."""
    proposed, accepted = by("proposed", hourly_scores(80, 15, 55)), by("accepted", hourly_scores(80, 25, 40, seed=2))
    rows = sorted(proposed + accepted, key=lambda row: row["requested_at"])
    streams, transitions = feed_all(rows, [cut for cut in cuts if cut < len(rows)])
    found = [(one.change, one.reading.tier, one.reading.by_proposed) for one in transitions]
    assert found[0] == ("firing", "warn", True)
    assert ("firing", "page", False) in found
    assert [change for change, _, _ in found].count("resolved") == 1
    assert found[-1][0] == "resolved"
    assert transitions[-1].at > START + 55 * HOUR
    assert streams.readings()[KEY].status == "watching"


def test_good_scores_by_accepted_cases_do_not_hide_a_warning() -> None:
    rows = by("proposed", hourly_scores(80, 20)) + by("accepted", hourly_scores(80, 1000, seed=2))
    streams, transitions = feed_all(rows)
    assert [(one.change, one.reading.tier) for one in transitions] == [("firing", "warn")]
    reading = streams.readings()[KEY]
    assert (reading.status, reading.tier, reading.by_proposed) == ("regressed", "warn", True)


@pytest.mark.parametrize(("pause", "status"), [(-HOUR, "regressed"), (timedelta(0), "watching")])
def test_a_warning_by_proposed_cases_without_scores_for_four_weeks_is_not_shown(pause: timedelta, status: str) -> None:
    rows = by("proposed", hourly_scores(40, 20)) + by("accepted", hourly_scores(40, 1000, seed=2))
    streams, (warning,) = feed_all(rows)
    assert warning.reading.by_proposed
    later = max(one["requested_at"] for one in rows) + SILENT + pause
    feed(streams, SCORES.rows([row(later, 0.8)]), later + HOUR)
    assert streams.readings()[KEY].status == status


def test_a_warning_by_proposed_cases_does_not_hide_how_the_mean_of_the_others_stands_to_its_limit() -> None:
    rows = by("proposed", hourly_scores(80, 20)) + by("accepted", hourly_scores(80, 0, seed=2))
    streams = Streams(SETTINGS, limit_of=lambda deployment, metric: 0.7 if metric == KEY.metric else None)
    feed(streams, SCORES.rows(rows), NOW)
    reading = streams.readings()[KEY]
    assert (reading.status, reading.by_proposed) == ("regressed", True)
    assert reading.low_mean is not None
    assert (reading.low_mean.is_on, reading.low_mean.limit) == (True, pytest.approx(0.7))
