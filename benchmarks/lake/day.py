"""Benchmark of what a day costs: processor time, memory, requests to a store and dollars of each part.

    python -m benchmarks.lake.day [--rates 10 1000] [--minutes 4.5] [--warm-up 3]

For each rate, in answers a minute, a collector that follows a file, an evaluator and a monitor run with their defaults,
each in a process of its own, on a lake in a store (`benchmarks.lake.counting_store`). An answer is three lines: one of
the generated log (`benchmarks.collector.gen_dial_logs`, 60 KB and 10 deployments), and the calls of a model and of a
search. After `--warm-up` minutes the processor time of each process over `--minutes` is taken, the requests that it
counts itself, its memory at the end, and how much the objects have grown. The default is three passes of the
evaluator.

100,000 answers a minute are calculated: processor time grows as it did between the two rates, and is shared by
processes that are busy for 70 % of a core at most. Each collector makes the requests of one, and evaluators share those
of one, as they share the deployments. The monitor's memory and requests grow with deployments alone.

Dollars are those of processors and memory that are reserved: for each process the least that Fargate sells in which it
is busy for 70 % at most and has a quarter of the memory free. Beside it stands what Langfuse's guide asks for at least.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen

import boto3

from benchmarks.collector.gen_dial_logs import lines
from benchmarks.lake.idle import memory, processor_seconds
from benchmarks.lake.store_requests import own_counts, started
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for_url

VCPU_HOUR, GB_HOUR = 0.04048, 0.004445
"""Dollars of AWS Fargate, Linux on x86, on demand, in us-east-1 (https://aws.amazon.com/fargate/pricing, as quoted by
https://cloudburn.io/blog/aws-fargate-pricing of 1 April 2026)."""
SIZES = {0.25: (0.5, 1, 2), 0.5: (1, 2, 3, 4), 1: (2, 3, 4, 5, 6, 7, 8), 2: range(4, 17), 4: range(8, 31)}
"""Memory in GB that Fargate sells with so many processors (the same page)."""
WRITE, READ, GB_MONTH = 5e-6, 4e-7, 0.023
"""Dollars of S3 Standard in us-east-1: of a PUT, POST or LIST, of a GET or HEAD, and of a GB for a month
(https://aws.amazon.com/s3/pricing). A DELETE is free."""
WRITES, READS = ("PUT", "POST", "LIST"), ("GET", "HEAD")
RETENTION_DAYS = 90
LANGFUSE = {"web": (2, 4), "worker": (2, 4), "PostgreSQL": (2, 4), "Redis": (1, 1.5), "ClickHouse": (2, 8)}
"""Processors and GiB that Langfuse asks for at least (https://langfuse.com/self-hosting/configuration/scaling, from
github.com/langfuse/langfuse-docs at 08153ed)."""
LANGFUSE_LARGE = LANGFUSE | {"ClickHouse": (2, 16)}
"""With the memory of ClickHouse that the same page recommends for larger deployments. It names no rates."""

LARGE = 100_000
_BUSY, _FULL = 0.7, 0.75
_DAY_HOURS, _DAY_SECONDS = 24.0, 86400.0
_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
_CONFIG = """
lake: {{root: "s3://bucket/lake", storage: {{endpoint_url: "{store}", region: us-east-1}}}}
collector: {{files: {{paths: ["{folder}/*.log"]}}, metrics_listen: "127.0.0.1:{collector}"}}
evaluator: {{judge_calls: "{folder}/calls.sqlite", metrics_listen: "127.0.0.1:{evaluator}"}}
monitor: {{listen: "127.0.0.1:{monitor}"}}
"""


@dataclass(frozen=True)
class Part:
    """What a part takes: cores, MiB of each of its processes, and requests a second by kind."""

    cores: float
    mib: float
    requests: Mapping[str, float]
    processes: int = 1

    def reserved(self) -> tuple[float, float]:
        """Processors and GB of each process."""
        for processors, sold in SIZES.items():
            for gb in sold:
                if self.cores / self.processes <= _BUSY * processors and self.mib / 1024 <= _FULL * gb:
                    return processors, gb
        raise ValueError(f"no size for {self}")

    def compute_dollars(self) -> float:
        """Dollars a day of processors and memory."""
        processors, gb = self.reserved()
        return self.processes * dollars_of(processors, gb)

    def request_dollars(self) -> float:
        """Dollars a day of requests."""
        writes, reads = (sum(self.requests.get(kind, 0.0) for kind in kinds) for kinds in (WRITES, READS))
        return _DAY_SECONDS * (WRITE * writes + READ * reads)


@dataclass(frozen=True)
class Day:
    """What a rate takes: each part, and bytes of an answer in the store. `rate` is in answers a minute."""

    rate: int
    parts: Mapping[str, Part]
    answer_bytes: float

    def gb(self) -> float:
        """GB that a day adds to the store."""
        return self.answer_bytes * self.rate * 60 * _DAY_HOURS / 1e9

    def storage_dollars(self) -> float:
        """Dollars a day of what is kept once the oldest rows go."""
        return self.gb() * RETENTION_DAYS * GB_MONTH / 30


def dollars_of(processors: float, gb: float) -> float:
    """Return the dollars a day of processors and memory."""
    return _DAY_HOURS * (processors * VCPU_HOUR + gb * GB_HOUR)


def write_answers(path: Path, rate: int, stop: threading.Event) -> None:
    """Append the lines of so many answers a minute, evenly spaced."""
    began = time.monotonic()
    with path.open("ab") as file:
        for number, answer in enumerate(answers()):
            if stop.wait(max(0.0, began + number * 60 / rate - time.monotonic())):
                return
            file.write(answer)
            file.flush()


def answers() -> Iterator[bytes]:
    """Yield the three lines of an answer of now, and of the next."""
    for number, (raw, about) in zip(itertools.count(), lines(malformed=0.0), strict=False):
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
        calls = []
        for place, name in enumerate(("gpt-4o", "search")):
            line = json.loads(chat_line(2 * number + place, deployment=name, execution_path=["dial-rag", name]))
            line["request"] |= {"time": now, "uri": f"/openai/deployments/{name}/chat/completions"}
            calls.append(json.dumps(line).encode())
        yield b"\n".join([*calls, raw.replace(about.time.encode(), now.encode()), b""])


def measured(options: argparse.Namespace, rate: int, folder: Path) -> Day:
    """Run the three parts at a rate, and return what they take."""
    store_port = free_port()
    store = f"http://127.0.0.1:{store_port}"
    server, stop = started([sys.executable, "-m", "benchmarks.lake.counting_store", str(store_port)]), threading.Event()
    services: dict[str, Popen[bytes]] = {}
    try:
        wait_for_url(f"{store}/moto-api/", server)
        client = boto3.client("s3", endpoint_url=store, region_name="us-east-1", aws_access_key_id="key",
                              aws_secret_access_key="secret")  # fmt: skip
        client.create_bucket(Bucket="bucket")
        ports = {part: free_port() for part in ("collector", "evaluator", "monitor")}
        config, log = folder / "dialwatch.yaml", folder / "core.log"
        config.write_text(_CONFIG.format(store=store, folder=folder, **ports))
        threading.Thread(target=write_answers, args=(log, rate, stop), daemon=True).start()
        commands = {"collector": ["collect", "files", f"{folder}/*.log", "--follow"], "evaluator": ["evaluate"]}
        for part in ports:
            command = [sys.executable, "-m", "dialwatch", *commands.get(part, [part]), "-c", str(config)]
            services[part] = started(command, **_KEYS)
        time.sleep(options.warm_up * 60)
        began, grown = time.monotonic(), stored_bytes(client)
        taken = {part: processor_seconds(service.pid) for part, service in services.items()}
        asked = {part: own_counts(f"http://127.0.0.1:{port}/metrics") for part, port in ports.items()}
        time.sleep(options.minutes * 60)
        seconds = time.monotonic() - began
        parts = {}
        for part, service in services.items():
            requests = own_counts(f"http://127.0.0.1:{ports[part]}/metrics")
            requests.subtract(asked[part])
            cores = (processor_seconds(service.pid) - taken[part]) / seconds
            each = {kind: number / seconds for kind, number in requests.items()}
            parts[part] = Part(cores, memory(service.pid)["Rss"], each)
        return Day(rate, parts, (stored_bytes(client) - grown) / (rate * seconds / 60))
    finally:
        stop.set()
        for service in services.values():
            service.terminate()
        for service in services.values():
            service.wait(120)
        server.kill()


def stored_bytes(client: boto3.client) -> int:
    """Return the size of all objects of the lake."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket")
    return sum(one["Size"] for page in pages for one in page.get("Contents", ()))


def calculated(small: Day, large: Day) -> Day:
    """Return what a rate of 100,000 takes, by what two others took."""
    parts = {}
    for name, part in large.parts.items():
        growth = (part.cores - small.parts[name].cores) / (large.rate - small.rate)
        cores = part.cores + growth * (LARGE - large.rate)
        processes = 1 if name == "monitor" else max(1, math.ceil(cores / _BUSY))
        times = processes if name == "collector" else 1
        requests = {kind: times * number for kind, number in part.requests.items()}
        parts[name] = replace(part, cores=cores, processes=processes, requests=requests)
    return Day(LARGE, parts, large.answer_bytes)


def print_table(days: Sequence[Day]) -> None:
    """Print a row for each part and figure, and a column for each rate."""

    def row(title: str, cells: Sequence[str]) -> None:
        print(f"| {' | '.join((title, *cells))} |")

    row("", [f"{day.rate:,} a minute{', calculated' if day.rate == LARGE else ''}" for day in days])
    row("---", ["---"] * len(days))
    for name in days[0].parts:
        some = [day.parts[name] for day in days]
        row(f"{name}: CPU seconds a day", [f"{part.cores * _DAY_SECONDS:,.0f}" for part in some])
        row(f"{name}: of a core", [f"{100 * part.cores:,.2f} %" for part in some])
        row(f"{name}: processes, MiB of each", [f"{part.processes} of {part.mib:,.0f}" for part in some])
        reserved = [(part.processes, *part.reserved()) for part in some]
        row(f"{name}: reserved", [f"{number} × {vcpu:g} vCPU, {gb:g} GB" for number, vcpu, gb in reserved])
        row(f"{name}: requests a second", [_requests(part) for part in some])
        row(f"{name}: dollars a day, reserved + requests",
            [f"{part.compute_dollars():,.2f} + {part.request_dollars():,.2f}" for part in some])  # fmt: skip
    row("store: GB a day", [f"{day.gb():,.2f}" for day in days])
    row(f"store: dollars a day, {RETENTION_DAYS} days kept", [f"{day.storage_dollars():,.2f}" for day in days])
    for title, sizes in (("Langfuse, at least", LANGFUSE), ("with 16 GiB for ClickHouse", LANGFUSE_LARGE)):
        vcpu, gib = (sum(column) for column in zip(*sizes.values(), strict=True))
        print(f"{title}: {vcpu:g} vCPU, {gib:g} GiB, {dollars_of(vcpu, gib):.2f} dollars a day")
    for day in days:
        all_parts = sum(part.compute_dollars() + part.request_dollars() for part in day.parts.values())
        kept = all_parts + day.storage_dollars()
        print(f"{day.rate:,} a minute: {all_parts:.2f} dollars a day, {kept:.2f} with what is kept", flush=True)


def _requests(part: Part) -> str:
    writes, reads = (sum(part.requests.get(kind, 0.0) for kind in kinds) for kinds in (WRITES, READS))
    return f"{writes:.2f} writes, {reads:.2f} reads"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", type=int, nargs=2, default=[10, 1000], help="answers a minute, of two runs")
    parser.add_argument("--minutes", type=float, default=4.5)
    parser.add_argument("--warm-up", type=float, default=3, help="minutes")
    options = parser.parse_args()
    days = []
    for rate in options.rates:
        with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
            days.append(measured(options, rate, Path(folder)))
            print_table(days[-1:])
    print_table([*days, calculated(*days)])


if __name__ == "__main__":
    main()
