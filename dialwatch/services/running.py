"""Context managers that run the services, each in threads of its own while its block lasts."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

from prometheus_client.registry import Collector as PrometheusCollector

from collector.metrics.last_lines import LastLines
from collector.metrics.prometheus import LastLineMetric
from dialwatch.config import Settings
from dialwatch.errors import AddressError, ConfigError
from dialwatch.services.collecting import collecting
from dialwatch.services.evaluating import evaluating
from dialwatch.services.heartbeats import ProcessParts
from dialwatch.services.lake_contents import log_contents
from dialwatch.services.schedule import Schedule
from dialwatch.services.upkeep import maintaining
from dialwatch.serving.addresses import is_loopback, parse_address
from dialwatch.serving.hosts import KnownHosts
from dialwatch.serving.server import BackgroundServer, bound
from lake.spec.service_vocabulary import ServicePart, StoreUser
from lake.store.request_metrics import StoreRequests
from lake.tables.lake import Lake
from monitor.service.monitor import Monitor

logger = logging.getLogger(__name__)


@contextmanager
def all_services(settings: Settings) -> Iterator[None]:
    """Run the collector, if it has a source, the evaluator, the monitor and the upkeep of the tables.

    When the block ends all are asked to stop at once, and what they are at is left to the next start.
    """
    refuse_open_pages(settings)
    lake, stop = settings.lake.open(), threading.Event()
    sources = settings.collector
    has_source = bool(sources.kafka or sources.files or sources.http)
    upkeep = [ServicePart.UPKEEP] if settings.lake.maintenance.every is not None else []
    collects = [ServicePart.COLLECTOR] if has_source else []
    parts = ProcessParts(
        lake.used_by(StoreUser.HEARTBEATS), [*collects, ServicePart.EVALUATOR, *upkeep, *_parts_of_monitor(settings)]
    )
    last_lines = LastLines()
    with ExitStack() as stack:
        stack.enter_context(bound(addresses_of(settings, [*collects, ServicePart.EVALUATOR, ServicePart.MONITOR])))
        log_contents(lake, settings.lake.maintenance)
        stack.enter_context(parts.running())
        stack.enter_context(evaluating(settings, lake, parts, stop, [StoreUser.EVALUATOR]))
        if upkeep:
            stack.enter_context(maintaining(settings.lake.maintenance, lake, stop, parts[ServicePart.UPKEEP]))
        shown = _shown_by_the_monitor(settings)
        more = [StoreRequests(shown), *([LastLineMetric(last_lines)] if StoreUser.COLLECTOR in shown else [])]
        stack.enter_context(monitoring(settings, lake, stop, parts, more))
        # The last to begin and the first to end: what it has read must be in the lake, the others' work can wait.
        if has_source:
            stack.enter_context(
                collecting(settings, lake, parts[ServicePart.COLLECTOR], [StoreUser.COLLECTOR], last_lines)
            )
        else:
            logger.warning("the collector has no source: give collector.kafka, .files or .http to fill the lake")
        stack.callback(stop.set)
        yield


@contextmanager
def only_collector(settings: Settings) -> Iterator[None]:
    """Run the collector in a process of its own."""
    lake = settings.lake.open()
    parts = ProcessParts(lake.used_by(StoreUser.HEARTBEATS), [ServicePart.COLLECTOR])
    with (
        _beginning(settings, lake, parts, ServicePart.COLLECTOR),
        collecting(settings, lake, parts[ServicePart.COLLECTOR]),
    ):
        yield


@contextmanager
def only_evaluator(settings: Settings) -> Iterator[None]:
    """Run the evaluator in a process of its own."""
    lake = settings.lake.open()
    parts = ProcessParts(lake.used_by(StoreUser.HEARTBEATS), [ServicePart.EVALUATOR], makes_the_lake=False)
    stop = threading.Event()
    with _beginning(settings, lake, parts, ServicePart.EVALUATOR), evaluating(settings, lake, parts, stop):
        yield


@contextmanager
def only_monitor(settings: Settings) -> Iterator[None]:
    """Run the monitor in a process of its own."""
    refuse_open_pages(settings)
    lake = settings.lake.open()
    parts = ProcessParts(lake.used_by(StoreUser.HEARTBEATS), _parts_of_monitor(settings), makes_the_lake=False)
    with _beginning(settings, lake, parts, ServicePart.MONITOR), monitoring(settings, lake, parts=parts):
        yield


@contextmanager
def _beginning(settings: Settings, lake: Lake, parts: ProcessParts, served: ServicePart) -> Iterator[None]:
    """Take the addresses, say what the lake has, and write heartbeats while the block runs."""
    with bound(addresses_of(settings, [served])):
        log_contents(lake, settings.lake.maintenance)
        with parts.running():
            yield


def addresses_of(settings: Settings, parts: Sequence[ServicePart]) -> dict[str, str]:
    """Return the addresses that a process with these parts listens on, by their settings."""
    collector, http = settings.collector, settings.collector.http
    chosen = {
        "collector.http.listen": http.listen if http and ServicePart.COLLECTOR in parts else None,
        "collector.metrics_listen": collector.metrics_listen if ServicePart.COLLECTOR in parts else None,
        "evaluator.metrics_listen": settings.evaluator.metrics_listen if ServicePart.EVALUATOR in parts else None,
        "monitor.listen": settings.monitor.listen if ServicePart.MONITOR in parts else None,
        "monitor.metrics_listen": settings.monitor.metrics_listen if ServicePart.MONITOR in parts else None,
    }
    return {setting: listen for setting, listen in chosen.items() if listen is not None}


def refuse_open_pages(settings: Settings) -> None:
    """Raise ConfigError where others than this machine could open the pages, and nobody said who may."""
    chosen = settings.monitor
    if chosen.access is None and not is_loopback(chosen.listen):
        raise ConfigError(
            f"monitor.listen is {chosen.listen}, which other machines can reach, and nothing says who may see the "
            "pages: give monitor.access.token_file or monitor.access.proxy; write `access: none` under `monitor:` if "
            "everybody who can reach it may see everything (docs/access.md)"
        )


def _shown_by_the_monitor(settings: Settings) -> list[StoreUser]:
    """Return the parts of a process with all of them that no other address of it shows."""
    elsewhere = set()
    if settings.collector.http or settings.collector.metrics_listen:
        elsewhere.add(StoreUser.COLLECTOR)
    if settings.evaluator.metrics_listen:
        elsewhere.add(StoreUser.EVALUATOR)
    return [user for user in StoreUser if user not in elsewhere]


def _parts_of_monitor(settings: Settings) -> list[ServicePart]:
    return [*([ServicePart.WEBHOOKS] if settings.monitor.receivers else []), ServicePart.MONITOR]


@contextmanager
def monitoring(
    settings: Settings,
    lake: Lake,
    stop: threading.Event | None = None,
    parts: ProcessParts | None = None,
    more: Sequence[PrometheusCollector] | None = None,
) -> Iterator[str]:
    """Keep the figures fresh, send alerts, and serve the pages, until the block ends or `stop` is set.

    Yields the address of the pages. `parts` are those of this process, which the monitor asks how they are. `/metrics`
    has `more`, or the requests of all parts to a store.
    """
    from monitor.pages.app import create_app  # 120 modules, which an evaluator alone does not need

    lake, more = lake.used_by(StoreUser.MONITOR), [StoreRequests(tuple(StoreUser))] if more is None else more
    stop, parts = (
        stop or threading.Event(),
        parts or ProcessParts(lake.used_by(StoreUser.HEARTBEATS), _parts_of_monitor(settings)),
    )
    judges = settings.evaluator.judges.items()
    budgets = {name: judge.budget_per_day for name, judge in judges if judge.budget_per_day is not None}
    watch = Monitor(
        lake, settings.monitor, lambda: datetime.now(UTC), budgets, time.monotonic, parts.heartbeats, parts.lacks
    )
    parts[ServicePart.MONITOR].watch("look", lambda: watch.problem)
    parts[ServicePart.MONITOR].watch("audit", lambda: watch.audit.problem)
    if settings.monitor.receivers:
        parts[ServicePart.WEBHOOKS].watch("send", lambda: watch.webhook_problem)
    chosen = settings.monitor
    hosts = [*chosen.hosts, urlsplit(chosen.external_url).hostname or ""]
    at_pages = chosen.metrics_listen is None
    pages = create_app(watch, chosen, more, with_metrics=at_pages)
    app = KnownHosts(pages, parse_address(chosen.listen)[0], hosts, "monitor.hosts")
    with (
        watch.sending_webhooks(),
        watch.audit.running(),
        Schedule(lambda: watch.refresh(stop.is_set), settings.monitor.refresh_seconds, stop, of="the monitor"),
        BackgroundServer(app, chosen.listen) as server,
        _serving_metrics(watch, settings, more) as metrics,
    ):
        logger.info("pages on %s/ and metrics on %s/metrics", server.url, (metrics or server).url)
        yield server.url


@contextmanager
def _serving_metrics(
    watch: Monitor, settings: Settings, more: Sequence[PrometheusCollector]
) -> Iterator[BackgroundServer | None]:
    """Serve the metrics at an address of their own, if they have one: without access, and under any name."""
    listen = settings.monitor.metrics_listen
    if listen is None:
        yield None
        return
    from monitor.pages.app import create_metrics_app

    try:
        server = BackgroundServer(create_metrics_app(watch, settings.monitor, more), listen)
    except (AddressError, OSError) as error:
        raise ConfigError(f"monitor.metrics_listen: {error}") from None
    with server:
        yield server
