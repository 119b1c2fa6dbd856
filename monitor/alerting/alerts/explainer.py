"""Looks for what changed around the onset of an alert that begins: once for an incident, and a few in a refresh."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from lake.spec.vocabulary import AlertEvent, OnsetKind
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.detect.causes import AroundOnset, CallersOfDays, OnsetInterval, around_onset
from monitor.detect.regression import Transition

MOST_AT_ONCE = 5
"""In one refresh: each reads the log, while other alerts wait."""
_OLDEST = timedelta(days=2)
"""An alert that is found so late, as in history, is not looked at: nobody is woken by it."""


class Explainer:
    """Gives what the log shows around an onset, for the alerts that are to be recorded."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._callers = CallersOfDays(lake)
        self._left = MOST_AT_ONCE
        self._looked: set[str] = set()

    def begin(self) -> None:
        """Forget what the last refresh looked at, and how much it was: another one begins."""
        self._left = MOST_AT_ONCE
        self._looked = set()
        self._callers.forget()

    def around(
        self,
        transition: Transition,
        known: Sequence[AlertChange],
        deployments: Sequence[str | None],
        now: datetime,
    ) -> AroundOnset | None:
        """Look, unless an open alert of the deployment says it already, or too many are looked at.

        `known` are the changes of the deployment's alerts, `deployments` those that it may call.
        """
        name, reading = transition.key.deployment, transition.reading
        if reading.since is None or transition.at < now - _OLDEST or name in self._looked or not self._left:
            return None
        newest = {
            change.alert_id: change for change in known if change.change in (AlertEvent.FIRING, AlertEvent.RESOLVED)
        }
        is_recorded = any(c.key == transition.key and c.changed_at >= transition.at for c in newest.values())
        is_open = any(c.change == AlertEvent.FIRING and c.details.around_onset for c in newest.values())
        if is_recorded or is_open:
            return None
        self._looked.add(name)
        self._left -= 1
        onset = OnsetInterval(
            reading.since, reading.since_earliest or reading.since, reading.since_latest or reading.since
        )
        older = reading.older_version if reading.onset is OnsetKind.RELEASE else None
        return around_onset(self._lake, name, onset, now, self._callers.around(onset, now, deployments), older)
