"""Log of the digests that were sent, the table `_digests`, by which each is sent once, whoever else may send it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.dataset as ds

from lake.delta_log.change import LostRaceError
from lake.spec.alert_vocabulary import DigestEvent
from lake.spec.root_tables import DIGESTS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.notify.digest.table import DigestEvery, DigestPeriod

CLAIMED_FOR = timedelta(minutes=15)
"""How long who says that a digest is being sent may take; then it is taken to be gone, and another one sends it."""
_COUNTER = "digests"


class DigestLog:
    """Says who sends a digest: one of all monitors of a lake, and none that was sent.

    A process that is killed between a message and its row has it sent again, under the same id.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._table = lake.table(DIGESTS)
        self._sent: set[str] = set()

    @property
    def installation(self) -> str:
        """The name of the lake's dialwatch."""
        return self._lake.installation

    def is_sent(self, receiver: str, period: DigestPeriod) -> bool:
        """Whether this process knows that the digest was sent."""
        return period.id_of(receiver) in self._sent

    def claim(self, receiver: str, period: DigestPeriod, now: datetime) -> bool:
        """Say that the digest is being sent; False where it was sent, or another one is just sending it."""
        digest_id = period.id_of(receiver)
        transaction = PassTransaction(self._table, counters=[_COUNTER])
        # Earlier versions ended the week a day sooner in zones far in the east: that is the same digest.
        is_same = (ds.field("receiver") == receiver) & (ds.field("every") == period.every)
        is_same &= (ds.field("until") > period.begin) & (ds.field("until") <= period.end)
        rows = self._table.read(["digest_id", "change", "changed_at"], is_same).to_pylist()
        if any(row["change"] == DigestEvent.SENT for row in rows):
            self._sent.add(digest_id)
            return False
        last = max(rows, key=lambda row: row["changed_at"], default=None)
        if last and last["change"] == DigestEvent.CLAIMED and now - last["changed_at"] < CLAIMED_FOR:
            return False
        try:
            transaction.append(self._row(receiver, period, DigestEvent.CLAIMED, now))
        except LostRaceError:
            return False
        return True

    def note(self, receiver: str, period: DigestPeriod, event: DigestEvent, now: datetime, reason: str) -> None:
        """Write what came of a digest that was claimed."""
        if event is DigestEvent.SENT:
            # Also where the row cannot be written: this process sends it no more.
            self._sent.add(period.id_of(receiver))
        self._table.append(self._row(receiver, period, event, now, reason))

    def _row(
        self, receiver: str, period: DigestPeriod, event: DigestEvent, now: datetime, reason: str | None = None
    ) -> pa.Table:
        row = {
            "digest_id": period.id_of(receiver),
            "receiver": receiver,
            "every": period.every,
            "until": period.end,
            "change": event,
            "changed_at": now,
            "reason": reason,
        }
        return DIGESTS.rows([row])


@dataclass(frozen=True)
class DigestPlan:
    """When digests are sent, and what all of them have in common."""

    every: DigestEvery
    log: DigestLog
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    currency: str = ""
