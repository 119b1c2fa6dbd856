"""Checks of the receivers of alerts: that each can be reached, by the guard that the monitor sends through."""

from __future__ import annotations

import httpcore

from dialwatch.actions.checks.finding import Finding, failed, skipped, well
from dialwatch.config import MonitorSection
from monitor.notify import WebhookSettings, connections


def check_receivers(settings: MonitorSection) -> list[Finding]:
    """Ask each receiver by HEAD, so that nobody gets a message; `dialwatch webhook test` sends one."""
    found = [_receiver(webhook, settings) for webhook in settings.webhooks]
    return found or [skipped("receivers", "monitor.webhooks is empty: alerts are on the pages alone")]


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
