"""`dialwatch_store_requests_total` against the count of the store itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import boto3
import httpx
import pytest

from benchmarks.lake.store_requests import line_of
from dialwatch.config import Settings
from dialwatch.services import running
from lake.spec.service_vocabulary import StoreUser
from tests.servers import free_port, wait_for, wait_for_url

pytestmark = [pytest.mark.integration, pytest.mark.slow]

_SERIES = re.compile(r'^dialwatch_store_requests_total\{.*kind="(\w+)",part="(\w+)"\} (\S+)$', re.MULTILINE)
_LINES = 8


def test_the_metric_is_what_the_store_counts(tmp_path: Path) -> None:
    """While lines come to tables that are there, each kind is counted as the store does, within a few percent."""
    port, pages, own = free_port(), free_port(), free_port()
    store = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.lake.counting_store", str(port)], env=dict(os.environ))
    try:
        wait_for_url(f"{store}/moto-api/", server)
        boto3.client("s3", endpoint_url=store, region_name="us-east-1", aws_access_key_id="key",
                     aws_secret_access_key="secret").create_bucket(Bucket="bucket")  # fmt: skip
        log = tmp_path / "core.log"
        log.touch()
        with running.all_services(settings_for(tmp_path, store, pages, own)):
            write_until_seen(log, pages, 0)
            before = in_metrics(pages, own), in_store(store)
            write_until_seen(log, pages, _LINES)
            after = in_metrics(pages, own), in_store(store)
    finally:
        server.kill()
        server.wait()
    shown, counted = after[0] - before[0], after[1]
    by_kind = Counter[str]()
    for (_, kind), number in shown.items():
        by_kind[kind] += number
    assert counted["put"] > 4 * _LINES
    for kind in ("get", "put", "list"):
        assert by_kind[kind] == pytest.approx(counted[kind], rel=0.03, abs=8), (by_kind, counted)
    users = {StoreUser.COLLECTOR, StoreUser.EVALUATOR, StoreUser.MONITOR, StoreUser.HEARTBEATS, StoreUser.UPKEEP}
    assert users <= {part for part, _ in after[0]}


def settings_for(folder: Path, store: str, pages: int, own: int) -> Settings:
    """Settings of fast parts, of which the evaluator has an address of its own."""
    storage = {"endpoint_url": store, "region": "us-east-1", "access_key_id": "key", "secret_access_key": "secret"}
    return Settings.model_validate(
        {
            "lake": {"root": "s3://bucket/lake", "storage": storage},
            "collector": {"files": {"paths": [str(folder / "*.log")], "poll_seconds": 0.2}, "flush_seconds": 0.5},
            "evaluator": {
                "every": 1,
                "context_grace": 0,
                "metrics_listen": f"127.0.0.1:{own}",
                "judge_calls": str(folder / "calls.sqlite"),
            },
            "monitor": {"listen": f"127.0.0.1:{pages}", "refresh_seconds": 0.5},
        }
    )


def write_until_seen(log: Path, pages: int, number: int) -> None:
    """Write lines, each once the one before is on the pages, so that each is a commit; then wait for the scores."""
    for one in range(number, number + _LINES):
        with log.open("ab") as file:
            file.write(line_of(one, "rag-app") + b"\n")
        wait_for(lambda one=one: seen(pages, "dialwatch_responses_total") == one + 1)
    time.sleep(3)


def seen(pages: int, name: str) -> int:
    text = httpx.get(f"http://127.0.0.1:{pages}/metrics").text
    return int(sum(float(value) for value in re.findall(rf"^{name}\{{.*\}} (\S+)$", text, re.MULTILINE)))


def in_metrics(*ports: int) -> Counter[tuple[str, str]]:
    """Give what all addresses show together, by part and kind."""
    found: Counter[tuple[str, str]] = Counter()
    for port in ports:
        for kind, part, number in _SERIES.findall(httpx.get(f"http://127.0.0.1:{port}/metrics").text):
            found[part, kind] += int(float(number))
    return found


def in_store(store: str) -> Counter[str]:
    """Give the store's numbers since the last time, by kind."""
    return Counter({kind.lower(): number for kind, number in httpx.get(f"{store}/counts").json().items()})
