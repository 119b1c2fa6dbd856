"""The command `dialwatch webhook test`: a test message to the receivers of alerts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialwatch.commands.options import NO_LAKE, ConfigOption, receiver_of, settings_of
from dialwatch.errors import ConfigError

app = typer.Typer(no_args_is_help=True, help="Try out the receivers of alerts.")


@app.callback()
def webhook() -> None:
    """Try out the receivers of alerts."""


@app.command("test")
def send_test(
    url: Annotated[str | None, typer.Argument(help="Where to send; without it all of monitor.webhooks.")] = None,
    secret_file: Annotated[Path | None, typer.Option(help="File with the secret that signs the message.")] = None,
    kind: Annotated[str, typer.Option("--format", help="standard, slack, teams or alertmanager.")] = "standard",
    deployment: Annotated[
        str | None, typer.Option(help="Only to the receivers of monitor.webhooks that get this deployment's alerts.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Send a test message, formed and signed as the real ones, and say what came back.

    The exit code is 0 where every receiver accepted it, else 1.
    """
    if url is not None:
        if secret_file is None and kind == "standard":
            raise ConfigError("give --secret-file, with the secret that the receiver has too: our messages are signed")
        receiver = receiver_of(url, secret_file, name="test", format=kind)
        from dialwatch.actions.webhooks import send_test_to

        send_test_to(receiver)
        return
    whole = settings_of(config, NO_LAKE)
    settings = whole.monitor
    if not settings.webhooks:
        raise ConfigError("monitor.webhooks is empty: give a URL, or write receivers into the file of --config")
    from dialwatch.actions.webhooks import receivers_of, send_tests

    receivers = receivers_of(settings.webhooks, deployment)
    if not receivers:
        raise ConfigError(f"no receiver of monitor.webhooks is for {deployment}: add it to the deployments of one")
    send_tests(receivers, settings.external_url, settings.internal_hosts, whole.lake.installation)
