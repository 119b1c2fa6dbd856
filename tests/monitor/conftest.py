from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import ANCHORS, PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.detect.regression import RegressionSettings
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.servers import free_port, needed, wait_for

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
STRANGE_NAME = 'apps/"Ünï\ncode"\\🦜/<b>x</b>'


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **by: float) -> None:
        self.now += timedelta(**by)


class ScoreColumns:
    """Writes rows as the collector and the evaluator do."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    def logs(self, deployment: str | None, *rows: dict[str, Any]) -> None:
        defaults: dict[str, Any] = {
            "deployment": deployment,
            "requested_at": NOW,
            "date": NOW.date(),
            "kind": "chat_completion",
            "status": 200,
            "is_entry": True,
            "answer": "It is so.",
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "deployment_price": 0.001,
        }
        self.lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows([defaults | row for row in rows]))

    def signals(self, deployment: str, *signals: str) -> None:
        rows = [
            {"signal_id": str(n), "deployment": deployment, "date": NOW.date(), "signaled_at": NOW, "signal": signal}
            | {"response_id": f"answer-{n}", "origin": "explicit" if signal.endswith("like") else "implicit"}
            for n, signal in enumerate(signals)
        ]
        self.lake.table(USER_SIGNALS, deployment).append(USER_SIGNALS.rows(rows))

    def scores(self, deployment: str, *rows: dict[str, Any]) -> None:
        defaults: dict[str, Any] = {
            "deployment": deployment,
            "requested_at": NOW,
            "date": NOW.date(),
            "metric": "faithfulness_kprecision",
            "metric_version": "1",
            "judge": "lexical",
            "sampling_probability": 1.0,
            "cost": 0.0,
        }
        complete = [defaults | row for row in rows]
        for number, row in enumerate(complete):
            row.setdefault("scored_at", row["requested_at"] + timedelta(seconds=30))
            row.setdefault("response_id", f"{deployment[:20]}-{row['requested_at']:%d%H}-{number}")
            row.setdefault("event_id", row["response_id"])
        self.lake.table(SCORES, deployment).append(SCORES.rows(complete))

    def anchors(self, deployment: str, *rows: dict[str, Any]) -> None:
        self.lake.table(ANCHORS, deployment).append(ANCHORS.rows(rows))

    def batch(self, **columns: Any) -> None:
        counts = dict.fromkeys(("stored", "signals", "duplicates", "rejected", "filtered"), 0)
        defaults = {"date": NOW.date(), "committed_at": NOW, "newest_requested_at": NOW, **counts}
        self.lake.table(BATCHES).append(BATCHES.rows([defaults | columns]))

    def rejected(self, *reasons: str) -> None:
        rows = [{"reason": reason, "date": NOW.date(), "ingested_at": NOW} for reason in reasons]
        self.lake.table(REJECTED).append(REJECTED.rows(rows))

    def hours(self, deployment: str, hours: int, mean_of: Callable[[int], float], metric: str, seed: int = 1) -> None:
        """Scores of 20 conversations an hour until now; `mean_of` gets the hours that are left."""
        random = np.random.default_rng(seed)
        rows = []
        for left in range(hours, 0, -1):
            for conversation in range(20):
                value = float(np.clip(random.normal(mean_of(left), 0.15), 0, 1))
                at = NOW - timedelta(hours=left) + timedelta(minutes=3 * conversation)
                rows.append({"requested_at": at, "date": at.date(), "value": value, "metric": metric})
        self.scores(deployment, *rows)
        self.logs(deployment, *({"requested_at": row["requested_at"], "date": row["date"]} for row in rows))


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def rows(lake: Lake) -> ScoreColumns:
    return ScoreColumns(lake)


@pytest.fixture
def settings() -> MonitorSettings:
    return MonitorSettings(regression=RegressionSettings(reference_observations=100))


@pytest.fixture
def make_monitor(lake: Lake, settings: MonitorSettings, clock: Clock) -> Callable[[], Monitor]:
    """Gives a new monitor of the same lake, as after a restart."""
    return lambda: Monitor(lake, settings, clock)


@pytest.fixture
def monitor(make_monitor: Callable[[], Monitor]) -> Monitor:
    return make_monitor()


@pytest.fixture
def get() -> Callable[..., httpx.Response]:
    """Asks an ASGI application for a path, without a network."""

    async def ask(app: Any, path: str, headers: dict[str, str]) -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://monitor.example") as client:
            return await client.get(path, headers=headers)

    return lambda app, path, **headers: asyncio.run(ask(app, path, headers))


@pytest.fixture
def strange_name() -> str:
    return STRANGE_NAME


@pytest.fixture
def three_deployments(rows: ScoreColumns) -> None:
    """rag-search lost its faithfulness 10 hours ago, the strange one is well, gpt-4o is not scored."""
    rows.hours("rag-search", 48, lambda left: 0.82 if left > 10 else 0.35, "faithfulness_kprecision")
    rows.hours(STRANGE_NAME, 30, lambda left: 0.7, "faithfulness_kprecision", seed=2)
    rows.hours(STRANGE_NAME, 3, lambda left: 0.6, "answer_correctness_token_recall", seed=3)
    rows.scores("rag-search", {"metric": "facts_recall", "reason": "no_ground_truth"}, {"metric": "context_present"})
    rows.logs("gpt-4o", {"is_entry": False}, {"is_entry": False, "status": 429})
    rows.logs(None, {"kind": "route", "is_entry": False})
    rows.signals("rag-search", "like", "like", "dislike", "regenerate")
    rows.batch(stored=3000, signals=4, duplicates=7, rejected=3, lines=3014)
    rows.rejected("not_json", "not_json", "no_time")


@pytest.fixture
def serve() -> Iterator[Callable[[Any], str]]:
    """Serves an ASGI application on a free port and gives its address."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(app: Any) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        servers.append((server, thread))
        wait_for(lambda: server.started)
        return f"http://127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join(60)


