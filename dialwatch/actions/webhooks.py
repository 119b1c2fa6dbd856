"""Test messages to receivers of webhooks, and what came back."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import typer

from monitor.notify import DeliveryOutcome, Routing, WebhookSettings, connections, send_test, why_internal


def receivers_of(webhooks: Sequence[WebhookSettings], deployment: str | None) -> list[WebhookSettings]:
    """Give the receivers that get a deployment's alerts; all of them where none is named."""
    return [webhook for webhook in webhooks if deployment is None or Routing(webhook).is_for(deployment)]


def send_tests(
    webhooks: Sequence[WebhookSettings],
    external_url: str,
    internal_hosts: Collection[str],
    installation: str | None = None,
) -> None:
    """Send a test message to each receiver and print what came back; raises Exit with code 1 where one refused."""
    accepted = [_try(webhook, external_url, internal_hosts, installation) for webhook in webhooks]
    if not all(accepted):
        raise typer.Exit(1)


def send_test_to(webhook: WebhookSettings) -> None:
    """Send a test message to an address that a person has typed, who may mean a machine of their own."""
    host = webhook.url.host or ""
    if why := why_internal(str(webhook.url)):
        typer.echo(f"note: {why}; the monitor sends there only if monitor.internal_hosts names {host}")
    send_tests([webhook], "", {host})


def _try(
    webhook: WebhookSettings, external_url: str, internal_hosts: Collection[str], installation: str | None
) -> bool:
    # The path of the url may be a secret: it is not shown.
    where, began = f"{webhook.name} at {webhook.url.host}", time.monotonic()
    with connections(internal_hosts) as pool:
        attempt = send_test(webhook, pool, external_url, datetime.now(UTC), installation)
    took = f"{time.monotonic() - began:.1f} s"
    if attempt.outcome is DeliveryOutcome.DELIVERED:
        typer.echo(f"{where}: accepted the message after {took} ({attempt.reason})")
        return True
    later = "" if attempt.outcome is DeliveryOutcome.GONE else "; a real alert would be sent again"
    typer.echo(f"{where}: did not accept the message after {took}: {attempt.reason}{later}")
    return False
