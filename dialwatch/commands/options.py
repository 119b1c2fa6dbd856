"""Options that several commands share, and the settings that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dialwatch.config import Settings, load_settings

LakeOption = Annotated[
    str | None, typer.Option("--lake", help="Folder or URI of the lake, such as s3://bucket/prefix.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="dialwatch.yaml; without it the environment and flags count.")
]


def settings_of(config: Path | None, lake: str | None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Give the settings, with the lake that `--lake` names and other `flags`, by section; raises ConfigError."""
    return load_settings(config, ({"lake": {"root": lake}} if lake else {}) | dict(flags or {}))
