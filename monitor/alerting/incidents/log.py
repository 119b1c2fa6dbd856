"""Rows of the tables `incidents`: what follows from alerts, each once, and what people take note of."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from lake.delta_log.change import LostRaceError
from lake.spec.alert_vocabulary import ALERT_STATES, IncidentEvent
from lake.spec.schemas import INCIDENTS
from lake.tables.lake import Lake
from lake.tables.open_tables import TableSource
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.change import INCIDENT_COLUMNS, IncidentChange, from_row, to_row
from monitor.alerting.incidents.incident import Incident, incidents_of

_COUNTER = "incidents"
_ATTEMPTS = 10
_OF_PEOPLE = (IncidentEvent.ACKNOWLEDGED, IncidentEvent.ACKNOWLEDGEMENT_WITHDRAWN)


@dataclass(frozen=True)
class _Made:
    """Incidents, which seldom change, and the ids of the changes that they were made of."""

    made_of: tuple[str, ...]
    incidents: tuple[Incident, ...]


class IncidentLog:
    """The incidents of all deployments, and their rows.

    The rows of `alerts` are the truth. Rows of `incidents` are written after them and have ids that are made of them:
    what a process that was killed, or a lake that was away, left out is written by the next `record`, and nothing is
    written twice, also with several monitors on one lake. Safe for use by several threads.
    """

    def __init__(self, lake: TableSource) -> None:
        self._lake = lake
        self._lock = threading.Lock()
        self._written: dict[str, set[str]] = {}
        self._acknowledged: dict[str, dict[str, IncidentChange]] = {}
        self._made: dict[str, _Made] = {}

    def add(self, deployment: str, rows: pa.Table) -> None:
        """Take in rows of a deployment's table (columns INCIDENT_COLUMNS), in any order and more than once."""
        changes = [from_row(row) for row in rows.to_pylist()]
        with self._lock:
            self._add(deployment, changes)

    def incidents(self, changes: Iterable[AlertChange]) -> Mapping[str, tuple[Incident, ...]]:
        """Return by deployment the incidents that these changes of alerts make, the newest first."""
        of_deployment: dict[str, list[AlertChange]] = {}
        for change in changes:
            if change.change in ALERT_STATES:
                of_deployment.setdefault(change.key.deployment, []).append(change)
        return {name: self._incidents(name, mine) for name, mine in of_deployment.items()}

    def acknowledged(self, changes: Iterable[AlertChange], also: Collection[str] = ()) -> list[Incident]:
        """Return the incidents that somebody took note of at any time, from the changes of alerts.

        `also` are ids of more incidents that are wanted.
        """
        with self._lock:
            noted = {row.incident_id for rows in self._acknowledged.values() for row in rows.values()}.union(also)
        if not noted:
            return []
        return [one for mine in self.incidents(changes).values() for one in mine if one.incident_id in noted]

    def record(self, deployment: str, incidents: Iterable[Incident]) -> None:
        """Write the changes of a deployment's incidents that its table lacks."""
        with self._lock:
            written = self._written.get(deployment, set())
            rows = [row for one in incidents for row in one.changes if row.change_id not in written]
            if rows:
                self._append(deployment, rows)

    def acknowledge(self, incident: Incident, who: str | None, comment: str, now: datetime) -> IncidentChange:
        """Write that somebody took note of an incident, and return the row."""
        return self._note(incident, IncidentEvent.ACKNOWLEDGED, who, comment, now)

    def withdraw_acknowledgement(self, incident: Incident, who: str | None, now: datetime) -> IncidentChange:
        """Write that somebody took an acknowledgement back, and return the row."""
        return self._note(incident, IncidentEvent.ACKNOWLEDGEMENT_WITHDRAWN, who, None, now)

    def _note(
        self, incident: Incident, change: IncidentEvent, who: str | None, comment: str | None, now: datetime
    ) -> IncidentChange:
        row = IncidentChange(
            change_id=digest(incident.incident_id, change, who or "", now.isoformat()),
            incident_id=incident.incident_id,
            deployment=incident.deployment,
            change=change,
            changed_at=now,
            tier=incident.tier,
            verdict=incident.verdict,
            who=who,
            comment=comment,
        )
        with self._lock:
            self._append(incident.deployment, [row])
        return row

    def _incidents(self, deployment: str, changes: Sequence[AlertChange]) -> tuple[Incident, ...]:
        with self._lock:
            noted = tuple(self._acknowledged.get(deployment, {}).values())
            made = self._made.get(deployment)
        made_of = (*(change.change_id for change in changes), *(row.change_id for row in noted))
        if made is None or made.made_of != made_of:
            made = _Made(made_of, incidents_of(changes, noted))
            with self._lock:
                self._made[deployment] = made
        return made.incidents

    def _append(self, deployment: str, rows: Sequence[IncidentChange]) -> None:
        table = self._lake.table(INCIDENTS, deployment)
        for _ in range(_ATTEMPTS):
            # Begun before the ids are read: what it appends knows all of them, or is refused.
            transaction = PassTransaction(table, counters=[_COUNTER])
            there = set(table.read(["change_id"])["change_id"].to_pylist())
            missing = [row for row in rows if row.change_id not in there]
            try:
                if missing:
                    transaction.append(INCIDENTS.rows([to_row(row) for row in missing]))
            except LostRaceError:
                continue
            self._add(deployment, rows)
            return
        raise LostRaceError(f"{table.uri} was changed by others {_ATTEMPTS} times in a row; run fewer monitors")

    def _add(self, deployment: str, changes: Iterable[IncidentChange]) -> None:
        for change in changes:
            self._written.setdefault(deployment, set()).add(change.change_id)
            if change.change in _OF_PEOPLE:
                self._acknowledged.setdefault(deployment, {})[change.change_id] = change


def read_incidents(lake: Lake) -> list[Incident]:
    """Return the incidents of all deployments of a lake, the newest first."""
    log, alerts = IncidentLog(lake), AlertStore(lake)
    for deployment in lake.deployments():
        if deployment is not None:
            log.add(deployment, lake.table(INCIDENTS, deployment).read(INCIDENT_COLUMNS))
    found = [one for mine in log.incidents(alerts.changes()).values() for one in mine]
    return sorted(found, key=lambda one: one.opened_at, reverse=True)
