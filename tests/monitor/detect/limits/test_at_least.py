"""The limit of a mean that a person has set: when it is passed, when that is over, and what is said."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from lake.spec.alert_vocabulary import IncidentEvent, LimitKind
from lake.spec.schemas import ALERTS
from lake.spec.vocabulary import Direction
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, from_row
from monitor.alerting.alerts.limit_alerts import changes_of_limits, last_changes
from monitor.alerting.incidents.incident import NEWS
from monitor.alerting.incidents.state import events, state_of
from monitor.detect.limits import LastChange, LimitSettings
from monitor.detect.limits.unfit import unfit_limits
from monitor.detect.limits.verdict_limits import changes_of_means
from monitor.detect.regression import LowMean, RegressionSettings, Scale, Stream
from monitor.detect.regression.arrays import moment
from monitor.detect.regression.low_mean import LowMeanWatch
from monitor.detect.regression.observations import Observations
from monitor.notify.texts.alert import description, summary
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
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
    last = {("rag", LimitKind.AT_LEAST): LastChange(True, moment(START + 5 * HOUR))}
    assert [one.change for one in changes_of_means(means(True, 5), {}, NOW)] == ["firing"]
    assert list(changes_of_means(means(True, 5), last, NOW)) == []
    assert list(changes_of_means(means(False, 5), last, NOW)) == []
    assert [one.change for one in changes_of_means(means(False, 6), last, NOW)] == ["resolved"]


def low(metric: str, on: bool) -> dict[str, LowMean]:
    at = moment(START + 9 * HOUR)
    return {metric: LowMean(on, 0.7, 0.5, 0.4, 0.6, 200, at if on else None, at)}


def recorded(known: list[AlertChange], hour: int, *metrics: dict[str, LowMean]) -> list[AlertChange]:
    at, merged = moment(START + hour * HOUR), {name: one for mine in metrics for name, one in mine.items()}
    merged = {name: replace(one, latest=at) for name, one in merged.items()}
    found = list(changes_of_means({"rag": merged}, last_changes(known), NOW))
    return changes_of_limits(known, found, NOW)


def test_one_more_mean_beyond_its_limit_is_a_message_of_the_open_alert_once() -> None:
    """One that is good meanwhile, and bad again, was told: that is no news."""
    known = recorded([], 1, low("a", True), low("b", False))
    assert recorded(known, 2, low("a", True), low("b", False)) == []
    (more,) = recorded(known, 3, low("a", True), low("b", True))
    assert (more.alert_id, more.fired_at, more.change) == (known[0].alert_id, known[0].fired_at, "firing")
    assert more.change_id != known[0].change_id
    assert [one.metric for one in more.details.exceeded.means] == ["a", "b"]  # type: ignore[union-attr]
    known.append(more)
    assert recorded(known, 4, low("a", False), low("b", True)) == []
    (third,) = recorded(known, 5, low("a", False), low("b", True), low("c", True))
    assert [one.metric for one in third.details.exceeded.means] == ["b", "c"]  # type: ignore[union-attr]
    known.append(third)
    assert recorded(known, 6, low("a", True), low("b", True), low("c", True)) == []
    (over,) = recorded(known, 7, low("a", False), low("b", False), low("c", False))
    assert over.change == "resolved"
    states = [state_of(known[:number]) for number in range(4)]
    assert [events(before, after) for before, after in pairwise(states)] == [
        (IncidentEvent.OPENED,),
        (IncidentEvent.LIMIT_ADDED,),
        (IncidentEvent.LIMIT_ADDED,),
    ]
    assert IncidentEvent.LIMIT_ADDED in NEWS
    same = replace(known[0], change_id="again", changed_at=known[0].changed_at + timedelta(minutes=1))
    assert events(state_of(known[:1]), state_of([known[0], same])) == ()


UP, DOWN, HUNDRED = Scale(0.0, 1.0), Scale(1.0, 0.0), Scale(0.0, 100.0)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"at_least": {METRIC: 0.7, "toxicity": 0.1}}, ""),
        ({"at_least": {METRIC: 70}}, f"70 of {METRIC} is not between 0 and 1; nothing is checked against it"),
        ({"at_least": {METRIC: 1.0}}, f"1 of {METRIC} is not between 0 and 1"),
        ({"at_least": {"readability": 70}}, ""),
        ({"at_least": {"readability": 0.7}}, ""),
        ({"at_least": {"toxicty": 0.1}}, "at_least: toxicty has no scores (did you mean toxicity?)"),
        ({"at_least": {"length": 5}}, "length has no worst and best value"),
        ({"at_least": {"toxicty": None}}, ""),
        ({"deployments": {"ragg": {"at_least": {METRIC: 0.7}}}}, "ragg: at_least: the deployment has no scores (did"),
        ({"deployments": {"rag": {"at_least": {"readability": 0.7}}}}, "rag: at_least: readability has no scores"),
        ({"deployments": {"rag": {"at_least": {METRIC: 70}}}}, f"rag: at_least: 70 of {METRIC} is not between"),
        ({"at_least": {METRIC: 0.7}, "deployments": {"rag": {"at_least": {METRIC: None}}}}, f"{METRIC} has no scores"),
    ],
)
def test_a_limit_that_fits_no_metric_is_told(settings: Any, told: str) -> None:
    scales = {"rag": {METRIC: UP, "toxicity": DOWN, "length": None}, "hr": {"readability": HUNDRED}, "new": {}}
    found = unfit_limits(LimitSettings.model_validate(settings), scales)
    assert len(found) == bool(told)
    assert told in " ".join(found)
    assert unfit_limits(LimitSettings.model_validate(settings), {"new": {}}) == ()


def test_a_limit_that_fits_no_metric_is_in_the_log_once_and_on_the_page(
    rows: Any, lake: Lake, clock: Any, get: Callable[..., httpx.Response], caplog: pytest.LogCaptureFixture
) -> None:
    rows.scores("rag", {"requested_at": NOW - timedelta(hours=2), "value": 0.9})
    monitor = Monitor(lake, limited(**{METRIC: 70, "wrong": 0.5}), clock)
    monitor.refresh()
    monitor.refresh()
    told = [one.getMessage() for one in caplog.records if "at_least" in one.getMessage()]
    assert told == [
        f"monitor.limits.at_least: 70 of {METRIC} is not between 0 and 1; nothing is checked against it.",
        "monitor.limits.at_least: wrong has no scores; nothing is checked against it.",
    ]
    assert "wrong has no scores; nothing is checked against it" in get(create_app(monitor), "/").text
    # Who may see some deployments is not told the names of others.
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": {"one": {"deployments": ["rag"]}}}}
    app = create_app(monitor, MonitorSettings.model_validate({"access": access}))
    with TestClient(app, client=("10.0.0.7", 5000)) as client:
        page = client.get("/", headers={"X-Forwarded-User": "ann", "X-Forwarded-Groups": "one"})
    assert page.status_code == 200
    assert "wrong has no scores" not in page.text


def test_evidence_that_was_begun_anew_ends_no_alert_of_a_mean_that_is_beyond_its_limit() -> None:
    last = {("rag", LimitKind.AT_LEAST): LastChange(True, moment(START + 5 * HOUR))}
    anew = {"rag": {METRIC: replace(means(False, 6)["rag"][METRIC], is_surely_beyond=True)}}
    assert list(changes_of_means(anew, last, NOW)) == []


def test_an_alert_ends_where_no_metric_with_a_limit_is_watched_any_more() -> None:
    last = {("rag", LimitKind.AT_LEAST): LastChange(True, moment(START + 5 * HOUR))}
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
        f"rag: the mean of “answer words found in the documents” is {found.mean:.2f} (95 % interval "
    )
    assert summary(alert).endswith(f" conversations), limit at {'most' if direction == 'down' else 'least'} {limit:g}")
    assert "monitor.limits.at_least" in description(alert, "")
    app = create_app(monitor)
    assert f"worse than its limit of {limit:.2f}" in get(app, "/deployment?name=rag").text
    page = get(app, f"/incident?id={alert.incident_id}").text
    assert f"limit at {'most' if direction == 'down' else 'least'} {limit:.2f}" in page
    assert "its share is counted" not in page
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
