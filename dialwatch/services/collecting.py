"""The collector as a service: one collector that reads every configured source, and tells once what came first."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache, partial

from starlette.types import ASGIApp

from collector.commit.batch import Counts
from collector.metrics.last_lines import LastLines
from collector.metrics.prometheus import KafkaReader, LastLineMetric, add_metrics, metrics_app, registry_of
from collector.pipeline.collector import Collector
from collector.runners.follow import follow_files, prepare
from collector.runners.workers import collect_with_workers
from collector.signals import ImplicitSignals, SignalSettings
from collector.sources.files.settings import FilesSettings
from collector.sources.files.source import FileSource
from collector.sources.http.app import SOURCE_NAME, create_app
from collector.sources.http.settings import HttpSettings
from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from dialwatch.services.heartbeats import Part
from dialwatch.services.probes import add_health, add_readiness
from dialwatch.services.schedule import Schedule
from dialwatch.serving.addresses import parse_address
from dialwatch.serving.hosts import KnownHosts
from dialwatch.serving.server import BackgroundServer
from lake.maintenance.text_retention import begin_lake
from lake.spec.service_vocabulary import ServicePart, StoreUser
from lake.store.request_metrics import StoreRequests
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)
FIRST_LOOK_SECONDS = 30.0
_NAMES = 1000
"""Of so many names of scores it is remembered whether they are metrics: a body may have a million scores."""


def collect_once(settings: Settings, paths: Sequence[str], workers: int) -> tuple[int, Counts]:
    """Read what is new in the files, then what people did after the answers; returns the number of files and counts.

    Raises SystemExit with code 1 where files could not be read, when all others are in the lake.
    """
    lake, chosen, storage = settings.lake.open(), settings.collector, settings.lake.storage.storage()
    begin_lake(lake)
    if workers > 1:
        found, outcome = collect_with_workers(lake, chosen, paths, storage, workers)
        counts, unreadable = outcome.counts, outcome.unreadable
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
def collecting(
    settings: Settings,
    lake: Lake,
    part: Part | None = None,
    shown: Collection[StoreUser] = tuple(StoreUser),
    last_lines: LastLines | None = None,
) -> Iterator[Collector]:
    """Read Kafka, follow the files, serve HTTP, as far as they are configured; yields the collector of all.

    A lake that is away is waited for, by each source in its thread. When the block ends all are asked to stop at once.
    Raises what then kept a source from committing. `part` notes how it goes. Its own `/metrics` has the requests to a
    store of the parts in `shown`. `last_lines` is told when each source last got a line.
    """
    chosen, part = settings.collector, part or Part(ServicePart.COLLECTOR)
    lake = lake.used_by(StoreUser.COLLECTOR)
    stop = threading.Event()
    try:
        shared = Collector(lake, chosen, recover=False, begin=partial(begin_lake, lake))
    except ValueError as error:  # such as a model for redaction that is not on this machine
        raise ConfigError(str(error)) from None
    last_lines = last_lines or LastLines()
    part.watch("commit", lambda: shared.problem)
    # A collector that cannot commit takes no lines, whether or not some come.
    part.watch_sources(
        lambda: None if shared.problem else last_lines.problem(chosen.silent_after), is_needed=chosen.http is None
    )
    with ExitStack() as stack:
        kafka = None
        if chosen.signals.implicit:
            derive = part.watching("signals", _deriving(lake, chosen.signals, stop))
            stack.enter_context(Schedule(derive, chosen.signals.every, stop, of="the collector that looks for signals"))
        if chosen.kafka:
            from collector.sources.kafka.source import KafkaSource  # 250 modules, which other sources do not need

            kafka = KafkaSource(chosen.kafka, shared, last_lines)
            part.watch("kafka", lambda: kafka.problem)
            stack.enter_context(_in_a_thread(kafka.run, shared, stop, "read Kafka", part))
            logger.info("collecting from Kafka, %s", ", ".join(chosen.kafka.topics))
        if chosen.files:
            stack.enter_context(_following(chosen.files, settings, shared, stop, part, last_lines))
        if chosen.http and not (chosen.files or chosen.kafka):
            last_lines.expect(SOURCE_NAME, f"see that a sender is at work and sends to {chosen.http.listen}")
            # The first request need not wait until what must be remembered is read.
            stack.enter_context(_in_a_thread(lambda _: None, shared, stop, "read what the lake has", part))
        stack.enter_context(_serving(settings, shared, kafka, part, shown, last_lines))
        stack.enter_context(looking_once(shared, last_lines))
        # The first to be called at the end: the others then stop while the server answers its last requests.
        stack.callback(stop.set)
        yield shared


@contextmanager
def looking_once(shared: Collector, last_lines: LastLines) -> Iterator[None]:
    """Log what came in the first half minute of the block; nothing where it ends earlier."""
    timer = threading.Timer(FIRST_LOOK_SECONDS, log_first_look, (shared, last_lines))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def log_first_look(shared: Collector, last_lines: LastLines) -> None:
    """Log each source with what came from it, as a warning where nothing did."""
    missing = last_lines.missing()
    for source, at in last_lines.newest().items():
        if at is not None:
            logger.info("%s: lines come in", source)
        elif source in missing:
            logger.warning("%s: %s", source, missing[source])
        else:
            logger.warning("%s: no line has come yet", source)
    counts = sum((batch.counts() for batch in shared.open_batches), shared.totals)
    refused = counts.lines > 0 and counts.rejected == counts.lines
    logger.log(
        logging.WARNING if refused else logging.INFO,
        "in the first %g seconds: %s%s", FIRST_LOOK_SECONDS, _words(counts),
        "; none of them is a line of Core's log: see the table _rejected" if refused else "",
    )  # fmt: skip


def _words(counts: Counts) -> str:
    return (
        f"{counts.lines:,} lines read: {counts.stored:,} stored, {counts.signals:,} signals, "
        f"{counts.duplicates:,} duplicates, {counts.rejected:,} rejected, {counts.filtered:,} filtered"
    )


def _deriving(lake: Lake, settings: SignalSettings, stop: threading.Event) -> Callable[[], str | None]:
    """Return a pass over the signals. The first one begins with the lexicon, so that what is wrong there fails it."""
    kept: list[ImplicitSignals] = []

    def derive() -> str | None:
        kept[:] = kept or [ImplicitSignals(lake, settings)]
        failed = kept[0].run_once(stop.is_set).failed
        return f"no signals were derived for {len(failed)} deployments" if failed else None

    return derive


@contextmanager
def _following(
    files: FilesSettings,
    settings: Settings,
    shared: Collector,
    stop: threading.Event,
    part: Part,
    last_lines: LastLines,
) -> Iterator[None]:
    storage = replace(settings.lake.storage.storage(), user=StoreUser.COLLECTOR)
    source = FileSource(files.paths, storage, exclude=shared.lake.root, last_lines=last_lines)
    part.watch("read files", lambda: source.problem)

    def follow(stop: threading.Event) -> None:
        follow_files(source, shared, files.poll_seconds, stop, partial(part.note, "files"))

    with _in_a_thread(follow, shared, stop, "follow files", part):
        logger.info("collecting from %s", ", ".join(files.paths))
        yield


@contextmanager
def _serving(
    settings: Settings,
    shared: Collector,
    kafka: KafkaReader | None,
    part: Part,
    shown: Collection[StoreUser],
    last_lines: LastLines,
) -> Iterator[None]:
    """Serve `POST /data`, `/signals` and `/scores`, and the collector's own metrics and probes, there or elsewhere."""
    chosen = settings.collector
    with ExitStack() as stack:
        registry = registry_of(shared, kafka)
        registry.register(StoreRequests(shown))
        registry.register(LastLineMetric(last_lines))
        if chosen.http:
            is_taken = lru_cache(_NAMES)(settings.evaluator.is_metric)
            app = create_app(shared, chosen.http, last_lines=last_lines, is_taken=is_taken)
            add_metrics(app, registry)
            add_readiness(app, part)
            server = stack.enter_context(BackgroundServer(_guarded(app, chosen.http), chosen.http.listen))
            logger.info("taking lines on %s/data, signals on %s/signals, scores on %s/scores", *(server.url,) * 3)
        if chosen.metrics_listen:
            own = metrics_app(registry)
            add_health(own)
            add_readiness(own, part)
            server = stack.enter_context(BackgroundServer(own, chosen.metrics_listen))
            logger.info("the collector's own metrics on %s/metrics", server.url)
        yield


def _guarded(app: ASGIApp, http: HttpSettings) -> ASGIApp:
    """Check the host name where there is no token: nothing else keeps out requests that web pages send."""
    if http.token is not None:
        return app
    return KnownHosts(app, parse_address(http.listen)[0], http.hosts, "collector.http.hosts")


@contextmanager
def _in_a_thread(
    run: Callable[[threading.Event], None], shared: Collector, stop: threading.Event, name: str, part: Part
) -> Iterator[None]:
    """Run, once the collector is prepared, until the block ends, then set `stop`, wait for it, raise what it raised."""

    def prepared() -> None:
        if prepare(shared, stop):
            run(stop)

    with ThreadPoolExecutor(1, name) as pool:
        running = pool.submit(prepared)
        running.add_done_callback(partial(_report_failure, name, part))
        try:
            yield
        finally:
            stop.set()
        running.result()


def _report_failure(name: str, part: Part, ended: Future[None]) -> None:
    if (error := ended.exception()) is not None:
        part.note(name, error)
        log_failure(
            logger, error, "could not %s to the end; what is not in the lake is read again at the next start", name
        )