class WebhookSender:
    """Takes webhooks and keeps their bodies."""

    def __init__(self) -> None:
        self.address = ""
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        self.bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def receiver(serve: Callable[[Any], str]) -> WebhookSender:
    receiver = WebhookSender()
    receiver.address = serve(receiver) + "/hook"
    return receiver


class Prometheus:
    """A running Prometheus, asked through its HTTP interface."""

    def __init__(self, address: str, log: Path) -> None:
        self.address = address
        self.logger = log

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/api/v1/{path}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        return self.ask(f"query?query={urllib.request.quote(expression)}")["result"]

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.logger.read_text().splitlines() if "level=warn" in line or "level=error" in line]


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], Prometheus]]:
    """Starts a real Prometheus that scrapes the given addresses, by name, every second."""
    program = needed("prometheus")
    running: list[subprocess.Popen[bytes]] = []

    def start(targets: dict[str, str]) -> Prometheus:
        jobs = [
            {
                "job_name": name,
                "metrics_path": "/" + url.split("/", 3)[3],
                "static_configs": [{"targets": [url.split("/")[2]]}],
            }
            for name, url in targets.items()
        ]
        config = tmp_path / "prometheus.yml"
        config.write_text(json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
        address, log = f"127.0.0.1:{free_port()}", tmp_path / "prometheus.log"
        with log.open("wb") as output:
            running.append(
                subprocess.Popen(
                    [
                        program,
                        f"--config.file={config}",
                        f"--storage.tsdb.path={tmp_path / 'prometheus'}",
                        f"--web.listen-address={address}",
                        "--enable-feature=exemplar-storage",
                    ],
                    stdout=output,
                    stderr=output,
                )
            )
        return Prometheus(f"http://{address}", log)

    yield start
    for process in running:
        process.terminate()
        process.wait(60)


@pytest.fixture
def program() -> Callable[[str], str]:
    return needed


@pytest.fixture
def until() -> Callable[..., Any]:
    return wait_for
