"""The services as context managers: each runs in threads of its own while its block does."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

import collector
import monitor
from collector import Collector, FileSource, FilesSettings, HttpSettings
from dialwatch.config import Settings
from dialwatch.schedule import Schedule
from dialwatch.serving import BackgroundServer
from evaluator import Evaluator
from lake import Lake
from monitor import Monitor

logger = logging.getLogger(__name__)


@contextmanager
def all_services(settings: Settings) -> Iterator[None]:
    """Run the collector, if it has a source, the evaluator and the monitor."""
    lake = settings.lake.open()
    with ExitStack() as stack:
        if settings.collector.files or settings.collector.http:
            stack.enter_context(collecting(settings, lake))
        else:
            logger.warning("the collector has no source: give collector.files or collector.http to fill the lake")
        stack.enter_context(evaluating(settings, lake))
        stack.enter_context(monitoring(settings, lake))
        yield


@contextmanager
def collecting(settings: Settings, lake: Lake) -> Iterator[Collector]:
    """Follow the files and serve `POST /data`, as far as they are configured; gives the collector of both."""
    shared = Collector(lake, settings.collector)
    with ExitStack() as stack:
        if settings.collector.files:
            stack.enter_context(_following(settings.collector.files, settings, shared))
        if settings.collector.http:
            stack.enter_context(_receiving(settings.collector.http, shared))
        yield shared


@contextmanager
def evaluating(settings: Settings, lake: Lake) -> Iterator[None]:
    """Score what is new, every so many seconds."""
    evaluator = Evaluator(lake, settings.evaluator)
    with Schedule(evaluator.run_once, settings.evaluator.every):
        logger.info("evaluating every %g s", settings.evaluator.every)
        yield


@contextmanager
def monitoring(settings: Settings, lake: Lake) -> Iterator[str]:
    """Keep the figures fresh, tell people, and serve the pages; gives their address."""
    watch = Monitor(lake, settings.monitor, lambda: datetime.now(UTC))
    app = monitor.create_app(watch)
    with (
        Schedule(watch.refresh, settings.monitor.refresh_seconds),
        BackgroundServer(app, settings.monitor.listen) as server,
    ):
        logger.info("pages on %s/ and metrics on %s/metrics", server.url, server.url)
        yield server.url


@contextmanager
def _following(files: FilesSettings, settings: Settings, shared: Collector) -> Iterator[None]:
    source = FileSource(files.paths, settings.lake.storage.storage(), exclude=shared.lake.root)
    stop = threading.Event()
    thread = threading.Thread(
        target=collector.follow_files, args=(source, shared, files.poll_seconds, stop), name="follow files"
    )
    thread.start()
    logger.info("collecting from %s", ", ".join(files.paths))
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _receiving(http: HttpSettings, shared: Collector) -> Iterator[None]:
    with BackgroundServer(collector.create_app(shared, http), http.listen) as server:
        logger.info("taking lines on %s/data", server.url)
        yield


def wait_for_signal() -> None:
    """Return when the process is asked to end, by SIGTERM or Ctrl+C."""
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    # A wait without end would keep the signal from being handled on some systems.
    while not asked.wait(1.0):
        pass
