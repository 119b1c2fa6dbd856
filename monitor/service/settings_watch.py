"""Looks at what deployments ask otherwise of their models than the days before: one deployment a refresh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial

from lake.tables.lake import Lake
from monitor.detect.causes import DailyChanges
from monitor.service.health.failures import CHANGES, Failures
from monitor.service.ingest.ingest import Ingest

_SECONDS = 1.0
"""For which a refresh reads who called whom; the next one goes on."""


class SettingsWatch:
    """Reader of changed settings, day by day: what it finds becomes part of a deployment's state."""

    def __init__(self, lake: Lake, failures: Failures) -> None:
        self._daily_changes = DailyChanges(lake)
        self._failures = failures
        self._looked_at: dict[str, date] = {}
        """By deployment the last day of which the log was looked at, or could not be."""

    def look(self, ingest: Ingest, deployments: Sequence[str | None], now: datetime) -> str | None:
        """Look at the first of `deployments` whose day was not looked at; return its name where something changed."""
        for name in sorted(ingest.deployments.keys() & {one for one in deployments if one is not None}):
            known = ingest.deployments[name].setting_changes
            day = known.due(now)
            if day is None or self._looked_at.get(name) == day:
                continue
            # Of a thousand deployments it takes some ten seconds, in which nothing else would be looked at.
            prepare = partial(self._daily_changes.prepare, day, deployments, _SECONDS)
            is_ready = self._failures.attempt(CHANGES, prepare, f"log of {name!r}")
            if is_ready is False:
                return None
            self._looked_at[name] = day
            if is_ready is None:
                return None
            look = partial(self._daily_changes.read, name, day, deployments)
            found = self._failures.attempt(CHANGES, look, f"log of {name!r}")
            if found is not None:
                state = ingest.deployments[name]
                ingest.deployments[name] = replace(state, setting_changes=known.with_day(day, found))
            return name if found else None
        return None
