"""Requests of each client by day, and clients that send many times their usual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from monitor.detect.stats.requests import production

CLIENT_COLUMNS = ("requested_at", "is_entry", "origin", "user_id", "project_id")
USUAL_DAYS = 28
_LEAST_DAYS = 7
"""Days that must be known before a day, to say what is usual."""
_MOST, _MOST_NOW = 30, 300
"""Clients that are kept of a day, the largest ones: of earlier days, and of the last two."""
_TIMES, _LEAST_REQUESTS, _LEAST_SHARE = 20, 100, 0.2
_DAY = timedelta(days=1)
_KEPT = (USUAL_DAYS + 1) * _DAY


@dataclass(frozen=True, slots=True)
class Burst:
    """A client that sent many times its usual in a day (UTC)."""

    client: str
    """Its project, else the user."""
    day: date
    requests: int
    of_all: int
    """Requests of all clients in that day."""
    usual: float
    """Its requests a day in the days before, four weeks at most: so many at the most where it was among the small."""


@dataclass(frozen=True)
class ClientTraffic:
    """Requests that people and programs sent, by day and client."""

    clients: Mapping[date, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[date, int] = field(default_factory=dict)

    def with_logs(self, rows: pa.Table) -> ClientTraffic:
        """Add rows of `parsed_logs` (columns CLIENT_COLUMNS)."""
        rows = production(rows)
        rows = rows.filter(pc.and_(pc.fill_null(rows["is_entry"], False), pc.is_valid(rows["requested_at"])))
        if not rows.num_rows:
            return self
        days = rows["requested_at"].cast(pa.timestamp("us", "UTC")).cast(pa.date32())
        names = pc.fill_null(pc.coalesce(rows["project_id"], rows["user_id"]), "")
        counted = pa.table({"day": days, "client": names}).group_by(["day", "client"]).aggregate([([], "count_all")])
        clients = {day: dict(mine) for day, mine in self.clients.items()}
        totals = dict(self.totals)
        for row in counted.to_pylist():
            day, client, number = row["day"], row["client"], row["count_all"]
            totals[day] = totals.get(day, 0) + number
            _count(clients.setdefault(day, {}), client, number)
        latest = max(totals)
        kept = {day: _largest(mine, latest - day) for day, mine in clients.items() if latest - day <= _KEPT}
        return ClientTraffic(kept, {day: totals[day] for day in kept})

    def bursts(self, now: datetime) -> list[Burst]:
        """Return the clients that sent 20 times their usual, 100 requests and a fifth of all, today or yesterday."""
        today = now.astimezone(UTC).date()
        return [burst for day in (today, today - _DAY) for burst in self._bursts(day)]

    def _bursts(self, day: date) -> Iterator[Burst]:
        before = [one for one in self.clients if timedelta(0) < day - one <= USUAL_DAYS * _DAY]
        if not before or day - min(before) < _LEAST_DAYS * _DAY:
            return
        # Days without a request count: what came once in four weeks is not usual.
        days = (day - min(before)) // _DAY
        total = self.totals.get(day, 0)
        for client, requests in self.clients.get(day, {}).items():
            if not client or requests < max(_LEAST_REQUESTS, _LEAST_SHARE * total):
                continue
            usual = sum(_at_most(self.clients[one], client) for one in before) / days
            if requests >= _TIMES * usual:
                yield Burst(client, day, requests, total, usual)


def _count(clients: dict[str, int], client: str, number: int) -> None:
    """Count requests of a client; where there is no place for it, it takes that of the least, with its count.

    So one with more than a 300th of all is never left out, and is counted too high by a 300th of all at the most
    (Metwally, Agrawal and El Abbadi, Efficient Computation of Frequent and Top-k Elements in Data Streams, 2005).
    """
    if client in clients or len(clients) < _MOST_NOW:
        clients[client] = clients.get(client, 0) + number
        return
    least = min(clients, key=lambda one: (clients[one], one))
    clients[client] = clients.pop(least) + number


def _largest(clients: Mapping[str, int], age: timedelta) -> dict[str, int]:
    most = _MOST_NOW if age <= _DAY else _MOST
    if len(clients) <= most:
        return dict(clients)
    return dict(sorted(clients.items(), key=lambda one: (-one[1], one[0]))[:most])


def _at_most(clients: Mapping[str, int], client: str) -> int:
    """Return the requests of a client in a day; of one that is not among the largest, so many as the least of them."""
    return clients.get(client, min(clients.values()) if len(clients) >= _MOST else 0)
