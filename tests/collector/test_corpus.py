"""A generated corpus through the command line: every line accounted for, every field right, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.collector.write_dial_logs import digest
from lake.spec.root_tables import BATCHES, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake

pytestmark = pytest.mark.integration

GIBIBYTE_OF_KILOBYTES = 1 << 20
Place = tuple[str, int]
"""File and position after the line."""

LOG_COLUMNS = ["deployment", "requested_at", "status", "response_id", "question", "answer", "contexts", "source"]


@dataclass(frozen=True)
class Corpus:
    """What was generated, and the lake that one run of the collector made of it."""

    manifest: dict[Place, dict[str, Any]]
    lake: Lake
    output: str
    peak_kilobytes: int


PEAK = "VmHWM:"
# The process prints its own peak: the peak that its parent sees also counts the parent's memory before the exec.
MEASURED = f"""
import atexit, runpy
atexit.register(lambda: print(next(line for line in open("/proc/self/status") if line.startswith("{PEAK}"))))
runpy.run_module("dialwatch", run_name="__main__")
"""


@pytest.fixture(scope="module", params=["48MiB", pytest.param("1GiB", marks=pytest.mark.slow)], ids=["48MiB", "1GiB"])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    logs, root = folder / "logs", folder / "lake"
    arguments = ["--out", str(logs), "--bytes", request.param, "--files", "8"]
    subprocess.run(
        [sys.executable, "-m", "benchmarks.collector.write_dial_logs", *arguments], check=True, capture_output=True
    )
    command = [sys.executable, "-c", MEASURED, "collect", "files", f"{logs}/*.log", "--lake", str(root)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    output, _, peak = ended.stdout.rpartition(PEAK)
    return Corpus(read_manifest(logs), Lake(str(root)), output, int(peak.split()[0]))


def read_manifest(logs: Path) -> dict[Place, dict[str, Any]]:
    """The manifest by the place of each line."""
    places: dict[Place, dict[str, Any]] = {}
    ends: dict[str, int] = {}
    with (logs / "manifest.jsonl").open() as manifest:
        for text in manifest:
            line = json.loads(text)
            path = str(logs / line["file"])
            ends[path] = ends.get(path, 0) + line["size"] + 1
            places[path, ends[path]] = line
    return places


def place(source: dict[str, Any]) -> Place:
    return source["name"], source["offset"]


def rows_of(corpus: Corpus) -> Iterator[dict[str, Any]]:
    for deployment in corpus.lake.deployments():
        yield from corpus.lake.table(PARSED_LOGS, deployment).read(LOG_COLUMNS).to_pylist()


def test_every_line_is_accounted_for(corpus: Corpus) -> None:
    """Each line is a row, a signal or a rejection, two glued lines are two, and `_batches` counts the same."""
    logs = [place(row["source"]) for row in rows_of(corpus)]
    signals = [
        place(source)
        for deployment in corpus.lake.deployments()
        for source in corpus.lake.table(USER_SIGNALS, deployment).read(["source"])["source"].to_pylist()
    ]
    rejected = [place(source) for source in corpus.lake.table(REJECTED).read(["source"])["source"].to_pylist()]
    expected = [where for where, line in corpus.manifest.items() for _ in range(1 + (line["malformed"] == "glued"))]
    assert sorted(logs + signals + rejected) == sorted(expected)
    batches = corpus.lake.table(BATCHES).read(["lines", "stored", "signals", "rejected", "duplicates", "filtered"])
    sums = {name: sum(batches[name].to_pylist()) for name in batches.column_names}
    counted = {"lines": len(expected), "stored": len(logs), "signals": len(signals), "rejected": len(rejected)}
    assert sums == counted | {"duplicates": 0, "filtered": 0}
    assert corpus.output.startswith(f"{len(expected)} lines: {len(logs)} stored")


def test_every_field_of_the_manifest_is_right(corpus: Corpus) -> None:
    """Deployment, status, time, id, question, answer and number of contexts are those that were generated."""
    wrong = []
    seen = 0
    for row in rows_of(corpus):
        line = corpus.manifest[place(row["source"])]
        if line["malformed"] not in (None, "int_status"):
            continue
        seen += 1
        found = {
            "deployment": row["deployment"],
            "status": str(row["status"]),
            "time": row["requested_at"],
            "response_id": row["response_id"],
            "question": digest(row["question"]),
            "answer": digest(row["answer"]),
            "contexts": len(row["contexts"] or ()),
        }
        expected = line | {"time": datetime.fromisoformat(line["time"]).replace(tzinfo=UTC)}
        wrong += [(name, value, expected[name]) for name, value in found.items() if value != expected[name]]
    assert wrong == []
    assert seen > 0.85 * len(corpus.manifest)


def test_memory_is_bounded(corpus: Corpus) -> None:
    """The collector's peak stays under 1 GiB, however much it reads."""
    assert corpus.peak_kilobytes < GIBIBYTE_OF_KILOBYTES
