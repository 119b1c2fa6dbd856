"""The deployments that a refresh looks at: those with news, and each of the others once a minute.

Of a quiet deployment only the time goes on: a pause is over, a window of minutes empties, a batch closes. Nobody needs
that within seconds, and with a thousand of them it is nearly all of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from zlib import crc32

from lake.spec.schemas import UNASSIGNED
from lake.tables.open_tables import OpenTables
from monitor.service.ingest.ingest import READ_OF_DEPLOYMENTS, Ingest

LOOK_SECONDS = 60.0
"""How often a deployment without news is looked at."""


class DueDeployments:
    """Says which deployments are due. After a refresh in which anything failed all of them are."""

    def __init__(self, tables: OpenTables, ingest: Ingest, monotonic: Callable[[], float]) -> None:
        self._tables = tables
        self._ingest = ingest
        self._monotonic = monotonic
        self._looked_at: dict[str | None, float] = {}
        self._is_whole = False

    def of(self, deployments: Sequence[str | None]) -> set[str | None]:
        """Return those of the deployments that this refresh is to look at."""
        changed = self._tables.with_news(deployments, READ_OF_DEPLOYMENTS)
        if not self._is_whole:
            return set(deployments)
        lagging = self._ingest.new_rows.lagging | self._ingest.new_answers.lagging
        known = self._ingest.deployments.keys()
        unread = {one for one in deployments if (UNASSIGNED if one is None else one) not in known}
        asked_for = changed | lagging | unread
        return {one for one in deployments if one in asked_for or self._is_old(one)}

    def end(self, looked: Set[str | None], *, is_whole: bool) -> None:
        """Note that a refresh has looked at deployments, and whether nothing failed in it."""
        self._is_whole = is_whole
        now = self._monotonic()
        for one in looked:
            # Those that begin together come at different times later: no refresh is to look at all of them.
            first = now - crc32(str(one).encode()) % 1000 / 1000 * LOOK_SECONDS
            self._looked_at[one] = now if one in self._looked_at else first

    def _is_old(self, deployment: str | None) -> bool:
        looked_at = self._looked_at.get(deployment)
        return looked_at is None or self._monotonic() - looked_at >= LOOK_SECONDS
