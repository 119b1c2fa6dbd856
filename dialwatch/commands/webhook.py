"""The command `dialwatch webhook test`: a test message to the receivers of alerts, by webhook or mail."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.options import NO_LAKE, ConfigOption, receiver_of, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from dialwatch.config import MonitorSection
    from monitor.notify.delivery import Attempt
    from monitor.notify.settings import WebhookSettings

app = typer.Typer(no_args_is_help=True, help="Try out the receivers of alerts.")


@app.callback()
def webhook() -> None:
    """Try out the receivers of alerts."""


@app.command("test")
def send_test(
    url: Annotated[
        str | None, typer.Argument(help="Where to send; without it all of monitor.webhooks and monitor.mail.")
    ] = None,
    secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs the message.")] = None,
    kind: Annotated[str, typer.Option("--format", help="standard, slack, teams or alertmanager.")] = "standard",
    deployment: Annotated[
        str | None, typer.Option(help="Only to the receivers that get this deployment's alerts.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Send a test message, formed and signed as the real ones, and say what came back.

    The exit code is 0 where every receiver accepted it, else 1.
    """
    if url is not None:
        if secret_file is None and kind == "standard":
            raise ConfigError("give --secret-file, with the secret that the receiver has too: our messages are signed")
        _send_to(receiver_of(url, secret_file, name="test", format=kind))
        return
    whole = settings_of(config, NO_LAKE)
    settings = whole.monitor
    if not settings.receivers:
        raise ConfigError("monitor.webhooks is empty: give a URL, or write receivers into the file of --config")
    from monitor.notify.routing import Routing

    chosen = {one.name for one in settings.receivers if deployment is None or Routing(one).is_for(deployment)}
    if not chosen:
        raise ConfigError(f"no receiver of monitor.webhooks is for {deployment}: add it to the deployments of one")
    webhooks = [one for one in settings.webhooks if one.name in chosen]
    posted = [_posted(one, settings.external_url, settings.internal_hosts, whole.lake.installation) for one in webhooks]
    mailed = list(_mailed(settings, chosen, whole.lake.installation))
    if not all((*posted, *mailed)):
        raise typer.Exit(1)


def _send_to(webhook: WebhookSettings) -> None:
    """Send a test message to an address that a person has typed, who may mean a machine of their own."""
    from monitor.notify.network import why_internal

    host = webhook.url.host or ""
    if why := why_internal(str(webhook.url)):
        typer.echo(f"note: {why}; the monitor sends there only if monitor.internal_hosts names {host}")
    if not _posted(webhook, "", {host}, None):
        raise typer.Exit(1)


def _posted(
    webhook: WebhookSettings, external_url: str, internal_hosts: Collection[str], installation: str | None
) -> bool:
    """Post a test message, print what came back, and say whether it was accepted."""
    from monitor.notify.network import connections
    from monitor.notify.receiver_check import send_test

    # The path of the url may be a secret: it is not shown.
    where, began = f"{webhook.name} at {webhook.url.host}", time.monotonic()
    with connections(internal_hosts) as pool:
        return _told(where, send_test(webhook, pool, external_url, datetime.now(UTC), installation), began)


def _mailed(settings: MonitorSection, names: Collection[str], installation: str | None) -> Iterator[bool]:
    """Mail a test message to the receivers with these names, print what came of each, and say whether it was taken."""
    from monitor.notify.mail import MailServer
    from monitor.notify.receiver_check import send_test_mail

    if settings.mail is None:
        return
    server = MailServer(settings.mail, settings.internal_hosts)
    for receiver in settings.mail.receivers:
        if receiver.name in names:
            where, began = f"{receiver.name} by {settings.mail.server}", time.monotonic()
            attempt = send_test_mail(receiver, server, settings.external_url, datetime.now(UTC), installation)
            yield _told(where, attempt, began)


def _told(where: str, attempt: Attempt, began: float) -> bool:
    from monitor.notify.delivery import DeliveryOutcome

    took = f"{time.monotonic() - began:.1f} s"
    if attempt.outcome is DeliveryOutcome.DELIVERED:
        typer.echo(f"{where}: accepted the message after {took} ({attempt.reason})")
        return True
    later = "" if attempt.outcome is DeliveryOutcome.GONE else "; a real alert would be sent again"
    typer.echo(f"{where}: did not accept the message after {took}: {attempt.reason}{later}")
    return False
