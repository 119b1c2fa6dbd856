from __future__ import annotations

import asyncio
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from collector.commit.batch_committer import BatchCommitter
from collector.commit.position import Partition, Piece
from collector.metrics.prometheus import metrics_app, registry_of
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from lake.tables.lake import Lake
from runtime.labelled_registry import INSTALLATION
from tests.collector.lines import chat_line, rating_line
from tests.servers import needed

FILE = Partition("file", "/logs/a.log", "a")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def collector(tmp_path: Path) -> Collector:
    return Collector(Lake(str(tmp_path / "lake")), CollectorSettings(), lambda: NOW)


def samples(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """Values by the name of the sample and the values of its labels, without the installation."""
    return {
        (
            sample.name.removeprefix("dialwatch_collector_"),
            ",".join(v for name, v in sample.labels.items() if name != INSTALLATION),
        ): sample.value
        for family in registry.collect()
        for sample in family.samples
    }


def add(collector: Collector, *raws: bytes) -> None:
    for raw in raws:
        offset = collector.offset(FILE) + 1
        collector.add(Piece(FILE, raw, offset))


async def ask(registry: CollectorRegistry, *accept: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=metrics_app(registry))
    headers = [(b"accept", one.encode("latin-1")) for one in accept]
    async with httpx.AsyncClient(transport=transport, base_url="http://collector.example") as client:
        return await client.get("/metrics", headers=headers)


def test_every_line_is_in_one_outcome(collector: Collector) -> None:
    """Outcomes, reasons, bytes and times are those of what was committed, and nothing is unaccounted for."""
    raws = [chat_line(1), chat_line(1), rating_line(2, "r-1"), b"no json", b"{}"]
    add(collector, *raws)
    collector.flush()
    found = samples(registry_of(collector, clock=lambda: NOW + timedelta(hours=1)))
    assert {outcome: number for (name, outcome), number in found.items() if name == "lines_total"} == {
        "stored": 1,
        "signal": 1,
        "duplicate": 1,
        "rejected": 2,
        "filtered": 0,
    }
    assert found["rejected_lines_total", "not_json"] == found["rejected_lines_total", "empty_object"] == 1
    assert found["bytes_total", ""] == sum(map(len, raws))
    assert found["unaccounted_lines", ""] == 0
    assert found["committed_timestamp_seconds", ""] == NOW.timestamp()
    requested = datetime(2026, 11, 20, 10, 0, 17, 500_000, tzinfo=UTC)
    assert found["newest_request_age_seconds", ""] == (NOW + timedelta(hours=1) - requested).total_seconds()
    assert found["commit_duration_seconds_count", ""] == 1
    assert found["open_batch_lines", ""] == 0


def test_what_is_open_is_seen_and_a_failed_commit_is_counted(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that were taken and not committed wait in the open batch, also after a commit that failed."""
    add(collector, chat_line(1), chat_line(2))
    registry = registry_of(collector)

    def fail(*_: object) -> None:
        raise OSError("503 SlowDown")

    with monkeypatch.context() as broken:
        broken.setattr(BatchCommitter, "commit", fail)
        with pytest.raises(OSError, match="503"):
            collector.flush()
    found = samples(registry)
    assert found["open_batch_lines", ""] == 2
    assert found["open_batch_bytes", ""] > 0
    assert found["commit_failures_total", ""] == 1
    assert found["lines_total", "stored"] == 0
    collector.flush()
    assert samples(registry)["lines_total", "stored"] == 2


def test_lines_without_an_outcome_are_counted(collector: Collector) -> None:
    """A batch whose outcomes do not add up to its lines shows as unaccounted lines."""
    add(collector, chat_line(1))
    collector.open_batches[0].sections[FILE].counts.lines += 3
    collector.flush()
    assert samples(registry_of(collector))["unaccounted_lines", ""] == 3


class Reader:
    missed_messages = 7

    def lag(self) -> dict[tuple[str, int], int]:
        return {("logs", 0): 3, ("logs", 1): 0}


def test_the_lag_is_reported_per_partition(collector: Collector) -> None:
    """Messages that wait at the broker, and those that it had deleted, are those that the source reports."""
    found = samples(registry_of(collector, Reader()))
    assert found["missed_messages_total", ""] == 7
    assert found["lag_messages", "logs,0"] == 3
    assert found["lag_messages", "logs,1"] == 0


@pytest.mark.integration
def test_promtool_has_nothing_to_say(collector: Collector) -> None:
    """Prometheus's own linter is silent, and `/metrics` serves the format that was asked for."""
    add(collector, chat_line(1))
    collector.flush()
    registry = registry_of(collector, Reader())
    command = [needed("promtool"), "check", "metrics"]
    result = subprocess.run(command, input=generate_latest(registry), capture_output=True, timeout=120)
    assert (result.stdout + result.stderr).decode() == ""
    answer = asyncio.run(ask(registry, "application/openmetrics-text; version=1.0.0"))
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert answer.text.endswith("# EOF\n")


OPEN = "application/openmetrics-text"
VERSIONS = st.sampled_from(["1.0.0", "0.0.4", "", " 1.0.0 ", "²"]) | st.text("0129.x =\"'", max_size=8)
PARAMETERS = VERSIONS.map("version={}".format) | st.sampled_from(
    ["escaping=dots", "q=0.5", "version", "", "escaping=x"]
)
RANGES = st.lists(PARAMETERS, max_size=3).flatmap(
    lambda parameters: st.sampled_from([OPEN, "text/plain", "*/*", ""]).map(
        lambda media: ";".join([media, *parameters])
    )
)


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ([f"{OPEN};version=x"], "text/plain; version=0.0.4"),
        ([f"{OPEN};version=9.x"], "text/plain; version=0.0.4"),
        ([f"{OPEN};version=1.0.x", f"{OPEN};version=1.0.0"], f"{OPEN}; version=1.0.0"),
        (["text/html", f"{OPEN}; version=1.0.0;q=0.7"], f"{OPEN}; version=1.0.0"),
        ([f"{OPEN};version={'1' * 5000}.0.0"], "text/plain; version=0.0.4"),
        ([f'{OPEN}; version="1.0.0"'], "text/plain; version=0.0.4"),
        ([], "text/plain; version=0.0.4"),
    ],
)
def test_an_odd_accept_header_gets_the_classic_text(collector: Collector, accept: list[str], content_type: str) -> None:
    """A version that is none, or not known, counts as not asked for; of several headers all count."""
    answer = asyncio.run(ask(registry_of(collector), *accept))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(content_type)


@given(st.lists(RANGES, max_size=4))
def test_no_accept_header_fails(accept: list[str]) -> None:
    """Whatever a client accepts, it gets a format that there is."""
    registry = CollectorRegistry()
    Gauge("lines", "Lines.", registry=registry)
    answer = asyncio.run(ask(registry, *accept))
    assert answer.status_code == 200
    assert re.match(
        r"(text/plain|application/openmetrics-text); version=(0\.0\.4|1\.0\.0)", answer.headers["content-type"]
    )
    assert "\nlines 0.0\n" in answer.text
