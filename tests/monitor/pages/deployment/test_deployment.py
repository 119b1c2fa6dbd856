"""The page of a deployment: metrics with their charts, failures, judges and what a small drop takes, over a period."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from lake.spec.alert_vocabulary import Tier
from lake.tables.lake import Lake
from monitor.access.reader import Grant, Reader
from monitor.alerting.controls.releases import mark_release
from monitor.alerting.controls.silences import Silence, add_silence
from monitor.detect.regression import Release, Scale, Status
from monitor.pages.app import create_app
from monitor.pages.deployment.metrics import metrics_of, power_words
from monitor.pages.period import Days, PagePeriod
from monitor.pages.visibility import snapshot_for
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.monitor.alerting.alerts.test_alerts import READING
from tests.monitor.conftest import NOW, Clock, ScoreColumns

METRIC = "faithfulness_kprecision"
JUDGE = "llm:gpt-4o"
Ask = Callable[..., Any]


@pytest.fixture
def ask(monitor: Monitor) -> Ask:
    """Gives the page of rag-search, or its JSON, to who may see everything."""
    client = TestClient(create_app(monitor))

    def found(query: str = "", path: str = "/deployment") -> Any:
        answer = client.get(f"{path}?name=rag-search{query}")
        assert answer.status_code == 200
        return answer.json() if path.endswith(".json") else answer.text

    return found


def words(page: str) -> str:
    return " ".join(
        re.sub(r"<.*?>", " ", page.replace("<wbr>", "").replace("\u00a0", " ").replace("&nbsp;", " ")).split()
    )


@pytest.mark.usefixtures("three_deployments")
def test_each_metric_has_a_chart_problems_first(monitor: Monitor, ask: Ask) -> None:
    """The metric that regressed is the first, with reference, start of the drop and alerts; its text says all that."""
    monitor.refresh()
    page = ask("&days=7")
    panels = re.findall(r'<section class="panel metric-panel.*?</section>', page, re.DOTALL)
    assert f"REGRESSED Answer words found in the documents {METRIC}" in words(panels[0])
    (finding,) = re.findall(r'<desc id="metric-\d+-finding">(.*?)</desc>', panels[0])
    assert re.match(r"From 0\.8\d at 18 Nov, 12:00 UTC to 0\.3\d at 20 Nov, 06:00 UTC; lowest 0\.3\d", finding)
    assert re.search(r"Reference 0\.8\d\. The change began at 20 Nov, 02:00 UTC\.", finding)
    assert re.search(r"Urgent alert: 20 Nov, \d\d:\d\d UTC\.", finding)
    assert "mean ± 1.96 standard errors over scores" in panels[0]
    assert 'aria-current="true">7 days' in page
    assert 'href="/deployment?name=rag-search&amp;days=90"' in page
    assert 'http-equiv="refresh"' not in page


@pytest.mark.usefixtures("three_deployments")
def test_the_period_is_that_of_the_address(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Counts, means and points are of the chosen days alone; 90 days are as exact as one."""
    old = NOW - timedelta(days=60)
    past = {"requested_at": old, "date": old.date()}
    rows.scores("rag-search", *(past | {"value": value, "metric": "relevance"} for value in (0.2, 0.4)))
    rows.logs("rag-search", past, past | {"status": 503})
    monitor.refresh()
    short, long = ask("&days=7", "/deployment.json"), ask("&days=90", "/deployment.json")
    assert (long["totals"]["requests"] - short["totals"]["requests"], short["totals"]["failed"]) == (2, 0)
    assert [(one["kind"], one["reason"], one["number"]) for one in long["failures"] if one["kind"] == "errors"] == [
        ("errors", "status 503", 1)
    ]
    found = {days["days"]: {one["metric"]: one for one in days["metrics"]}["relevance"] for days in (short, long)}
    assert (found[7]["mean"], found[7]["scores"]) == (None, 0)
    assert (found[90]["mean"], found[90]["scores"], found[90]["interval"]) == (pytest.approx(0.3), 2, None)
    points = [point for point in found[90]["points"] if point["value"] is not None]
    assert [(point["since"][:10], point["number"]) for point in points] == [(str(old.date()), 2)]
    assert len(found[90]["points"]) == 91
    assert "No data in this period" in ask("&days=7")


