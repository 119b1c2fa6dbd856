"""The Grafana dashboard: as committed, and against a real Prometheus that scrapes the real monitor."""

import json
import random
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest
import yaml

from deploy.grafana.dashboard import PATH, dashboard_json
from dialwatch.config import load_settings
from dialwatch.services.running import monitoring
from lake import ANCHORS, BATCHES, PARSED_LOGS, REJECTED, SCORES, USER_SIGNALS, Lake
from monitor.pages.answers.query import AnswerQuery
from tests.servers import free_port, wait_for

DEPLOYMENT = "applications/9c8bYtq2xTzEe4nQ/legal-search__1.2.0"
METRIC = "faithfulness_kprecision"
NOW = datetime.now(UTC)
VARIABLES = {"$deployment": ".*", "$metric": ".*", "$__rate_interval": "1m"}


def queries() -> list[tuple[str, str]]:
    panels = json.loads(PATH.read_text())["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]


def fill(lake: Lake) -> None:
    """Forty hours of ten conversations, the last twelve of them much worse; ratings, refused and odd lines."""
    rng = random.Random(3)
    logs, scores = [], []
    for number in range(400):
        asked = NOW - timedelta(hours=41) + timedelta(minutes=6 * number)
        key = {"event_id": f"event-{number}", "response_id": f"response-{number}", "deployment": DEPLOYMENT}
        key |= {"date": asked.date(), "requested_at": asked, "chat_id": f"chat-{number}"}
        called = {"kind": "chat_completion", "status": 200 if number % 50 else 400, "is_entry": True}
        amounts = {"prompt_tokens": 100, "completion_tokens": 20, "deployment_price": 0.001}
        logs.append({**key, **called, **amounts, "ingested_at": asked})
        mean = 0.9 if number < 280 else 0.3
        value = {"value": mean + rng.uniform(-0.1, 0.1)} if number % 9 else {"reason": "no_contexts"}
        metric = {"score_id": f"score-{number}", "metric": METRIC, "metric_version": "1", "judge": "strict"}
        scored = {"sampling_probability": 1.0, "scored_at": asked + timedelta(minutes=1), "cost": 0.001}
        scores.append({**key, **metric, **value, **scored})
    lake.table(PARSED_LOGS, DEPLOYMENT).append(PARSED_LOGS.rows(logs))
    lake.table(SCORES, DEPLOYMENT).append(SCORES.rows(scores))
    same = {"deployment": DEPLOYMENT, "metric": METRIC, "metric_version": "1", "value": 0.9, "low": 0.0, "high": 1.0}
    anchors = [
        {**same, "event_id": f"event-{number}", "chat_id": f"chat-{number}", "date": scored_at.date(), "draw": draw}
        | {"scored_at": scored_at, "direction": "up"}
        for draw, scored_at in ((0, NOW - timedelta(hours=40)), (1, NOW - timedelta(hours=40)), (99, NOW))
        for number in range(60)
    ]
    lake.table(ANCHORS, DEPLOYMENT).append(ANCHORS.rows(anchors))
    signals = [
        {"signal_id": name, "deployment": DEPLOYMENT, "date": NOW.date(), "signaled_at": NOW, "signal": name}
        for name in ("like", "dislike", "regenerate")
    ]
    lake.table(USER_SIGNALS, DEPLOYMENT).append(USER_SIGNALS.rows(signals))
    rejected = {"reason": "not_json", "message": "no JSON", "raw": b"\tat", "date": NOW.date(), "ingested_at": NOW}
    lake.table(REJECTED).append(REJECTED.rows([rejected]))
    outcomes = {"lines": 404, "stored": 400, "signals": 3, "duplicates": 0, "rejected": 1, "filtered": 0}
    times = {"date": NOW.date(), "newest_requested_at": NOW - timedelta(minutes=1), "committed_at": NOW}
    lake.table(BATCHES).append(BATCHES.rows([{**outcomes, **times}]))


class Prometheus:
    """A running Prometheus."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        answer = self.get("/api/v1/query", query=expression).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        assert not answer.get("warnings"), answer["warnings"]
        result: list[dict[str, Any]] = answer["data"]["result"]
        return result

    def found(self, expression: str) -> list[dict[str, Any]]:
        """What an expression gives, as soon as that is something: after a scrape that came too late it is nothing."""

        def look() -> list[dict[str, Any]]:
            try:
                return self.query(expression)
            except (httpx.TransportError, json.JSONDecodeError):
                return []  # it is still starting

        result: list[dict[str, Any]] = wait_for(look)
        return result

    def get(self, path: str, **parameters: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", params=parameters, timeout=60)


@pytest.fixture(scope="module")
def scraping(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    lake = Lake(str(folder / "lake"))
    fill(lake)
    priced = {"base_url": "http://judge", "model": "m", "prompt_price": 1, "completion_price": 1, "budget_per_day": 9}
    judges = {"evaluator": {"judges": {"strict": priced}}}
    settings = load_settings(None, {"lake": {"root": lake.root}, "monitor": {"listen": "127.0.0.1:0"}} | judges)
    with monitoring(settings, lake) as url:
        config = folder / "prometheus.yml"
        target = url.removeprefix("http://")
        config.write_text(
            "global: {scrape_interval: 300ms, scrape_timeout: 250ms}\n"
            f"scrape_configs: [{{job_name: dialwatch, static_configs: [{{targets: ['{target}']}}]}}]\n"
        )
        address = f"127.0.0.1:{free_port()}"
        command = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
        command += [f"--web.listen-address={address}", "--enable-feature=exemplar-storage"]
        with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                running = Prometheus(f"http://{address}")
                running.found("count_over_time(dialwatch_regression_active[1m]) >= 4")
                yield running
            finally:
                process.terminate()


def test_committed_dashboard_is_the_generated_one() -> None:
    """The committed JSON is, byte for byte, what dashboard.py gives."""
    assert PATH.read_text() == dashboard_json(), "run `python -m deploy.grafana.dashboard`"


def test_panels_have_their_own_place() -> None:
    """No two panels lie on each other, and none goes beyond Grafana's 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(PATH.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not taken & cells, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells


def links_of(panel: dict[str, Any]) -> list[str]:
    return [link["url"] for link in panel["fieldConfig"]["defaults"].get("links") or []]


def test_series_of_a_deployment_lead_to_its_pages() -> None:
    """Each link, filled in as Grafana does, is an address of ours with this deployment, metric and period."""
    board = json.loads(PATH.read_text())
    (pages,) = [one for one in board["templating"]["list"] if one["name"] == "dialwatch"]
    label = {"deployment": "apps/a b&c=d", "metric": "faithfulness_claims"}
    given = {"${dialwatch}": pages["current"]["value"] if pages.get("current") else pages["query"]}
    given |= {f"${{__field.labels.{name}:percentencode}}": quote(text, safe="") for name, text in label.items()}
    given |= {f"${{__{end}:date:YYYY-MM-DD}}": f"2026-11-{day}" for end, day in (("from", 19), ("to", 20))}
    found = set()
    for panel in board["panels"]:
        legends = [target["legendFormat"] for target in panel.get("targets", [])]
        if panel["type"] != "timeseries" or not all("{{deployment}}" in legend for legend in legends):
            continue
        assert len(links_of(panel)) == 2, panel["title"]
        for url in links_of(panel):
            for name, text in given.items():
                url = url.replace(name, text)
            assert "$" not in url
            address = urlsplit(url)
            assert f"{address.scheme}://{address.netloc}" == "http://localhost:9464"
            query = dict(parse_qsl(address.query, strict_parsing=True))
            found.add(address.path)
            if address.path == "/deployment":
                assert query == {"name": label["deployment"]}
                continue
            assert address.path == "/answers"
            asked = AnswerQuery.read(query, NOW)
            assert (asked.deployment, asked.since.day, asked.until.day) == (label["deployment"], 19, 20)
            of_metric = all("{{metric}}" in legend for legend in legends)
            assert (asked.metric, asked.order) == ((label["metric"], "asc") if of_metric else ("", "desc"))
    assert found == {"/deployment", "/answers"}


def test_exemplars_lead_to_their_answer() -> None:
    """The label that the monitor writes is the one that Grafana links, and `$` is escaped for its provisioning."""
    path = PATH.with_name("provisioning") / "datasources" / "prometheus.yaml"
    (source,) = yaml.safe_load(path.read_text())["datasources"]
    (destination,) = source["jsonData"]["exemplarTraceIdDestinations"]
    assert destination["name"] == "response_id"
    assert destination["url"] == "http://localhost:9464/answer?response_id=$${__value.raw}"


@pytest.mark.integration
def test_every_query_gives_data(scraping: Prometheus) -> None:
    """Prometheus runs the query of every panel without a complaint and finds data for each."""
    assert len(queries()) > 20
    for title, expression in queries():
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        try:
            scraping.found(expression)
        except AssertionError as error:
            raise AssertionError(f"{title}: {expression}: {error}") from error


@pytest.mark.integration
def test_variables_have_choices(scraping: Prometheus) -> None:
    """The variables offer the deployments and metrics that there are."""
    for variable in json.loads(PATH.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            series, label = variable["query"].removeprefix("label_values(").removesuffix(")").split(", ")
            found = scraping.get(f"/api/v1/label/{label}/values", **{"match[]": series}).json()["data"]
            assert found in ([DEPLOYMENT], [METRIC])


@pytest.mark.integration
def test_scrape_is_clean_and_carries_the_drop(scraping: Prometheus) -> None:
    """Prometheus scrapes without a complaint and sees the regression that the scores hold."""

    def is_clean() -> bool:
        (target,) = scraping.get("/api/v1/targets").json()["data"]["activeTargets"]
        return (target["health"], target["lastError"]) == ("up", "")

    wait_for(is_clean)
    (active,) = scraping.found(f'dialwatch_regression_active{{metric="{METRIC}"}}')
    assert active["value"][1] == "1"
