"""The alerts of one deployment: the changes that its table `alerts` has, and appends that no other monitor repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from lake.delta_log.change import LostRaceError
from lake.spec.alert_vocabulary import ALERT_STATES
from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from monitor.alerting.alerts.change import AlertChange, digest, from_row, to_row
from monitor.alerting.alerts.incident_ids import with_incident_ids

NewChanges = Callable[[Sequence[AlertChange]], list[AlertChange]]
"""Gives the changes to record, from those that are known."""

_COUNTER = "alerts"
_ATTEMPTS = 10


class DeploymentAlerts:
    """What the table `alerts` of one deployment has; read once, and again after another monitor has written."""

    def __init__(self, lake: Lake, deployment: str) -> None:
        self._installation = lake.installation
        self._table = lake.table(ALERTS, deployment)
        self._transaction: PassTransaction | None = None
        """None while the table is to be read, or to be read again."""
        self.changes: list[AlertChange] = []
        """Oldest first as they were read, then in the order of their appends."""
        self._load()

    def append(self, new_changes: NewChanges) -> list[AlertChange]:
        """Record what `new_changes` gives, in one commit, and return it.

        Where another monitor was faster, its changes are read and `new_changes` is asked again. Raises LostRaceError
        after ten times.
        """
        for _ in range(_ATTEMPTS):
            transaction = self._load()
            found = _of_installation(self.changes, new_changes(self.changes), self._installation)
            changes = with_incident_ids(self.changes, found)
            if not changes:
                return []
            try:
                transaction.append(ALERTS.rows([to_row(change) for change in changes]))
            except LostRaceError:
                self._transaction = None
                continue
            self.changes += changes
            return changes
        raise LostRaceError(f"{self._table.uri} was changed by others {_ATTEMPTS} times in a row; run fewer monitors")

    def _load(self) -> PassTransaction:
        if self._transaction is None:
            # Begun before the rows are read: what it appends knows all of them, or is refused.
            transaction = PassTransaction(self._table, counters=[_COUNTER])
            rows = self._table.read().to_pylist()
            changes = with_incident_ids([], [from_row(row) for row in rows])
            self.changes = sorted(changes, key=lambda change: change.changed_at)
            self._transaction = transaction
        return self._transaction


def _of_installation(known: Sequence[AlertChange], new: Sequence[AlertChange], installation: str) -> list[AlertChange]:
    """Return the new changes of one deployment with the installation of their alerts, which each alert keeps.

    Of an alert that begins it is `installation`, and a part of its ids: staging and production may have an alert of
    the same name in the same hour. Alerts of earlier versions have none, so that receivers know them by the labels that
    they had.
    """
    kept = {change.alert_id: change.details.installation for change in reversed(known)}
    return [
        _marked(change, kept[change.alert_id])
        if change.alert_id in kept
        else replace(
            _marked(change, installation),
            alert_id=digest(change.alert_id, installation),
            change_id=digest(change.change_id, installation),
        )
        for change in new
    ]


def _marked(change: AlertChange, installation: str | None) -> AlertChange:
    if change.change not in ALERT_STATES:
        return change
    return replace(change, details=msgspec.structs.replace(change.details, installation=installation))
