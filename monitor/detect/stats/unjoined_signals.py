"""Signals of the last days that are joined with no answer, counted in the lake by deployment."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lake.queries.signals_by_answer import UnjoinedReason, count_unjoined
from lake.tables.lake import Lake

UNJOINED_DAYS = 7
"""Days of signals that are counted, today included."""
_EVERY = timedelta(hours=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class UnjoinedCounts:
    """Signals that are joined with no answer, by reason, of all that could be joined."""

    by_reason: Mapping[UnjoinedReason, int]
    of_all: int


class UnjoinedSignals:
    """Counter of the unjoined signals of each deployment, once an hour: an answer may come after its signal.

    `counts` are the last ones, by deployment. They are in memory alone, and counted again after a restart.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._counted_at: dict[str, datetime] = {}
        self.counts: Mapping[str, UnjoinedCounts] = {}

    def due(self, deployments: Set[str], now: datetime) -> list[str]:
        """Return those of the deployments that are to be counted, the longest waiting first; forget the others."""
        self._counted_at = {name: at for name, at in self._counted_at.items() if name in deployments}
        self.counts = {name: one for name, one in self.counts.items() if name in deployments}
        # A clock that was set back makes nobody wait longer.
        fresh = {name for name, at in self._counted_at.items() if at <= now < at + _EVERY}
        return sorted(deployments - fresh, key=lambda name: (self._counted_at.get(name, _NEVER), name))

    def count(self, deployment: str, now: datetime) -> None:
        """Count the signals of a deployment; what cannot be read is tried again when it is due next."""
        self._counted_at[deployment] = now
        since = now.astimezone(UTC).date() - timedelta(days=UNJOINED_DAYS - 1)
        reasons, of_all = count_unjoined(self._lake, deployment, since)
        counts = UnjoinedCounts({reason: reasons[reason] for reason in UnjoinedReason}, of_all)
        self.counts = {**self.counts, deployment: counts}