@pytest.mark.usefixtures("three_deployments")
def test_the_band_is_that_of_the_scores(monitor: Monitor, ask: Ask) -> None:
    """20 scores an hour with a deviation of about 0.15 give a band of about 0.13 around each point of a day."""
    monitor.refresh()
    (metric,) = [one for one in ask("&days=1", "/deployment.json")["metrics"] if one["metric"] == METRIC]
    bands = [one["high"] - one["low"] for one in metric["points"] if one["number"] == 20]
    assert len(bands) == 24
    assert 0.10 < sum(bands) / len(bands) < 0.15


def test_releases_and_silences_are_marked(monitor: Monitor, ask: Ask, rows: ScoreColumns, lake: Lake) -> None:
    """Those of the metric and of the period, with what people wrote."""
    rows.hours("rag-search", 30, lambda left: 0.8, METRIC)
    mark_release(lake, Release("rag-search", None, NOW - timedelta(hours=20), "v2 <b>"), NOW)
    mark_release(lake, Release("rag-search", "relevance", NOW - timedelta(hours=5)), NOW)
    mark_release(lake, Release("other", None, NOW - timedelta(hours=5)), NOW)
    add_silence(lake, Silence(deployment="rag-search", until=NOW + timedelta(hours=1)), NOW - timedelta(hours=3))
    add_silence(lake, Silence(deployment="other", until=NOW + timedelta(hours=1)), NOW - timedelta(hours=3))
    monitor.refresh()
    (metric,) = ask("&days=1", "/deployment.json")["metrics"]
    assert [(one["kind"], one["text"]) for one in metric["marks"]] == [("release", "v2 <b>"), ("silence", "")]
    assert metric["marks"][1]["at"] == f"{NOW - timedelta(hours=3):%Y-%m-%dT%H:%M:%SZ}"
    assert "accepted level</a>" not in (page := ask("&days=1"))
    assert "accepted level: <bdi>v2 &lt;b&gt;</bdi>" in page


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.1] * 4 + [0.02] * 4, "about 2.0 % of the answers are scored from this day on, 10 % before"),
        ([0.1] * 4 + [0.5] * 4, "about 50 % of the answers are scored from this day on, 10 % before"),
        ([0.1] * 4 + [0.09] * 4, None),
        ([0.1] * 3 + [0.5] * 2 + [0.1] * 3, None),
        ([0.5] * 2 + [0.1] * 5 + [0.5], None),
    ],
)
def test_a_day_from_which_on_another_share_is_scored_has_a_mark(
    ask: Ask, monitor: Monitor, rows: ScoreColumns, shares: list[float], said: str | None
) -> None:
    """Not one that differs a little, nor a weekend."""
    rows.batch(stored=1)
    for left, share in zip(range(8, 0, -1), shares, strict=True):
        at = [NOW - timedelta(days=left, minutes=number) for number in range(40)]
        row = {"value": 0.8, "sampling_probability": share, "judge": JUDGE}
        rows.scores("rag-search", *(row | {"requested_at": one, "date": one.date()} for one in at))
    monitor.refresh()
    (metric,) = ask("&days=30", path="/deployment.json")["metrics"]
    day = f"{NOW - timedelta(days=4):%Y-%m-%d}T00:00:00Z"
    expected = [("changed setting", day, said)] if said else []
    assert [(one["kind"], one["at"], one["text"]) for one in metric["marks"]] == expected


def test_a_reader_has_no_marks_of_what_they_may_not_see(monitor: Monitor, rows: ScoreColumns, lake: Lake) -> None:
    """The snapshot for a reader has neither releases nor silences of other deployments; those of all are in it."""
    rows.logs("rag-search", {})
    mark_release(lake, Release("rag-search", None, NOW), NOW)
    mark_release(lake, Release("secret", None, NOW), NOW)
    for name in ("rag-search", "secret", None):
        add_silence(lake, Silence(deployment=name, until=NOW + timedelta(hours=1)), NOW)
    monitor.refresh()
    seen = snapshot_for(Reader("ann", (Grant(("rag-*",)),)), monitor.snapshot)
    assert seen is not None
    assert [one.deployment for one in seen.releases] == ["rag-search"]
    assert [one.silence.deployment for one in seen.silenced] == ["rag-search", None]


