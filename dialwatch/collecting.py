"""The collector as a service: one collector, fed by every source that is configured."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import collector
from collector import (
    Collector,
    CollectorSettings,
    Counts,
    FileSource,
    FilesSettings,
    ImplicitSignals,
    collect_with_workers,
)
from collector.metrics import KafkaReader, add_metrics, metrics_app, registry_of
from dialwatch.config import Settings
from dialwatch.schedule import Schedule
from dialwatch.serving import BackgroundServer
from lake import Lake

logger = logging.getLogger(__name__)


def collect_once(settings: Settings, paths: Sequence[str], workers: int) -> tuple[int, Counts]:
    """Read what is new in the files, then what people did after the answers; gives the number of files and counts.

    Raises SystemExit with code 1 where files could not be read, when all others are in the lake.
    """
    unreadable: dict[str, str] = {}
    lake, chosen, storage = settings.lake.open(), settings.collector, settings.lake.storage.storage()
    if workers > 1:
        found, counts = collect_with_workers(lake, chosen, paths, storage, workers)
    else:
        shared = Collector(lake, chosen)
        source = FileSource(paths, storage, exclude=lake.root)
        found = source.read_into(shared)
        shared.flush()
        source.close()
        counts, unreadable = shared.totals, source.unreadable
    if chosen.signals.implicit:
        ImplicitSignals(lake, chosen.signals).run_once()
    if unreadable:
        reasons = "\n".join(unreadable.values())
        raise SystemExit(
            f"{reasons}\n{len(unreadable)} of {found} files could not be read; the {counts.lines} new lines of the "
            "others are in the lake. Run it again when that is mended"
        )
    return found, counts


@contextmanager
def collecting(settings: Settings, lake: Lake) -> Iterator[Collector]:
    """Read Kafka, follow the files, serve HTTP, as far as they are configured; gives the collector of all."""
    chosen = settings.collector
    shared = Collector(lake, chosen)
    with ExitStack() as stack:
        kafka = None
        if chosen.signals.implicit:
            # The first to begin and the last to end: its pass reads what the sources have brought.
            implicit = ImplicitSignals(lake, chosen.signals)
            stack.enter_context(Schedule(implicit.run_once, chosen.signals.every))
        if chosen.kafka:
            kafka = collector.KafkaSource(chosen.kafka, shared)
            stack.enter_context(_in_a_thread(kafka.run, "read Kafka"))
            logger.info("collecting from Kafka, %s", ", ".join(chosen.kafka.topics))
        if chosen.files:
            stack.enter_context(_following(chosen.files, settings, shared))
        stack.enter_context(_serving(chosen, shared, kafka))
        yield shared


@contextmanager
def _following(files: FilesSettings, settings: Settings, shared: Collector) -> Iterator[None]:
    source = FileSource(files.paths, settings.lake.storage.storage(), exclude=shared.lake.root)

    def follow(stop: threading.Event) -> None:
        collector.follow_files(source, shared, files.poll_seconds, stop)

    with _in_a_thread(follow, "follow files"):
        logger.info("collecting from %s", ", ".join(files.paths))
        yield


@contextmanager
def _serving(chosen: CollectorSettings, shared: Collector, kafka: KafkaReader | None) -> Iterator[None]:
    """Serve `POST /data` and `/signals`, and the collector's own metrics, there or at an address of their own."""
    with ExitStack() as stack:
        registry = registry_of(shared, kafka)
        if chosen.http:
            app = collector.create_app(shared, chosen.http)
            add_metrics(app, registry)
            server = stack.enter_context(BackgroundServer(app, chosen.http.listen))
            logger.info("taking lines on %s/data and signals on %s/signals", server.url, server.url)
        if chosen.metrics_listen:
            server = stack.enter_context(BackgroundServer(metrics_app(registry), chosen.metrics_listen))
            logger.info("the collector's own metrics on %s/metrics", server.url)
        yield


@contextmanager
def _in_a_thread(run: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Run until the block ends, then tell it to stop and wait for it."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,), name=name)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
