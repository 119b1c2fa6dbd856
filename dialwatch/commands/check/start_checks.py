"""Checks of what `dialwatch up` refuses to begin with: access to the pages, addresses, and settings of the parts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial

import httpx

from collector.redaction import Redactor
from collector.signals import ImplicitSignals
from dialwatch.commands.check.finding import Finding, failed, well
from dialwatch.config import Settings
from dialwatch.errors import AddressError, ConfigError
from dialwatch.services.running import addresses_of, refuse_open_pages
from dialwatch.serving.addresses import local_url
from dialwatch.serving.server import bind
from evaluator.service.passes import Evaluator
from lake.spec.service_vocabulary import ServicePart
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor

_SECONDS = 5.0


def check_start(settings: Settings, lake: Lake) -> list[Finding]:
    """Take each address and let it go, and make the parts without beginning their work."""
    parts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("collector", partial(_make_collector, settings, lake)),
        ("evaluator", partial(_make_evaluator, settings, lake)),
        ("monitor", partial(_make_monitor, settings, lake)),
    )
    begun = [finding for name, make in parts for finding in _made(name, make)]
    return [*_access(settings), *_addresses(settings), *(begun or [well("start", "all parts can begin")])]


def _access(settings: Settings) -> list[Finding]:
    try:
        refuse_open_pages(settings)
    except (ConfigError, AddressError) as error:
        return [failed("access", str(error))]
    return []


def _addresses(settings: Settings) -> list[Finding]:
    chosen = addresses_of(settings, list(ServicePart))
    found: list[Finding] = []
    with ExitStack() as held:
        for setting, listen in chosen.items():
            problem = _problem_of(listen, held)
            rivals = [other for other, at in chosen.items() if other != setting and _port(at) == _port(listen)]
            # The check may run beside the services, which have the addresses then.
            if problem and (rivals or not _is_dialwatch(listen)):
                also = f"; {rivals[0]} has the same port" if rivals else ""
                found.append(failed("addresses", f"{setting}: {problem}{also}"))
    return found or [well("addresses", ", ".join(f"{listen} ({setting})" for setting, listen in chosen.items()))]


def _problem_of(listen: str, held: ExitStack) -> str | None:
    """Take an address until `held` ends; returns why it cannot be had."""
    try:
        held.enter_context(bind(listen))
    except AddressError as error:
        return str(error)
    except OSError as error:
        return error.strerror
    return None


def _port(listen: str) -> str:
    return listen.rpartition(":")[2]


def _is_dialwatch(listen: str) -> bool:
    """Whether a part of dialwatch has the address already: the check may run beside the services."""
    try:
        answer = httpx.get(f"{local_url(listen)}/metrics", timeout=_SECONDS, trust_env=False)
    except (AddressError, httpx.HTTPError, httpx.InvalidURL):
        return False
    return "dialwatch_" in answer.text


def _made(name: str, make: Callable[[], object]) -> list[Finding]:
    try:
        make()
    except (ImportError, OSError, ValueError) as error:  # what the parts say of settings that they cannot use
        return [failed("start", f"the {name} cannot begin: {error}")]
    return []


def _make_collector(settings: Settings, lake: Lake) -> None:
    if settings.collector.redaction.enabled:
        Redactor(settings.collector.redaction)
    if settings.collector.signals.implicit:
        ImplicitSignals(lake, settings.collector.signals)


def _make_evaluator(settings: Settings, lake: Lake) -> None:
    Evaluator(lake, settings.evaluator).close()


def _make_monitor(settings: Settings, lake: Lake) -> None:
    create_app(Monitor(lake, settings.monitor, lambda: datetime.now(UTC)), settings.monitor)