def test_what_stands_worst_comes_first(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """After regressions, which are first though another mean is lower, the metrics are in the order of their change."""
    rows.hours("rag-search", 60, lambda left: 0.82 if left > 10 else 0.6, "regressed")
    rows.hours("rag-search", 60, lambda left: 0.3, "low")
    rows.hours("rag-search", 60, lambda left: 0.8 if left > 2 else 0.7, "a_little_worse", seed=3)
    monitor.refresh()
    metrics = ask("&days=1", "/deployment.json")["metrics"]
    assert metrics[0]["metric"] == "regressed"
    changes = [one["mean"] - one["reference"] for one in metrics[1:]]
    assert changes == sorted(changes)


def test_an_urgent_regression_comes_before_a_larger_fall_that_only_warns(monitor: Monitor, rows: ScoreColumns) -> None:
    rows.hours("rag-search", 60, lambda left: 0.82 if left > 10 else 0.6, "regressed")
    monitor.refresh()
    assert monitor.snapshot is not None
    period = PagePeriod(Days.WEEK, monitor.snapshot.taken_at)
    (found,) = (one for one in metrics_of("rag-search", monitor.snapshot, period) if one.metric == "regressed")
    reading = found.reading
    assert reading is not None
    urgent = replace(found, reading=replace(reading, tier=Tier.PAGE))
    warning = replace(found, metric="a", reading=replace(reading, tier=Tier.WARN, reference_mean=1.0))
    assert warning.worse_by > urgent.worse_by
    assert sorted([warning, urgent], key=lambda one: one.order) == [urgent, warning]


def test_failures_by_kind(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Errors by status, refusals by their metric, evaluations without a score by their reason, each with its share."""
    rows.logs("rag-search", *[{}] * 16, {"status": 429}, {"status": 429}, {"status": 503}, {"error": "cut"})
    rows.scores("rag-search", *({"metric": "refusal", "value": value} for value in (1.0, 0.0, 0.0, 0.0)))
    rows.scores("rag-search", {"reason": "judge_timeout", "judge": JUDGE}, {"reason": "no_contexts"})
    monitor.refresh()
    found = ask("", "/deployment.json")["failures"]
    assert [(one["kind"], one["reason"], one["number"], round(one["share"], 3)) for one in found] == [
        ("errors", "status 429", 2, 0.1),
        ("errors", "status 503", 1, 0.05),
        ("errors", "no whole answer", 1, 0.05),
        ("refusals", "", 1, 0.25),
        ("unscored", "judge timeout", 1, 0.167),
        ("unscored", "no contexts", 1, 0.167),
    ]
    page = words(ask())
    assert "errors HTTP 429 (too many requests) 2 10 % of 20 requests" in page
    assert "refusals – 1 25 % of 4 answers that the metric “refusals” scored" in page


def test_tools_with_their_answers(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """Those that failed most often first, of the period; each leads to the answers in which it failed."""

    def called(name: str | None, is_error: bool | None) -> dict[str, Any]:
        return {"id": "1", "name": name, "arguments": "{}", "result": "", "is_error": is_error}

    turn = {"is_entry": True, "kind": "chat_completion", "answer_kind": "text"}
    calls = [called("get?1", True), called("get?1", None), called("put", False), called("put", False)]
    old = NOW - timedelta(days=20)
    rows.logs("rag-search", *(turn | {"tool_calls": calls, "event_id": f"e{n}"} for n in range(3)))
    rows.logs("rag-search", turn | {"tool_calls": [called(None, None)], "event_id": "e4"})
    rows.logs("rag-search", turn | {"tool_calls": calls, "requested_at": old, "date": old.date()})
    monitor.refresh()
    found = ask("", "/deployment.json")["tools"]
    assert [(one["tool"], one["calls"], one["errors"], one["unknown"], one["share"]) for one in found] == [
        ("get?1", 6, 3, 3, 1.0), ("put", 6, 0, 0, 0.0), ("unnamed", 1, 0, 1, None)
    ]  # fmt: skip
    assert ask("&days=30", "/deployment.json")["tools"][0]["calls"] == 8
    page = words(ask())
    assert "get?1 in which it failed 6 100 % 3 of 3, of 3 not known" in page
    assert "put that called it 6 0 % 0 of 6" in page
    assert "unnamed – 1 not known" in page
    for tool, number in ((found[0], 3), (found[1], 3)):
        answers = TestClient(create_app(monitor)).get(tool["answers"].replace("/answers", "/answers.json")).json()
        assert answers["total"] == number
        assert answers["rows"][0]["failures"] == ["tool_error"]
    assert found[2]["answers"] is None


def test_judges_by_coverage_and_cost(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """What share of the period's answers a judge scored, and what it cost; other metrics are not in it."""
    old = NOW - timedelta(days=20)
    judged = {"metric": "relevance", "judge": JUDGE, "value": 0.5, "cost": 0.002}
    rows.logs("rag-search", *[{}] * 8)
    rows.scores("rag-search", judged, judged, {"value": 0.5}, judged | {"requested_at": old, "date": old.date()})
    monitor.refresh()
    found = ask("", "/deployment.json")["judges"]
    assert [(one["metric"], one["scored"], one["answers"], one["share"]) for one in found["metrics"]] == [
        ("relevance", 2, 8, 0.25)
    ]
    assert sum(found["costs"].values()) == pytest.approx(0.004)
    assert sum(ask("&days=30", "/deployment.json")["judges"]["costs"].values()) == pytest.approx(0.006)
    assert f"relevance {JUDGE} 2 25 % of 8 answers" in words(ask())


def test_a_small_drop_is_said_in_conversations(monitor: Monitor, ask: Ask, rows: ScoreColumns) -> None:
    """At 20 conversations an hour it takes as many hours as the conversations say; a learning metric says so."""
    rows.hours("rag-search", 240, lambda left: 0.8, METRIC)
    rows.hours("rag-search", 6, lambda left: 0.8, "relevance", seed=2)
    monitor.refresh()
    metrics = {one["metric"]: one for one in ask("", "/deployment.json")["metrics"]}
    watched = metrics[METRIC]
    assert watched["small_drop"] == pytest.approx(0.05)
    hours = watched["small_drop_seconds"] / 3600
    assert watched["small_drop_conversations"] == pytest.approx(20 * hours, rel=0.05)
    page = words(ask())
    assert re.search(r"A drop of 0\.05 is seen after about [\d,]+ conversations: at the present traffic about \d", page)
    assert "Until the reference is learned, in about " in page
    assert ", no drop of 0.05 is seen; a larger fall before is told then." in page


def test_a_metric_without_a_detector_says_so() -> None:
    """What is not watched sees no drop."""
    assert power_words(None, Scale(0.0, 1.0)) == "Not watched: no drop of it is seen."
    assert power_words(None, None) == "Not watched: no drop of it is seen."


@pytest.mark.parametrize(
    ("smallest", "delay", "words"),
    [
        (0.083, None, "The smallest drop that would be seen within a week is about 0.083."),
        (None, timedelta(days=9), "No drop would be seen within a week; one of 0.10 takes about 9 days."),
        (None, None, "At the present traffic no drop would be seen within a week."),
    ],
)
def test_where_a_small_drop_is_not_seen_it_says_what_is(
    smallest: float | None, delay: timedelta | None, words: str
) -> None:
    reading = replace(READING, status=Status.WATCHING, can_fire=True, smallest_drop=smallest, delay=delay)
    reading = replace(reading, small_conversations=None, small_delay=None)
    assert power_words(reading, Scale(0.0, 1.0)).endswith(f"it would not be seen. {words}")


def test_the_segments_of_a_regression(
    ask: Ask, monitor: Monitor, rows: ScoreColumns, settings: MonitorSettings
) -> None:
    """Where segments explain the scores, each has its mean and share before and after, of how many conversations."""
    scores = []
    for left in range(60, 0, -1):
        for place in range(20):
            at = NOW - timedelta(hours=left) + timedelta(minutes=3 * place)
            fell = left <= 12 and place % 2 == 0
            value = (0.3 if fell else 0.9) if place % 2 == 0 else 0.6
            segment = '{"language": "de"}' if place % 2 == 0 else '{"language": "en"}'
            scores.append({"requested_at": at, "date": at.date(), "value": value, "segment": segment})
    rows.scores("rag-search", *scores)
    monitor.refresh()
    (metric,) = ask("", "/deployment.json")["metrics"]
    assert metric["status"] == "regressed"
    segments = {one["name"]: one for one in metric["latest"]["segments"]}
    assert segments["language de"]["mean_after"] < 0.6 < segments["language de"]["mean_before"]
    assert re.search(r"language de 0\.90 → 0\.\d\d 50 % → 50 %", words(ask()))
    assert re.search(r"the reference of [\d,]{3,} conversations against the latest \d+ since the drop", words(ask()))


def test_without_scores_it_says_what_to_do(ask: Ask, monitor: Monitor, rows: ScoreColumns) -> None:
    """Requests alone have their chart; of scores the page says where to look."""
    rows.logs("rag-search", {}, {})
    monitor.refresh()
    page = words(ask())
    assert "No answer of it has been scored." in page
    assert "Nothing failed." in page
    assert "No metric of this deployment asks a judge. A judge is a language model" in page


def test_amounts_of_money_have_their_currency(monitor: Monitor, rows: ScoreColumns) -> None:
    """The word that the settings give, with no line break before it or within it; without one there is none."""
    rows.logs("rag-search", {"deployment_price": 0.5})
    monitor.refresh()
    for settings, said in ((MonitorSettings(currency="EUR"), "0.50\u00a0EUR"), (None, "0.50")):
        client = TestClient(create_app(monitor, settings))
        page = client.get("/deployment?name=rag-search").text
        assert f'<dt>Own cost</dt><dd><span class="money">{said}</span></dd>' in page


def test_who_may_not_see_it_learns_nothing(monitor: Monitor, rows: ScoreColumns, clock: Clock) -> None:
    """It answers 404, as one that does not exist, also as JSON; before the first look at the lake that is not ready."""
    groups = {"search": {"deployments": ["rag-*"]}}
    access = {"access": {"proxy": {"addresses": ["10.0.0.7"], "groups": groups}}}
    app = create_app(monitor, MonitorSettings.model_validate(access))
    client = TestClient(app, client=("10.0.0.7", 5000))
    headers = {"X-Forwarded-User": "ann", "X-Forwarded-Groups": "search"}
    assert client.get("/deployment.json?name=rag-search", headers=headers).status_code == 503
    rows.logs("rag-search", {})
    rows.logs("secret", {})
    monitor.refresh()
    for path in ("/deployment", "/deployment.json"):
        assert client.get(f"{path}?name=rag-search", headers=headers).status_code == 200
        hidden, none = (client.get(f"{path}?name={name}", headers=headers) for name in ("secret", "absent"))
        assert (hidden.status_code, none.status_code) == (404, 404)
        assert hidden.text.replace("secret", "") == none.text.replace("absent", "")
        assert client.get(f"{path}?name=rag-search&days=5", headers=headers).status_code == 422


def test_alerts_say_when(monitor: Monitor, ask: Ask, three_deployments: None) -> None:
    """The JSON has each change with its time, and the response ids of the worst answers."""
    monitor.refresh()
    alert = ask("", "/deployment.json")["alerts"][0]
    assert (alert["metric"], alert["change"], alert["pages"]) == (METRIC, "firing", True)
    assert datetime.fromisoformat(alert["since"]) < datetime.fromisoformat(alert["changed_at"]) < NOW
    assert alert["worst"]
