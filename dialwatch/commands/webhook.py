"""`dialwatch webhook`: see whether those who are to be told of regressions can be."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr, ValidationError

from dialwatch.commands.options import ConfigOption, settings_of
from dialwatch.config import ConfigError
from monitor.notify import Outcome, WebhookSettings, connections, send_test, why_internal

app = typer.Typer(no_args_is_help=True, help="Try out who is told of regressions.")


@app.callback()
def webhook() -> None:
    """Try out who is told of regressions."""


@app.command("test")
def try_out(
    url: Annotated[str | None, typer.Argument(help="Where to send; without it all of monitor.webhooks.")] = None,
    secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs the message.")] = None,
    kind: Annotated[str, typer.Option("--format", help="standard, slack, teams or alertmanager.")] = "standard",
    config: ConfigOption = None,
) -> None:
    """Send a test message, formed and signed as the real ones, and say what came back.

    The exit code is 0 where every receiver accepted it, else 1.
    """
    if url is None:
        # No lake is needed to send a test, and so none must be named.
        settings = settings_of(config, ".").monitor
        webhooks, external_url, internal = settings.webhooks, settings.external_url, set(settings.internal_hosts)
        if not webhooks:
            raise ConfigError("monitor.webhooks is empty: give a URL, or write receivers into the file of --config")
    else:
        # Who types an address may mean a machine of their own.
        webhooks, external_url = (_receiver(url, secret_file, kind),), ""
        internal = {webhooks[0].url.host or ""}
        if why := why_internal(url):
            typer.echo(f"note: {why}; the monitor sends there only if monitor.internal_hosts names {min(internal)}")
    accepted = [_try(webhook, external_url, internal) for webhook in webhooks]
    if not all(accepted):
        raise typer.Exit(1)


def _receiver(url: str, secret_file: Path | None, kind: str) -> WebhookSettings:
    values: dict[str, Any] = {"name": "test", "url": url, "format": kind}
    if secret_file is not None:
        values["secret"] = SecretStr(secret_file.read_text().strip())
    elif kind == "standard":
        raise ConfigError("give --secret-file, with the secret that the receiver has too: our messages are signed")
    try:
        return WebhookSettings.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"])) or "webhook"
        raise ConfigError(f"{where}: {problem['msg'].removeprefix('Value error, ')}") from None


def _try(webhook: WebhookSettings, external_url: str, internal_hosts: set[str]) -> bool:
    # The path of the url may be a secret: it is not shown.
    where, began = f"{webhook.name} at {webhook.url.host}", time.monotonic()
    with connections(internal_hosts) as pool:
        attempt = send_test(webhook, pool, external_url, datetime.now(UTC))
    took = f"{time.monotonic() - began:.1f} s"
    if attempt.outcome is Outcome.DELIVERED:
        typer.echo(f"{where}: accepted the message after {took} ({attempt.reason})")
        return True
    later = "" if attempt.outcome is Outcome.GONE else "; a real alert would be sent again"
    typer.echo(f"{where}: did not accept the message after {took}: {attempt.reason}{later}")
    return False
