"""The queries of the dashboard: a real Prometheus that scrapes the real monitor, and sixty deployments like its own."""

import json
import random
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from deploy.grafana.dashboard import PATH
from dialwatch.config_loading import load_settings
from dialwatch.services.running import monitoring
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import ANCHORS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from tests.servers import free_port, wait_for

DEPLOYMENT = "applications/9c8bYtq2xTzEe4nQ/legal-search__1.2.0"
METRIC = "faithfulness_kprecision"
CHOSEN = re.escape(DEPLOYMENT).replace("\\", "\\\\")
"""The deployment as Grafana writes it into a query."""
NOW = datetime.now(UTC)
MOST = 10
MANY = [f"app-{number:02}" for number in range(60)]
ELSEWHERE = ("Messages of Kafka that wait", "Evaluator's passes")
"""Panels of what the collector and the evaluator export by themselves."""
OF_THE_PROCESS = ("Requests to the store",)
"""Panels of what is counted for the whole process: they have data if an earlier test of it used a store."""
PAGES = "https://dialwatch.example"
INSTALLATION, OTHER = "production", "a staging"
"""The one that is looked at, and one with the same deployments and other values in the same Prometheus."""

pytestmark = pytest.mark.integration


class Query(NamedTuple):
    """A query of a panel."""

    title: str
    expression: str
    legend: str

    def of(self, deployment: str) -> str:
        """The expression as Grafana sends it where this regular expression is chosen."""
        values = {
            "$installation": INSTALLATION,
            "$deployment": deployment,
            "$metric": ".*",
            "$__rate_interval": "1m",
            "$most": str(MOST),
        }
        expression = self.expression
        for name, value in values.items():
            expression = expression.replace(name, value)
        return expression


def queries() -> list[Query]:
    panels = json.loads(PATH.read_text())["panels"]
    return [Query(p["title"], t["expr"], t["legendFormat"]) for p in panels for t in p.get("targets", [])]


