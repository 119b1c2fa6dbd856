"""The command `dialwatch monitor`: the monitor in a process of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, checked_address, settings_of


def monitor(
    lake: LakeOption = None,
    config: ConfigOption = None,
    listen: Annotated[str | None, typer.Option(help="host:port of the pages and metrics.")] = None,
) -> None:
    """Serve metrics and pages, find regressions, send webhooks."""
    address = checked_address(listen)
    settings = settings_of(config, lake, {"monitor": address} if address else {})
    from dialwatch.services import running

    with running.only_monitor(settings):
        running.wait_for_signal()
