"""Benchmark of what `dialwatch up` takes when it has nothing to do: processor time, memory, and requests to a store.

    python -m benchmarks.lake.idle [--deployments 20] [--rows 200] [--minutes 10]

A log with `--rows` lines of each deployment, of the hours before, is read by a process of `dialwatch up` with the
default settings; nothing comes after it. After `--warm-up` minutes the processor time of the process and its children
is taken over `--minutes`, once with the lake in a folder, and once in a store that counts its requests by kind
(`benchmarks.lake.counting_store`). Both are given an hour. The memory is that at the end: RSS counts all pages of a
process, PSS those of libraries by how many processes of the machine share them. It reads /proc, and so needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import boto3

from benchmarks.lake.store_requests import counts, seen, started
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for_url

_HOUR = 3600.0
_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
_CONFIG = """
lake: {lake}
collector: {{files: {{paths: ["{folder}/*.log"]}}}}
monitor: {{listen: "127.0.0.1:{port}"}}
evaluator: {{judge_calls: "{folder}/calls.sqlite"}}
"""


def write_log(path: Path, deployments: int, rows: int) -> None:
    """Write lines of the last 12 hours, of one deployment after the other."""
    lines, now = deployments * rows, datetime.now(UTC).replace(tzinfo=None)
    with path.open("w") as file:
        for number in range(lines):
            deployment = f"app-{number % deployments:03}"
            line = json.loads(chat_line(number, deployment=deployment, execution_path=[deployment]))
            line["request"]["time"] = (now - timedelta(hours=12) * (1 - number / lines)).isoformat()
            line["request"]["uri"] = f"/openai/deployments/{deployment}/chat/completions"
            file.write(json.dumps(line) + "\n")


def processor_seconds(process: int) -> float:
    """Processor time of a process and all that it has started and that still runs."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(processor_seconds, children_of(process)))


def memory(process: int) -> Counter[str]:
    """MiB of a process and all that it has started: `Rss` and `Pss`."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    told = {line.partition(":")[0]: int(line.split()[1]) // 1024 for line in lines[1:]}
    return sum(map(memory, children_of(process)), Counter({name: told[name] for name in ("Rss", "Pss")}))


def children_of(process: int) -> list[int]:
    """Return the processes that a process has started and that still run."""
    told = (path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children"))
    return [int(child) for some in told for child in some.split()]


def measure(options: argparse.Namespace, folder: Path, lake: str, store: str | None = None) -> None:
    """Run the services on a lake, and print what they take."""
    port = free_port()
    write_log(folder / "core.log", options.deployments, options.rows)
    config = folder / "dialwatch.yaml"
    config.write_text(_CONFIG.format(lake=lake, folder=folder, port=port))
    service = started([sys.executable, "-m", "dialwatch", "up", "-c", str(config)], **_KEYS)
    try:
        time.sleep(options.warm_up * 60)
        rows = seen(f"http://127.0.0.1:{port}/metrics")
        if store is not None:
            counts(store)
        began, took = time.monotonic(), processor_seconds(service.pid)
        time.sleep(options.minutes * 60)
        hours = (time.monotonic() - began) / _HOUR
        took = (processor_seconds(service.pid) - took) / hours
        asked = Counter[str]() if store is None else counts(store)
        held = memory(service.pid)
    finally:
        service.terminate()
        service.wait(120)
    kept = f"{rows:,} rows, RSS {held['Rss']} MiB, PSS {held['Pss']} MiB"
    where = "folder" if store is None else "store"
    print(f"{where}: {kept}, {took:.1f} CPU seconds an hour, {took / 36:.2f} %", flush=True)
    for kind, number in asked.most_common():
        print(f"  {kind:7}{number / hours:8,.0f} an hour")
    if asked:
        print(f"  all    {asked.total() / hours:8,.0f} an hour", flush=True)


def measure_store(options: argparse.Namespace, folder: Path) -> None:
    """Run them on a lake in a store."""
    port = free_port()
    store = f"http://127.0.0.1:{port}"
    server = started([sys.executable, "-m", "benchmarks.lake.counting_store", str(port)])
    try:
        wait_for_url(f"{store}/moto-api/", server)
        client = boto3.client("s3", endpoint_url=store, region_name="us-east-1", aws_access_key_id="key",
                              aws_secret_access_key="secret")  # fmt: skip
        client.create_bucket(Bucket="bucket")
        lake = f'{{root: "s3://bucket/lake", storage: {{endpoint_url: "{store}", region: us-east-1}}}}'
        measure(options, folder, lake, store)
    finally:
        server.kill()


def main() -> None:
    """Measure on both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200, help="of each deployment")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=4, help="minutes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        measure(options, Path(folder), f'{{root: "{folder}/lake"}}')
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        measure_store(options, Path(folder))


if __name__ == "__main__":
    main()
