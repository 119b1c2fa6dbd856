"""Group of the evaluators that share the deployments of a lake: who is in it, and who has which deployment."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final, Protocol

import pyarrow.dataset as ds

from lake.delta_log.change import TableReplacedError
from lake.spec.root_tables import SERVICES
from lake.spec.service_vocabulary import ServicePart, ServiceState
from lake.tables.lake import Lake
from runtime.clocks import SKEW

logger = logging.getLogger(__name__)

GROUP_HEARTBEAT_SECONDS: Final = 15.0
"""Time between two heartbeats of an evaluator that is not alone."""
LOOK_SECONDS: Final = 5.0
"""Time between two looks at the group."""
_GONE_SECONDS = 45.0
_COLUMNS = ["part", "host", "since", "heartbeat_at", "state"]

Run = tuple[str, str, datetime]
"""Part, host and start: the name of one run, as in `_services`."""


class Group(Protocol):
    """What an evaluator asks of the group it is in."""

    @property
    def size(self) -> int:
        """How many evaluators share the deployments."""
        ...

    def is_assigned(self, deployment: str) -> bool:
        """Whether this evaluator scores the deployment."""
        ...


class Alone:
    """Group of an evaluator that has all deployments."""

    size = 1

    def is_assigned(self, _: str) -> bool:
        """Return True: there is no other evaluator to leave a deployment to."""
        return True


class EvaluatorGroup:
    """The evaluators whose heartbeats come, this one among them; each deployment is assigned to one of them.

    An evaluator is out of the group when it says that it stopped, or after 45 s without a heartbeat. These seconds are
    of this process, from when it saw the last row: no clocks of two hosts are compared. Only time in which looks went
    well counts, so that a store that was away makes nobody disappear. One that was there before this one's first look,
    and killed, is believed to live for 45 s.

    Deployments are assigned by rendezvous hashing (Thaler and Ravishankar 1998), which every evaluator works out by
    itself: where one comes or goes, no deployment moves between two others. Two may see the group differently for some
    seconds and both take a deployment: then one of them is refused (`LostRaceError`), and nothing is scored twice.

    One thread looks, others may ask.
    """

    def __init__(
        self,
        lake: Lake,
        own: Run,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = monotonic,
    ) -> None:
        self._lake = lake
        self._own = own
        self._clock = clock
        self._monotonic = monotonic
        self._table = lake.table(SERVICES)
        self._version: int | None = None
        self._looked_at: float | None = None
        self._seconds = 0.0
        """Seconds in which looks went well."""
        self._heard: dict[Run, float] = {}
        self._newest: dict[Run, datetime] = {}
        """The newest heartbeat of each run, by its own clock: rows that are read again are no sign of life."""
        self._members = frozenset({own})

    @property
    def members(self) -> frozenset[Run]:
        """The runs that are in the group."""
        return self._members

    @property
    def size(self) -> int:
        """How many evaluators are in the group."""
        return len(self._members)

    def is_assigned(self, deployment: str) -> bool:
        """Whether this evaluator scores the deployment."""
        return max(self._members, key=lambda member: _weight(member, deployment)) == self._own

    def look(self) -> bool:
        """Read new heartbeats, and say whether the group has changed. Raises what the store raises."""
        rows, are_all = self._new_rows()
        now = self._monotonic()
        # A longer gap is one of failed looks, or of a process that was suspended.
        self._seconds += 0.0 if self._looked_at is None else min(now - self._looked_at, 2 * LOOK_SECONDS)
        self._looked_at = now
        old = self._clock() - SKEW
        stopped = {_run(row) for row in rows if row["state"] == ServiceState.STOPPED}
        newest: dict[Run, datetime] = {}
        for row in rows:
            newest[_run(row)] = max(row["heartbeat_at"], newest.get(_run(row), row["heartbeat_at"]))
        heard = {run for run, at in newest.items() if not are_all or (at >= old and at != self._newest.get(run))}
        self._newest = newest if are_all else self._newest | newest
        self._heard |= dict.fromkeys(heard, self._seconds)
        self._heard = {
            run: at for run, at in self._heard.items() if run not in stopped and self._seconds - at <= _GONE_SECONDS
        }
        before, self._members = self._members, frozenset({self._own, *self._heard})
        if self._members != before:
            _log(self._members)
        return self._members != before

    def _new_rows(self) -> tuple[list[dict[str, Any]], bool]:
        """Return the rows of evaluators that were added since the last look, and whether these are all of them."""
        since = (self._clock() - timedelta(days=1)).date()
        where = (ds.field("part") == ServicePart.EVALUATOR) & (ds.field("date") >= since)
        try:
            change = self._table.read_since(self._version, _COLUMNS, where=where)
        except TableReplacedError:
            self._table, self._version = self._lake.table(SERVICES), None
            change = self._table.read_since(None, _COLUMNS, where=where)
        are_all = self._version is None or change.repeats
        self._version = change.version
        return change.rows.to_pylist(), are_all


def _run(row: dict[str, Any]) -> Run:
    return row["part"], row["host"], row["since"]


def _weight(member: Run, deployment: str) -> bytes:
    part, host, since = member
    # The names end with a character that neither can hold.
    name = f"{part}\0{host}\0{since.astimezone(UTC).isoformat()}\0{deployment}"
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _log(members: frozenset[Run]) -> None:
    hosts = ", ".join(sorted(host for _, host, _ in members))
    logger.info("%d evaluators share the deployments, on %s", len(members), hosts)
