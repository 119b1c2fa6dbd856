"""The command `dialwatch support-bundle`: what a maintainer needs to know, in one archive."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dialwatch.commands.options import ConfigOption, LakeOption, settings_of


def support_bundle(
    lake: LakeOption = None,
    config: ConfigOption = None,
    output: Annotated[
        Path | None, typer.Option(help="Archive to write; without it dialwatch-support-<time>.zip in this folder.")
    ] = None,
) -> None:
    """Collect versions, settings, checks, sizes of tables, heartbeats, counts and metrics, without texts or secrets."""
    settings = settings_of(config, lake)
    from dialwatch.actions.support.bundle import usual_name, write_bundle

    now = datetime.now(UTC)
    write_bundle(settings, output or usual_name(now), now)
