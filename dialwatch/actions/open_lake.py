"""The lake of a command that needs tables."""

from __future__ import annotations

from dialwatch.config import Settings
from dialwatch.errors import ConfigError
from lake.maintenance.maintenance import all_tables
from lake.tables.lake import Lake


def open_filled(settings: Settings) -> Lake:
    """Open a lake that has tables; raises ConfigError for one without, which is a mistyped root."""
    opened = settings.lake.open()
    if next(all_tables(opened), None) is None:
        raise ConfigError(f"there is no table under {opened.root}: is that the lake's root?")
    return opened
