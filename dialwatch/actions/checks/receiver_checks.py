"""Checks of the receivers of alerts: that each can be reached, by the guard that the monitor sends through."""

from __future__ import annotations

from collections.abc import Sequence

import httpcore

from dialwatch.actions.checks.finding import Finding, failed, skipped, well
from dialwatch.config import MonitorSection
from lake.tables.lake import Lake
from monitor.notify import Routing, WebhookSettings, connections

_SHOWN = 5
"""Names of deployments in a line."""


def check_receivers(settings: MonitorSection, lake: Lake) -> list[Finding]:
    """Ask each receiver by HEAD, so that nobody gets a message, and look whether each deployment has a receiver."""
    if not settings.webhooks:
        return [skipped("receivers", "monitor.webhooks is empty: alerts are on the pages alone")]
    return [*(_receiver(webhook, settings) for webhook in settings.webhooks), *_routes(settings.webhooks, lake)]


def _routes(webhooks: Sequence[WebhookSettings], lake: Lake) -> list[Finding]:
    names = sorted(name for name in lake.deployments() if name is not None)
    routings = [(webhook, Routing(webhook)) for webhook in webhooks]
    missed = [name for name in names if not any(routing.is_for(name) for _, routing in routings)]
    found = [
        well("receivers", f"{webhook.name} is for no deployment that the lake has: {', '.join(webhook.deployments)}")
        for webhook, routing in routings
        if names and not any(map(routing.is_for, names))
    ]
    if missed:
        shown = ", ".join(missed[:_SHOWN]) + (f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else "")
        advice = "give a receiver deployments that match, or one without that setting"
        found.append(failed("receivers", f"alerts of {shown} go to nobody: {advice}"))
    return found


def _receiver(webhook: WebhookSettings, settings: MonitorSection) -> Finding:
    # The path of the url may be a secret: it is not shown.
    where = f"{webhook.name} at {webhook.url.host}"
    try:
        with connections(settings.internal_hosts) as pool:
            status = pool.request("HEAD", str(webhook.url), headers={"host": _authority(webhook)}).status
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, ValueError) as error:
        return failed("receivers", f"{where} cannot be reached ({type(error).__name__}): {error}")
    if status == 410:
        return failed("receivers", f"{where} answers 410, it is gone: take it out of monitor.webhooks")
    return well("receivers", f"{where} can be reached; dialwatch webhook test sends it a message")


def _authority(webhook: WebhookSettings) -> str:
    url = webhook.url
    return f"{url.host}:{url.port}" if url.port else str(url.host)
