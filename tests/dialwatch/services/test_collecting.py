"""The collector as a service: how it ends, and how it recovers."""

from __future__ import annotations

import logging
import re
import threading
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from collector.metrics.last_lines import LastLines
from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.files.source import NO_FILE, FileSource
from dialwatch.config import Settings
from dialwatch.services.collecting import collect_once, collecting, looking_once
from dialwatch.services.heartbeats import Part
from dialwatch.services.running import all_services
from lake.maintenance.text_retention import begin_lake, text_age
from lake.spec.schemas import PARSED_LOGS
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from lake.tables.table import Table
from runtime.backoff import Backoff
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for


def settings_for(folder: Path, **sources: Any) -> Settings:
    return Settings.model_validate({"lake": {"root": f"{folder}/lake"}, "collector": sources})


@pytest.mark.integration
@pytest.mark.parametrize("workers", [1, 2])
def test_files_that_cannot_be_read_are_an_exit_code(tmp_path: Path, workers: int) -> None:
    """However many processes share the files: code 1, the reason, and the lines of the others in the lake."""
    (tmp_path / "long.log").write_bytes(b"\n".join(map(chat_line, range(3))) + b"\n")
    (tmp_path / "short.log").write_bytes(chat_line(3) + b"\n")
    # The shares are about equal in bytes, so this one is not in that of the parent.
    (tmp_path / "z.log").symlink_to("/proc/self/mem")
    with pytest.raises(SystemExit, match=r"(?s)z\.log cannot be read now .*1 of 3 files could not be read; the 4 new"):
        collect_once(settings_for(tmp_path), [f"{tmp_path}/*.log", f"{tmp_path}/z.log"], workers)
    assert Lake(f"{tmp_path}/lake").table(PARSED_LOGS, "rag-app").read().num_rows == 4
    assert text_age(Lake(f"{tmp_path}/lake")) == timedelta(days=90)


@pytest.mark.integration
def test_a_last_commit_that_fails_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever ends the service learns that not all of it is in the lake, and what to do."""
    (tmp_path / "a.log").write_bytes(chat_line(1) + b"\n")
    settings = settings_for(tmp_path, files={"paths": [f"{tmp_path}/a.log"], "poll_seconds": 0.05}, flush_seconds=60)

    begin_lake(settings.lake.open())

    def refuse(*_: object) -> None:
        raise OSError("No space left on device")

    begin_lake(settings.lake.open())
    monkeypatch.setattr(Table, "write", refuse)
    with (
        pytest.raises(OSError, match="No space left on device"),
        collecting(settings, settings.lake.open()) as shared,
    ):
        wait_for(lambda: any(batch.counts().lines for batch in shared.open_batches))
    assert "could not follow files to the end; what is not in the lake is read again" in caplog.text
    assert "OSError: No space left on device" in caplog.text
    assert "Traceback" not in caplog.text


def test_all_sources_are_asked_to_stop_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None waits for the end of another: each of them here ends only when both were asked to stop."""
    asked_to_stop = threading.Barrier(2)

    class Kafka:
        def __init__(self, *_: object) -> None:
            self.missed_messages = 0

        def run(self, stop: threading.Event) -> None:
            assert stop.wait(60)
            asked_to_stop.wait(60)

    def follow_files(_: object, __: object, ___: object, stop: threading.Event, ____: object) -> None:
        assert stop.wait(60)
        asked_to_stop.wait(60)

    monkeypatch.setattr("collector.sources.kafka.source.KafkaSource", Kafka)
    monkeypatch.setattr("dialwatch.services.collecting.follow_files", follow_files)
    kafka = {"bootstrap_servers": ["127.0.0.1:9"], "topics": ["dial"], "group_id": "dial"}
    settings = settings_for(tmp_path, files={"paths": [f"{tmp_path}/a.log"]}, kafka=kafka)
    with collecting(settings, settings.lake.open()):
        assert asked_to_stop.n_waiting == 0
    assert not asked_to_stop.broken


def test_a_score_that_the_evaluator_would_not_take_is_refused(tmp_path: Path) -> None:
    """Its name is an alias of a metric, or one of the configuration; the sender is told, and another name is taken."""
    address = f"127.0.0.1:{free_port()}"
    settings = Settings.model_validate(
        {
            "lake": {"root": f"{tmp_path}/lake"},
            "collector": {"http": {"listen": address, "commit_seconds": 0}, "signals": {"implicit": False}},
            "evaluator": {"signal_shares": {"reopened": {}}, "combinations": {"quality": {"context_present": 1}}},
        }
    )
    names = ["faithfulness", "precision", "recall", "f1", "mrr", "rouge_l", "reopened", "quality", "sql_ran"]
    assert [name for name in names if settings.evaluator.is_metric(name)] == names[:-1]
    sent = [{"deployment": "rag", "response_id": "r-1", "name": name, "value": 1} for name in names]
    with collecting(settings, settings.lake.open()):
        said = httpx.post(f"http://{address}/scores", json=sent, timeout=60).json()
    assert (said["accepted"], said["rejected"]) == (1, len(names) - 1)
    assert all("is a name that dialwatch uses itself" in one["reason"] for one in said["errors"])


