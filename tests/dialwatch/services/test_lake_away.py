"""Processes whose lake cannot be written, or is away when they begin."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from lake.spec.root_tables import SERVICES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for, wait_for_url

pytestmark = pytest.mark.integration

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
JSON = {"Content-Type": "application/json"}
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts dialwatch with a configuration; what it says goes to the file `log`."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(config: str, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        (tmp_path / "dialwatch.yaml").write_text(config)
        words = [sys.executable, "-m", "dialwatch", *(command or ("up",)), "-c", str(tmp_path / "dialwatch.yaml")]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        with (tmp_path / "log").open("wb") as log:
            running.append(subprocess.Popen(words, stdout=log, stderr=log, env=inherited | environment))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()


def health(port: int) -> dict[str, Any]:
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=30)
    except httpx.TransportError:
        return {}
    return {**answer.json(), "status": answer.status_code}


def states(port: int) -> dict[str, str]:
    return {part["part"]: part["state"] for part in health(port).get("parts", [])}


def test_up_with_a_lake_that_cannot_be_written_says_so_everywhere(tmp_path: Path, start: Start) -> None:
    """Health, page and metrics name each part; the lines wait, and are stored once when the lake can be written."""
    (tmp_path / "aidial.log").write_bytes(chat_line(1) + b"\n")
    port, blocked = free_port(), tmp_path / "mount"
    # Whoever runs this may be root, whom no permission keeps from writing: so a file stands where a folder should.
    blocked.write_text("not a folder")
    (tmp_path / "secret").write_text("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    config = f"""
lake: {{root: {blocked}/lake}}
collector: {{files: {{paths: ["{tmp_path}/aidial.log"], poll_seconds: 0.2}}, flush_seconds: 0.5}}
monitor: {{listen: "127.0.0.1:{port}", refresh_seconds: 0.5, webhooks: [
  {{name: team, url: "http://127.0.0.1:9/hook", secret_file: {tmp_path}/secret}}], internal_hosts: [127.0.0.1]}}
"""
    process = start(config)
    parts = ("collector", "evaluator", "upkeep", "webhooks", "monitor")
    wait_for(lambda: states(port) == dict.fromkeys(parts, "failing"))
    answer = health(port)
    assert (answer["status"], answer["healthy"]) == (503, False)
    assert any("cannot be written" in problem and "Not a directory" in problem for problem in answer["problems"])
    page = httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text
    assert "Nothing has arrived yet" not in page
    assert "cannot be written" in page
    metrics = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=30).text
    for part in parts:
        assert any(
            line.startswith("dialwatch_part_healthy{") and f'part="{part}"' in line and line.endswith(" 0.0")
            for line in metrics.splitlines()
        )
    blocked.unlink()
    wait_for(lambda: states(port) == dict.fromkeys(parts, "running"), 120)
    assert health(port)["status"] == 200
    lake = Lake(f"{blocked}/lake")
    wait_for(lambda: lake.table(PARSED_LOGS, "rag-app").read(["answer"]).num_rows == 1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    last = {row["part"]: row for row in lake.table(SERVICES).read().sort_by("heartbeat_at").to_pylist()}
    assert {part: row["state"] for part, row in last.items()} == dict.fromkeys(parts, "stopped")
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log, log


@pytest.fixture
def store() -> Iterator[tuple[int, Callable[[], None]]]:
    """The port of an S3-speaking server, and what starts it there, with a bucket."""
    port = free_port()
    servers: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        wait_for_url(f"http://127.0.0.1:{port}/moto-api/", servers[-1])
        client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        client.create_bucket(Bucket="bucket")

    yield port, begin
    for server in servers:
        server.kill()
        server.wait()


def test_a_collector_waits_for_a_store_that_is_away_when_it_begins(
    tmp_path: Path, start: Start, store: tuple[int, Callable[[], None]]
) -> None:
    """It says so, takes no request for stored, and goes on by itself when the store is there."""
    (tmp_path / "aidial.log").write_bytes(chat_line(1) + b"\n")
    (port, begin), listen = store, free_port()
    config = f"""
lake: {{root: "s3://bucket/lake", storage: {{endpoint_url: "http://127.0.0.1:{port}", region: us-east-1}}}}
collector:
  flush_seconds: 0.5
  http: {{listen: "127.0.0.1:{listen}"}}
"""
    process = start(config, "collect", "files", "--follow", str(tmp_path / "aidial.log"), **KEYS)
    log = tmp_path / "log"
    wait_for(lambda: "the lake s3://bucket/lake" in log.read_text())
    refused = httpx.post(f"http://127.0.0.1:{listen}/data", content=chat_line(2), headers=JSON, timeout=120)
    assert refused.status_code == 503
    assert process.poll() is None
    begin()
    lake = Lake("s3://bucket/lake", Storage(f"http://127.0.0.1:{port}", "us-east-1", "key", "secret"))
    wait_for(lambda: lake.table(PARSED_LOGS, "rag-app").read(["answer"]).num_rows == 1, 120)
    assert (
        httpx.post(f"http://127.0.0.1:{listen}/data", content=chat_line(2), headers=JSON, timeout=120).status_code
        == 200
    )
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert lake.table(PARSED_LOGS, "rag-app").read(["answer"]).num_rows == 2
    assert "Traceback" not in log.read_text()


def test_a_store_that_is_away_is_a_line_a_minute_for_all_parts(
    tmp_path: Path, start: Start, store: tuple[int, Callable[[], None]]
) -> None:
    """No traceback of any part, the pages are served, and SIGTERM ends all in time."""
    port = free_port()
    config = f"""
lake: {{root: "s3://bucket/lake", storage: {{endpoint_url: "http://127.0.0.1:{store[0]}", region: us-east-1}}}}
collector: {{files: {{paths: ["{tmp_path}/*.log"]}}}}
evaluator: {{every: 1s}}
monitor: {{listen: "127.0.0.1:{port}", refresh_seconds: 1}}
"""
    process, log = start(config, **KEYS), tmp_path / "log"
    wait_for(lambda: states(port) == dict.fromkeys(("collector", "evaluator", "upkeep", "monitor"), "failing"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    lines = log.read_text().splitlines()
    # Each part has met it by now, and tried again each second; a slow machine may have taken some minutes for it.
    assert 1 <= sum(" ERROR " in line or " failed for " in line for line in lines) <= 3
    for line in lines:
        assert line[:4].isdigit(), f"a line that does not begin with its time: {line}"


@pytest.mark.parametrize(
    ("lake", "words"),
    [
        ("{root: 'ftps://host/lake'}", "lake.root"),
        ("{root: 's3://'}", "names no bucket"),
        ("{root: 's3://bucket/lake', storage: {endpoint_url: '127.0.0.1:9000'}}", "http://host:port"),
        ("{root: 's3://bucket/lake', storage: {endpoint_url: 'http://127.0.0.1:9', region: us-east-1}}", "credentials"),
    ],
)
def test_what_no_waiting_mends_ends_at_once(tmp_path: Path, start: Start, lake: str, words: str) -> None:
    """An address that is none, and no credentials anywhere: one message, exit code 2."""
    # No credentials from this machine's files, nor from a cloud's metadata server, which must not be asked.
    nowhere = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    process = start(f"lake: {lake}\nmonitor: {{listen: '127.0.0.1:{free_port()}'}}\n", **nowhere)
    assert process.wait(60) == 2
    log = (tmp_path / "log").read_text()
    assert words in log
    assert "Traceback" not in log