def fill(lake: Lake) -> None:
    """Forty hours of ten conversations, the last twelve of them much worse; ratings, refused and odd lines."""
    rng = random.Random(3)
    logs, scores = [], []
    for number in range(400):
        asked = NOW - timedelta(hours=41) + timedelta(minutes=6 * number)
        key = {"event_id": f"event-{number}", "response_id": f"response-{number}", "deployment": DEPLOYMENT}
        key |= {"date": asked.date(), "requested_at": asked, "chat_id": f"chat-{number}"}
        called = {"kind": "chat_completion", "status": 200 if number % 50 else 400, "is_entry": True}
        called |= {"finish_reason": "stop"}
        used = {"id": "1", "name": "orders_get", "arguments": "{}", "result": None, "is_error": number % 4 == 0}
        called |= {"tool_calls": [used, used | {"name": "search", "is_error": None}]}
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

    def series(self, expression: str) -> list[dict[str, str]]:
        """The labels of each series that an expression has in the last seconds."""
        end = datetime.now(UTC).timestamp()
        period = {"start": str(end - 5), "end": str(end), "step": "0.5"}
        answer = self.get("/api/v1/query_range", query=expression, **period).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        return [one["metric"] for one in answer["data"]["result"]]

    def get(self, path: str, **parameters: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", params=parameters, timeout=60)


def copies(text: str) -> str:
    """Samples of a deployment again under each of the names of MANY.

    The alerts of the first two page, those of the third warn. The others each fell a little more than the one before.
    Of drifts of judges another one is the greatest each time.
    """
    families = list(text_string_to_metric_families(text))
    samples = [one for family in families for one in family.samples if one.labels.get("deployment") == DEPLOYMENT]
    lines = []
    for number, name in enumerate(MANY):
        for one in samples:
            if one.name == "dialwatch_alert_firing" and number > 2:
                continue
            labels = one.labels | {"deployment": name}
            labels |= {"tier": "warning"} if "tier" in labels and number == 2 else {}
            lines.append(f"{one.name}{{{_written(labels)}}} {_value(one, number)}")
    return "\n".join([*lines, ""])


def elsewhere(text: str) -> str:
    """All samples again as another installation has them, each with a higher value."""
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    lines = []
    for one in samples:
        labels = one.labels | {"installation": OTHER}
        labels |= {"url": "https://staging.example"} if "url" in labels else {}
        lines.append(f"{one.name}{{{_written(labels)}}} {one.value + 1}")
    return "\n".join([*lines, ""])


def _written(labels: Mapping[str, str]) -> str:
    return ",".join(f"{label}={json.dumps(value)}" for label, value in labels.items())


def _value(sample: Sample, number: int) -> float:
    if sample.name == "dialwatch_regression_active":
        return float(number < 3)
    if sample.name == "dialwatch_regression_page":
        return float(number < 2)
    if sample.name == "dialwatch_score_reference_mean":
        return sample.value + number / 1000
    return random.random() if sample.name == "dialwatch_judge_drift" else sample.value


@pytest.fixture(scope="module")
def scraping(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    lake = Lake(str(folder / "lake"), installation=INSTALLATION)
    fill(lake)
    priced = {"base_url": "http://judge", "model": "m", "prompt_price": 1, "completion_price": 1, "budget_per_day": 9}
    hook = {"name": "team", "url": "https://127.0.0.1/", "format": "slack"}
    monitor = {"listen": "127.0.0.1:0", "external_url": PAGES, "webhooks": [hook]}
    judges = {"evaluator": {"judges": {"strict": priced}}}
    settings = load_settings(None, {"lake": {"root": lake.root}, "monitor": monitor} | judges)
    with monitoring(settings, lake) as url, serving_copies(url) as many:
        config = folder / "prometheus.yml"
        jobs = [
            {"job_name": name, "static_configs": [{"targets": [target.removeprefix("http://")]}]}
            for name, target in (("dialwatch", url), ("many", many))
        ]
        scraped = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        config.write_text(json.dumps({"global": scraped, "scrape_configs": jobs}))
        address = f"127.0.0.1:{free_port()}"
        command = [prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
        command += [f"--web.listen-address={address}", "--enable-feature=exemplar-storage"]
        with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                running = Prometheus(f"http://{address}")
                running.found("count(count_over_time(dialwatch_regression_active[1m]) >= 4) == 62")
                yield running
            finally:
                process.terminate()


@contextmanager
def serving_copies(url: str) -> Iterator[str]:
    """Serve what `copies` and `elsewhere` make of the metrics at an address, once they have the regression."""

    def metrics() -> str:
        text = httpx.get(f"{url}/metrics", timeout=60).text
        return text if "dialwatch_alert_firing{" in text else ""

    text = wait_for(metrics)
    others = elsewhere(text)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write((copies(text) + others).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def only_alone(query: Query) -> bool:
    """Whether the query gives nothing where several deployments are chosen."""
    return "topk(" not in query.expression and query.expression.endswith("== 1)")


@pytest.mark.parametrize("chosen", [".*", CHOSEN], ids=["all", "one"])
def test_every_query_gives_data(scraping: Prometheus, chosen: str) -> None:
    """Prometheus runs the query of every panel without a complaint and finds data for each."""
    is_one = chosen != ".*"
    assert len(queries()) > 60
    for query in queries():
        found = scraping.query(query.of(chosen))
        is_left_out = "{{others}}" in query.legend if is_one else only_alone(query)
        if query.title in OF_THE_PROCESS:
            continue
        if query.title in ELSEWHERE or is_left_out:
            assert found == [], query
        elif "{{others}}" not in query.legend:
            assert scraping.found(query.of(chosen)), query


def test_no_number_is_of_another_installation(scraping: Prometheus) -> None:
    """Each query asks for series of the chosen one alone, so that one that is not there gives nothing but zeros."""
    for query in queries():
        found = scraping.query(query.of(".*").replace(INSTALLATION, "nowhere"))
        assert [one["value"][1] for one in found] in ([], ["0"]), query


def test_of_many_deployments_a_panel_has_few_series(scraping: Prometheus) -> None:
    """In a whole period too: at most as many as are wanted, and one for all others."""
    series: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    for query in queries():
        is_rest = "{{others}}" in query.legend
        of_panel = (others if is_rest else series).setdefault(query.title, set())
        of_panel |= {query.legend + json.dumps(one) for one in scraping.series(query.of(".*"))}
    for title, found in series.items():
        most = 4 * MOST if title == "What fires" else 12 if title == "Scores of new answers" else MOST
        assert len(found) <= most, title
        assert len(others.get(title, ())) <= 1, title
    full = {title for title, found in series.items() if len(found) == MOST and len(others.get(title, ())) == 1}
    assert {"Mean score", "Change against the reference", "Signals an hour", "Responses", "Tokens"} <= full
    assert {"Shares of their limits", "Age of the latest scores", "Judges on the same answers"} <= full


def test_what_fires_and_what_changed_most_come_first(scraping: Prometheus) -> None:
    """Pages, then warnings, then the greatest changes; the others are summarised with their number."""
    of = {(query.title, "{{others}}" in query.legend): query for query in reversed(queries())}
    shown = {one["deployment"] for one in scraping.series(of["Regressions by tier", False].of(".*"))}
    assert shown == {DEPLOYMENT, *MANY[:3], *MANY[-6:]}
    (rest,) = scraping.series(of["Mean score", True].of(".*"))
    assert rest == {"others": "51"}
    numbers = [scraping.query(of[f"At the tier {tier}", False].of(".*"))[0]["value"][1] for tier in ("page", "warning")]
    assert numbers == ["6", "2"]  # a regression and a passed limit each
    firing = scraping.query(of["What fires", False].of(".*"))
    assert {(one["metric"]["deployment"], one["metric"]["tier"]) for one in firing} == {
        (DEPLOYMENT, "page"), (MANY[0], "page"), (MANY[1], "page"), (MANY[2], "warning"),
    }  # fmt: skip


def test_of_one_deployment_everything_is_shown(scraping: Prometheus) -> None:
    """Each of its series, however many; and nothing is summarised."""
    for query in queries():
        if "{{others}}" in query.legend:
            assert scraping.query(query.of(CHOSEN)) == [], query
    asked = {query.title: query.of(CHOSEN).replace(f"topk({MOST}, ", "topk(1, ") for query in queries()}
    limits = scraping.query(f'dialwatch_floor_share{{deployment="{DEPLOYMENT}",installation="{INSTALLATION}"}}')
    assert len(limits) > 1
    assert len(scraping.query(asked["Limits"])) == len(limits)


def test_variables_have_choices(scraping: Prometheus) -> None:
    """The variables offer all installations, and deployments, metrics and the pages' address of the chosen one."""
    offered = {}
    for variable in json.loads(PATH.read_text())["templating"]["list"]:
        if variable["type"] == "query":
            asked = variable["query"].replace("$installation", INSTALLATION)
            series, label = asked.removeprefix("label_values(").removesuffix(")").split(", ")
            found = scraping.get(f"/api/v1/label/{label}/values", **{"match[]": series}).json()["data"]
            offered[variable["name"]] = found
    assert offered.pop("installation") == [OTHER, INSTALLATION]
    assert offered == {"deployment": [*MANY, DEPLOYMENT], "metric": [METRIC], "dialwatch": [PAGES]}


def test_scrape_is_clean_and_carries_the_drop(scraping: Prometheus) -> None:
    """Prometheus scrapes without a complaint and sees the regression that the scores hold."""

    def is_clean() -> bool:
        targets = scraping.get("/api/v1/targets").json()["data"]["activeTargets"]
        return [(one["health"], one["lastError"]) for one in targets] == [("up", "")] * 2

    wait_for(is_clean)
    (active,) = scraping.found(f'dialwatch_regression_active{{job="dialwatch", metric="{METRIC}"}}')
    assert active["value"][1] == "1"
