"""Benchmark of the Kafka source: lines from Kafka into the lake, beside fetching alone and writing alone.

    python -m benchmarks.collector.kafka [--bytes 128MiB] [--runs 1] [--sizes 1 8 64]

For values of about 1, 8 and 64 KB, compressed with zstd by the producer, on the real broker of the tests: `fetch` polls
all values with the source's own consumer and drops them; `write` takes the same values from memory through a collector;
`lake` is the Kafka source, from joining the group to the last commit. Each is a process of its own, one after the
other, and a figure is the best of `--runs`. The two ratios are the MB/s of `lake` to those of the slower of the two
others, by the wall and by the processor. The broker works on the same machine, and rests during `write`.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.collector.gen_dial_logs import Corpus
from benchmarks.collector.write_dial_logs import parse_size
from tests.collector.lines import chat_line
from tests.kafka.broker import Broker
from tests.kafka.topics import make_topic, produce

_PARTITIONS = 4

_COMMON = """
import json, sys, time, threading
from datetime import UTC, datetime
from runtime.lean_process import tune_memory, use_one_blas_thread
use_one_blas_thread()
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.commit.position import Piece
from collector.sources.kafka.source import KafkaSource
from collector.sources.kafka.client import connect
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.lake_writer import partition_of
from kafka import TopicPartition
from lake import Lake
address, topic, count, partitions, root, values = sys.argv[1:7]
count, partitions = int(count), range(int(partitions))
settings = KafkaSettings(bootstrap_servers=[address], topics=[topic], group_id=root)

tune_memory()

def clocks():
    return time.perf_counter(), time.process_time()
"""
_FETCH = """
began = clocks()
consumer = connect(settings)
places = [TopicPartition(topic, number) for number in partitions]
consumer.assign(places)
for place in places:
    consumer.seek(place, 0)
seen = 0
while seen < count:
    seen += sum(map(len, consumer.poll(200, max_records=4000).values()))
ended = clocks()
consumer.close(autocommit=False)
"""
_WRITE = """
with open(values, "rb") as file:
    lines = file.read().splitlines()
collector = Collector(Lake(root), CollectorSettings())
began = clocks()
for number, line in enumerate(lines):
    partition = partition_of((topic, number % len(partitions)))
    collector.add(Piece(partition, line, number // len(partitions)))
collector.flush()
ended = clocks()
"""
_LAKE = """
collector = Collector(Lake(root), CollectorSettings())
source, stop = KafkaSource(settings, collector), threading.Event()

def end():
    while collector.totals.lines + sum(batch.counts().lines for batch in collector.open_batches) < count:
        time.sleep(0.05)
    stop.set()

threading.Thread(target=end).start()
began = clocks()
source.run(stop)
ended = clocks()
assert collector.totals.stored == count, collector.totals
"""
_TELL = "print(json.dumps([ended[0] - began[0], ended[1] - began[1]]))"


@dataclass(frozen=True)
class Measured:
    """Wall and processor seconds of one step."""

    wall: float
    cpu: float


def main() -> None:
    """Fill a topic for each size, run the steps, print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--bytes", type=parse_size, default=128 << 20)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 8, 64], metavar="KB")
    arguments = parser.parse_args()
    print(f"{_PARTITIONS} partitions, zstd; Python {platform.python_version()}, {platform.machine()}")
    print(f"{'value':>7} {'step':<6} {'wall s':>7} {'cpu s':>7} {'MB/s':>7} {'MB/s core':>9} {'ratio':>6} {'core':>6}")
    with tempfile.TemporaryDirectory(prefix="dialwatch-bench-") as folder:
        broker = Broker(Path(folder) / "broker")
        broker.format()
        broker.start()
        try:
            for size in arguments.sizes:
                _measure(Path(folder), broker.address, size, arguments.bytes, arguments.runs)
        finally:
            broker.kill()


def _measure(folder: Path, address: str, kilobytes: int, size: int, runs: int) -> None:
    values = list(_values(kilobytes * 1000, size))
    megabytes = sum(map(len, values)) / 1e6
    topic = make_topic(address, _PARTITIONS)
    produce(address, topic, values, "zstd")
    (folder / "values").write_bytes(b"\n".join(values))
    steps: dict[str, Measured] = {}
    for name, program in (("fetch", _FETCH), ("write", _WRITE), ("lake", _LAKE)):
        for run in range(runs):
            root = str(folder / f"{topic}-{name}-{run}")
            words = [address, topic, str(len(values)), str(_PARTITIONS), root, str(folder / "values")]
            found = _run(_COMMON + program + _TELL, words)
            best = steps.setdefault(name, found)
            steps[name] = Measured(min(best.wall, found.wall), min(best.cpu, found.cpu))
    slower = Measured(*(max(getattr(steps[name], kind) for name in ("fetch", "write")) for kind in ("wall", "cpu")))
    for name, step in steps.items():
        ratios = f"{slower.wall / step.wall:6.0%} {slower.cpu / step.cpu:6.0%}" if name == "lake" else ""
        print(
            f"{kilobytes:>4} KB {name:<6} {step.wall:>7.2f} {step.cpu:>7.2f} {megabytes / step.wall:>7.1f} "
            f"{megabytes / step.cpu:>9.1f} {ratios}",
            flush=True,
        )


def _values(length: int, size: int) -> Iterator[bytes]:
    """Lines of about `length` bytes: half of the text that fills them is asked, half is answered."""
    corpus, total, number = Corpus(), 0, 0
    while total < size:
        number += 1
        padding = max(0, length - len(chat_line(number))) // 3
        line = _line(number, corpus.text(padding), corpus.text(padding)) if padding else chat_line(number)
        total += len(line)
        yield line


def _line(number: int, question: str, answer: str) -> bytes:
    whole = json.loads(chat_line(number))
    request = json.loads(whole["request"]["body"])
    request["messages"][0]["content"] = question
    response = json.loads(whole["assembled_response"])
    response["choices"][0]["message"]["content"] = answer
    whole["request"]["body"] = json.dumps(request)
    whole["assembled_response"] = whole["response"]["body"] = json.dumps(response)
    return json.dumps(whole).encode()


def _run(program: str, words: list[str]) -> Measured:
    done = subprocess.run([sys.executable, "-c", program, *words], stdout=subprocess.PIPE, text=True, check=True)
    return Measured(*json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
