"""Benchmark of what a lake on a store costs in requests: `dialwatch up` with many quiet deployments, counted there.

    python -m benchmarks.lake.store_requests [--deployments 20] [--lines 1] [--minutes 10]

A server that speaks S3 (moto) counts the requests by kind, and what `dialwatch_store_requests_total` says is set beside
its count. A writer appends `--lines` lines a second in all to a log file, for one deployment after the other; a process
of `dialwatch up` with the default settings reads it. After
`--warm-up` minutes the counts of `--minutes` are taken, and multiplied to a day. The price is that of S3 Standard in
us-east-1: 0.005 dollars for a thousand PUT, POST or LIST, 0.0004 for a thousand GET or HEAD, DELETE is free
(https://aws.amazon.com/s3/pricing). The delay is that from the writing of a line to its count in `/metrics`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import boto3

from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for_url

_DOLLARS = {"PUT": 5e-6, "POST": 5e-6, "LIST": 5e-6, "GET": 4e-7, "HEAD": 4e-7, "DELETE": 0.0}
_DAY = 86400.0
_CONFIG = """
lake: {{root: "s3://bucket/lake", storage: {{endpoint_url: "{store}", region: us-east-1}}}}
collector: {{files: {{paths: ["{logs}/*.log"]}}}}
monitor: {{listen: "127.0.0.1:{port}"}}
evaluator: {{judge_calls: "{folder}/calls.sqlite"}}
"""


class Writer:
    """Thread that appends lines to a log file, evenly spaced, and notes when each was written."""

    def __init__(self, path: Path, deployments: int, a_second: float) -> None:
        self._path, self._deployments, self._a_second = path, deployments, a_second
        self.written: list[float] = []
        self._stop = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        began = time.monotonic()
        with self._path.open("ab") as file:
            while not self._stop.wait(max(0.0, began + len(self.written) / self._a_second - time.monotonic())):
                number = len(self.written)
                deployment = f"app-{number % self._deployments:03}"
                file.write(line_of(number, deployment) + b"\n")
                file.flush()
                self.written.append(time.monotonic())


def line_of(number: int, deployment: str) -> bytes:
    """Give a line of now."""
    line = json.loads(chat_line(number, deployment=deployment, execution_path=[deployment]))
    line["request"]["time"] = datetime.now(UTC).replace(tzinfo=None).isoformat()
    line["request"]["uri"] = f"/openai/deployments/{deployment}/chat/completions"
    return json.dumps(line).encode()


def counts(store: str) -> Counter[str]:
    """Give the requests since the last time, by kind."""
    with urllib.request.urlopen(f"{store}/counts") as answer:
        return Counter(json.load(answer))


def seen(metrics: str) -> int:
    """Number of requests that the monitor has counted."""
    try:
        with urllib.request.urlopen(metrics, timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return 0
    return int(sum(float(value) for value in re.findall(r"^dialwatch_responses_total\{.*\} (\S+)$", text, re.M)))


def own_counts(metrics: str) -> Counter[str]:
    """Give the requests that the process has counted since it started, by kind."""
    with urllib.request.urlopen(metrics, timeout=30) as answer:
        text = answer.read().decode()
    found = Counter[str]()
    for kind, number in re.findall(r'^dialwatch_store_requests_total\{.*kind="(\w+)",.*\} (\S+)$', text, re.M):
        found[kind.upper()] += int(float(number))
    return found


def longest_delay(writer: Writer, metrics: str, seconds: float, delays: list[float]) -> None:
    """Look every second which line is counted, for so many seconds; appends how old the first uncounted one is."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        known = seen(metrics)
        if known < len(writer.written):
            delays.append(time.monotonic() - writer.written[known])
        time.sleep(1)


def started(command: list[str], **environment: str) -> subprocess.Popen[bytes]:
    """Start a process with more environment."""
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=sys.stderr)


def measure(options: argparse.Namespace, folder: Path, report: Callable[[str], None]) -> None:
    """Run all three, and report."""
    store_port, port = free_port(), free_port()
    store = f"http://127.0.0.1:{store_port}"
    server = started([sys.executable, "-m", "benchmarks.lake.counting_store", str(store_port)])
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    wait_for_url(f"{store}/moto-api/", server)
    boto3.client("s3", endpoint_url=store, region_name="us-east-1", aws_access_key_id="key",
                 aws_secret_access_key="secret").create_bucket(Bucket="bucket")  # fmt: skip
    config = folder / "dialwatch.yaml"
    config.write_text(_CONFIG.format(store=store, logs=folder, port=port, folder=folder))
    writer = Writer(folder / "core.log", options.deployments, options.lines)
    service = started([sys.executable, "-m", "dialwatch", "up", "-c", str(config)], **keys)
    try:
        time.sleep(options.warm_up * 60)
        metrics = f"http://127.0.0.1:{port}/metrics"
        before = own_counts(metrics)
        counts(store)
        began, delays = time.monotonic(), list[float]()
        longest_delay(writer, metrics, options.minutes * 60, delays)
        taken, elapsed = counts(store), time.monotonic() - began
        own = own_counts(metrics) - before
    finally:
        service.terminate()
        service.wait(120)
        server.kill()
    day = _DAY / elapsed
    for kind, number in taken.most_common():
        price, share = number * day * _DOLLARS[kind], own[kind] / number
        report(f"{kind:7} {number / elapsed:8.2f} a second {price:8.2f} dollars a day, {share:4.0%} in the metric")
    total = sum(number * day * _DOLLARS[kind] for kind, number in taken.items())
    report(f"all     {sum(taken.values()) / elapsed:8.2f} a second {total:8.2f} dollars a day")
    report(f"longest delay of a line: {max(delays, default=0.0):.0f} s")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=20)
    parser.add_argument("--lines", type=float, default=1, help="lines a second, in all")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=4, help="minutes")
    with tempfile.TemporaryDirectory() as folder:
        measure(parser.parse_args(), Path(folder), print)


if __name__ == "__main__":
    main()