@pytest.mark.parametrize("has_own", [True, False], ids=["own address", "address of the monitor"])
def test_a_path_that_matches_no_file_is_told_by_every_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_own: bool
) -> None:
    """`up` is not ready and not healthy, its page and metrics say why, and all are well once there is a line."""
    monkeypatch.setattr("collector.metrics.last_lines.MISSING_AFTER_SECONDS", 0.0)
    pages, own = (f"127.0.0.1:{free_port()}" for _ in range(2))
    files = {"paths": [f"{tmp_path}/*.log"], "poll_seconds": 0.05}
    settings = Settings.model_validate(
        {
            "lake": {"root": f"{tmp_path}/lake"},
            "collector": {
                "files": files,
                "metrics_listen": own if has_own else None,
                "signals": {"implicit": False},
            },
            "monitor": {"listen": pages, "refresh_seconds": 0.1},
        }
    )
    missing, own = f"file {tmp_path}/*.log: no file matches", own if has_own else pages

    def answer(address: str, path: str) -> tuple[int, str]:
        response = httpx.get(f"http://{address}{path}", timeout=60)
        return response.status_code, response.text

    with all_services(settings):
        wait_for(lambda: missing in answer(pages, "/readyz")[1])
        for address, path in ((pages, "/readyz"), (own, "/readyz"), (pages, "/healthz")):
            status, text = answer(address, path)
            assert (status, missing in text) == (503, True), path
        assert missing in answer(pages, "/")[1]
        series = re.compile(r'last_line_timestamp_seconds\{.*source="file')
        for address in {pages, own}:
            assert bool(series.search(answer(address, "/metrics")[1])) is (address == own)
        (tmp_path / "core.log").write_bytes(chat_line(1) + b"\n")
        wait_for(
            lambda: answer(pages, "/readyz")[0] == answer(own, "/readyz")[0] == answer(pages, "/healthz")[0] == 200
        )


def test_what_came_in_the_first_half_minute_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each source with what it lacks, and the lines; lines of another program are told."""
    (tmp_path / "nginx.log").write_bytes(b"GET / 200\nGET / 404\n")
    paths = [f"{tmp_path}/nginx.log", f"{tmp_path}/typo.log"]
    caplog.set_level(logging.INFO)
    lake, lines = Lake(f"{tmp_path}/lake"), LastLines()
    shared = Collector(lake, CollectorSettings())
    FileSource(paths, Storage(), last_lines=lines).read_into(shared)
    monkeypatch.setattr("dialwatch.services.collecting.FIRST_LOOK_SECONDS", 0.0)
    with looking_once(shared, lines):
        wait_for(lambda: "in the first" in caplog.text)
    found = [
        (record.levelname, record.getMessage())
        for record in caplog.records
        if record.name == "dialwatch.services.collecting"
    ]
    assert found == [
        ("INFO", f"file {tmp_path}/nginx.log: lines come in"),
        ("WARNING", f"file {tmp_path}/typo.log: {NO_FILE}"),
        (
            "WARNING",
            "in the first 0 seconds: 2 lines read: 0 stored, 0 signals, 0 duplicates, 2 rejected, 0 filtered; none of "
            "them is a line of Core's log: see the table _rejected",
        ),
    ]


@pytest.mark.slow
def test_a_collector_over_http_recovers_where_no_sender_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It fails as long as what it holds cannot be committed, and then stores it; what is sent again is stored once."""
    refusals, is_away, write = [0], threading.Event(), Table.write

    def refuse(table: Table, *values: Any, **named: Any) -> Any:
        if is_away.is_set():
            refusals[0] += 1
            raise OSError("no route to the store")
        return write(table, *values, **named)

    monkeypatch.setattr(Table, "write", refuse)
    monkeypatch.setattr("collector.sources.http.deliveries.Backoff", partial(Backoff, first=0.05))
    address, part = f"127.0.0.1:{free_port()}", Part(ServicePart.COLLECTOR)
    settings = settings_for(tmp_path, http={"listen": address}, signals={"implicit": False})
    lake = settings.lake.open()
    begin_lake(lake)

    def post() -> int:
        headers = {"Content-Type": "application/json"}
        return httpx.post(f"http://{address}/data", content=chat_line(1), headers=headers, timeout=60).status_code

    with collecting(settings, lake, part):
        is_away.set()
        assert post() == 503
        assert part.heartbeat().state is ServiceState.FAILING
        seen = refusals[0]
        wait_for(lambda: refusals[0] >= seen + 3)
        assert part.heartbeat().state is ServiceState.FAILING
        assert part.heartbeat().error == "OSError: no route to the store"
        is_away.clear()
        wait_for(lambda: part.heartbeat().state is ServiceState.RUNNING)
        assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 1
        assert post() == 200
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 1
    assert "Traceback" not in caplog.text
