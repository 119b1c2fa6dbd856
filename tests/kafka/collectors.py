"""Collectors in processes of their own, that tests start, kill, stop and pause."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from collector.pipeline.collector import Collector
from collector.settings import CollectorSettings
from collector.sources.kafka.settings import KafkaSettings
from collector.sources.kafka.source import KafkaSource
from lake.spec.root_tables import BATCHES
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.killing import kill, start
from tests.servers import wait_for

_SESSION_SECONDS = 4
_END_SECONDS = 60
_STUCK_SECONDS = 60


class Collectors:
    """Numbered collectors that work for one lake; each logs to `<folder>/<number>.log`."""

    def __init__(self, folder: Path, address: str, topic: str) -> None:
        self.lake = Lake(str(folder / "lake"))
        self.running: dict[int, BaseProcess] = {}
        self.address, self.topic = address, topic
        self._folder = folder

    def start(self, number: int, *, static: bool = True, flush_seconds: float = 1.0) -> None:
        """Start one; a static member takes up the place of the one that had its number before."""
        settings = {
            "bootstrap_servers": [self.address],
            "topics": [self.topic],
            "group_id": self.topic,
            "group_instance_id": f"collector-{number}" if static else None,
            "session_timeout_seconds": _SESSION_SECONDS,
        }
        log = str(self._folder / f"{number}.log")
        self.running[number] = start(_run, self.lake.root, settings, flush_seconds, log)

    def kill(self, number: int) -> None:
        process = self.running.pop(number)
        assert process.is_alive(), f"collector {number} ended by itself; see its log"
        kill(process)

    def kill_all(self) -> None:
        for number in list(self.running):
            self.kill(number)

    def terminate(self, number: int) -> float:
        """Ask one to end, which it does well once it has started; gives the seconds that it took."""
        self.wait_until_logged(number, "ready")
        process, began = self.running.pop(number), time.monotonic()
        process.terminate()
        process.join(_END_SECONDS)
        assert process.exitcode == 0
        return time.monotonic() - began

    def send_signal(self, number: int, which: signal.Signals) -> None:
        pid = self.running[number].pid
        assert pid is not None
        os.kill(pid, which)

    def wait_until_logged(self, number: int, text: str, seconds: float = 60) -> None:
        """Return when the log of one has a text."""
        log = self._folder / f"{number}.log"
        wait_for(lambda: log.exists() and text in log.read_text(), seconds)

    def rows(self) -> int:
        return int(self.lake.table(PARSED_LOGS, "rag-app").dataset().count_rows())

    def wait_for(self, count: int) -> None:
        """Return when there are so many rows; an AssertionError says at how many it stopped."""
        before = -1
        while (rows := self.rows()) < count:
            assert rows > before, f"{rows} of {count} rows, and none more in {_STUCK_SECONDS} s"
            before = rows
            with contextlib.suppress(AssertionError):
                wait_for(lambda: self.rows() >= count, _STUCK_SECONDS)

    def assert_exactly_once(self, count: int) -> None:
        """Every span is in the lake once, and `_batches` counts every line once."""
        spans = Counter(self.lake.table(PARSED_LOGS, "rag-app").read(["span_id"])["span_id"].to_pylist())
        assert len(spans) == count
        assert set(spans.values()) == {1}
        counted = self.lake.table(BATCHES).read(["lines", "stored"])
        assert sum(counted["lines"].to_pylist()) == count
        assert sum(counted["stored"].to_pylist()) == count


def _run(root: str, settings: dict[str, Any], flush_seconds: float, log: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    logging.basicConfig(
        filename=log, format="%(asctime)s %(process)d %(threadName)s %(name)s %(levelname)s %(message)s"
    )
    logging.getLogger("collector").setLevel(logging.INFO)
    collector = Collector(Lake(root), CollectorSettings(flush_seconds=flush_seconds))
    logging.getLogger("collector").info("ready")
    KafkaSource(KafkaSettings.model_validate(settings), collector).run(stop)
