"""The limit of a mean that a person has set: when it is passed, when that is over, and what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np
import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.schemas import ALERTS
from lake.spec.vocabulary import Direction
from lake.tables.lake import Lake
from monitor import Monitor, MonitorSettings
from monitor.alerting.alerts.change import AlertChange, from_row
from monitor.detect.limits import LimitSettings
from monitor.detect.limits.verdict_limits import changes_of_means
from monitor.detect.regression import LowMean, RegressionSettings, Stream
from monitor.detect.regression.arrays import moment
from monitor.detect.regression.low_mean import LowMeanWatch
from monitor.detect.regression.observations import Observations
from monitor.notify.alert_text import description, summary
from monitor.pages.app import create_app
from tests.monitor.conftest import NOW

METRIC = "faithfulness_kprecision"
START = 1_800_000_000_000_000
HOUR = 3_600_000_000


def limited(**at_least: Any) -> MonitorSettings:
    return MonitorSettings(limits=LimitSettings(at_least=at_least))


def run(values: np.ndarray[Any, Any], first: int = 0) -> Observations:
    """An hour of ten conversations after the other."""
    hours = len(values) // 10
    at = START + np.repeat(np.arange(first, first + hours), 10) * HOUR
    return Observations(at, values, np.ones(len(values)), np.zeros(len(values), np.intp), np.arange(hours) * 10)


def watched(mean: float, hours: int, seed: int = 1) -> LowMeanWatch:
    watch = LowMeanWatch(RegressionSettings(), 0.7)
    watch.add(run(np.random.default_rng(seed).binomial(1, mean, hours * 10).astype(float)))
    return watch


def is_on(watch: LowMeanWatch) -> bool:
    reading = watch.reading(run(np.array([0.5] * 10)))
    assert reading is not None
    return reading.is_on


def test_a_mean_below_the_limit_is_told_within_two_days_and_one_at_it_is_not() -> None:
    assert all(is_on(watched(0.5, 36, seed)) for seed in range(10))
    assert not any(is_on(watched(0.7, 24 * 30, seed)) for seed in range(20))


def test_it_is_over_with_as_much_evidence_and_in_any_portions() -> None:
    values = np.concatenate([np.tile([0.0, 1.0], 120), np.full(480, 0.95)])
    whole, single = (LowMeanWatch(RegressionSettings(), 0.7) for _ in range(2))
    whole.add(run(values[:240]))
    assert is_on(whole)
    whole.add(run(values[240:], first=24))
    assert not is_on(whole)
    for hour in range(72):
        single.add(run(values[hour * 10 : hour * 10 + 10], first=hour))
    assert single.reading(run(values[:10])) == whole.reading(run(values[:10]))


def test_another_limit_begins_anew_and_the_same_goes_on() -> None:
    """Where the scores are by cases that nobody has accepted, or no mean can be worse, there is no limit."""
    stream = Stream.new(RegressionSettings(), False, moment(START), moment(START))
    values = np.tile([0.0, 1.0], 120)
    for hour in range(24):
        stream.compare_with_limit(run(values[hour * 10 : hour * 10 + 10], first=hour), 0.7)
    assert stream.low_mean is not None
    assert is_on(stream.low_mean)
    stream.compare_with_limit(run(values[:10], first=24), 0.4)
    assert stream.low_mean.limit == 0.4
    assert not is_on(stream.low_mean)
    for none in (None, 0.0, 1.0):
        stream.compare_with_limit(run(values[:10], first=25), none)
        assert stream.low_mean is None
    proposed = Stream.new(RegressionSettings(), True, moment(START), moment(START))
    proposed.compare_with_limit(run(values[:10]), 0.7)
    assert proposed.low_mean is None


def test_hours_that_fail_as_a_whole_do_not_make_a_good_mean_bad() -> None:
    """The conversations of an hour are alike: one hour in five fails, and the mean is 0.8."""
    for seed in range(5):
        watch = LowMeanWatch(RegressionSettings(), 0.7)
        watch.add(run(np.repeat((np.random.default_rng(seed).random(24 * 30) < 0.8).astype(float), 10)))
        assert not is_on(watch)


def means(on: bool, latest: int) -> dict[str, dict[str, LowMean]]:
    at = moment(START + latest * HOUR)
    return {"rag": {METRIC: LowMean(on, 0.7, 0.5, 0.4, 0.6, 200, at if on else None, at)}}


def test_what_is_not_later_than_the_last_change_says_nothing_new() -> None:
    last = {("rag", LimitKind.AT_LEAST): (True, moment(START + 5 * HOUR))}
    assert [one.change for one in changes_of_means(means(True, 5), {}, NOW)] == ["firing"]
    assert list(changes_of_means(means(True, 6), last, NOW)) == []
    assert list(changes_of_means(means(False, 5), last, NOW)) == []
    assert [one.change for one in changes_of_means(means(False, 6), last, NOW)] == ["resolved"]


def test_evidence_that_was_begun_anew_ends_no_alert_of_a_mean_that_is_beyond_its_limit() -> None:
    last = {("rag", LimitKind.AT_LEAST): (True, moment(START + 5 * HOUR))}
    anew = {"rag": {METRIC: replace(means(False, 6)["rag"][METRIC], is_surely_beyond=True)}}
    assert list(changes_of_means(anew, last, NOW)) == []


def test_an_alert_ends_where_no_metric_with_a_limit_is_watched_any_more() -> None:
    last = {("rag", LimitKind.AT_LEAST): (True, moment(START + 5 * HOUR))}
    (end,) = changes_of_means({"rag": {}}, last, NOW)
    assert (end.change, end.at) == ("resolved", NOW)
    assert list(changes_of_means({"rag": {}}, {}, NOW)) == []


def test_a_deployment_has_its_own_limits_beside_those_of_all() -> None:
    settings = LimitSettings.model_validate(
        {"at_least": {METRIC: 0.7, "other": 0.5}, "deployments": {"rag": {"at_least": {METRIC: None}}}}
    )
    assert [settings.limit_of(name, METRIC) for name in ("rag", "hr")] == [None, 0.7]
    assert [settings.limit_of(name, "other") for name in ("rag", "hr")] == [0.5, 0.5]
    assert LimitSettings().limit_of("rag", METRIC) is None


def alerts(monitor: Monitor, lake: Lake) -> list[AlertChange]:
    monitor.refresh()
    assert monitor.failures == {}
    table = lake.table(ALERTS, "rag")
    return [] if table.version() is None else [from_row(one) for one in table.read().to_pylist()]


@pytest.mark.parametrize(("direction", "mean", "limit"), [("up", 0.4, 0.7), ("down", 0.6, 0.3)])
def test_a_new_application_that_is_too_bad_pages_before_anything_is_learned(
    rows: Any,
    lake: Lake,
    clock: Any,
    get: Callable[..., httpx.Response],
    direction: Direction,
    mean: float,
    limit: float,
) -> None:
    """It is one alert, said in one line with its interval and limit, and over once the limit is taken away."""
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    random = np.random.default_rng(1)
    scores = []
    for number in range(20 * 8):
        at = now - timedelta(hours=20) + timedelta(hours=number // 8, minutes=number % 8)
        value = float(random.uniform() < mean)
        scores.append({"requested_at": at, "date": at.date(), "value": value, "direction": direction})
    rows.scores("rag", *scores)
    monitor = Monitor(lake, limited(**{METRIC: limit}), clock)
    (alert,) = alerts(monitor, lake)
    assert (alert.key.metric, alert.pages, alert.change) == (LimitKind.AT_LEAST, True, "firing")
    assert alert.since is not None
    assert now - timedelta(hours=20) <= alert.since < now
    (found,) = alert.details.exceeded.means if alert.details.exceeded else ()
    assert (found.metric, found.limit) == (METRIC, pytest.approx(limit))
    assert found.mean == pytest.approx(mean, abs=0.15)
    assert found.lower < found.mean < found.upper
    assert summary(alert).startswith(
        f"rag is worse than the limit that was set: words that stand in the documents {found.mean:.2f} (95 % interval "
    )
    assert summary(alert).endswith(f" conversations), limit {limit:g}")
    assert "monitor.limits.at_least" in description(alert, "")
    app = create_app(monitor)
    assert f"worse than its limit of {limit:.2f}" in get(app, "/deployment?name=rag").text
    data = get(app, "/deployment.json?name=rag").json()
    assert [(one["limit"], one["limit_exceeded"]) for one in data["metrics"]] == [(pytest.approx(limit), True)]
    (line,) = re.findall(r"(?m)^dialwatch_score_mean_limit_exceeded.*", get(app, "/metrics").text)
    assert METRIC in line
    assert line.endswith(" 1.0")
    without = LimitSettings.model_validate(
        {"at_least": {METRIC: limit}, "deployments": {"rag": {"at_least": {METRIC: None, "other": 0.5}}}}
    )
    assert [one.change for one in alerts(Monitor(lake, limited(**{METRIC: limit}), clock), lake)] == ["firing"]
    settings = MonitorSettings(limits=without) if direction == "down" else limited()
    (over,) = [one for one in alerts(Monitor(lake, settings, clock), lake) if one.change == "resolved"]
    if direction == "down":
        assert over.reason == "no metric with a limit has scores any more"
        return
    assert over.reason == "this limit is switched off"
    assert summary(over) == "rag: alert is over, this limit is switched off"
