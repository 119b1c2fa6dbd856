"""The alerts of all deployments: what fired, what is over, and which receivers were notified."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial

from lake.spec.alert_vocabulary import ALERT_STATES, AlertEvent
from lake.store.store_errors import in_one_line
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.deployment_alerts import DeploymentAlerts
from monitor.alerting.alerts.judge_wait import overdue
from monitor.alerting.alerts.limit_alerts import changes_of_limits
from monitor.alerting.alerts.new_changes import (
    change_of,
    changes_of_transitions,
    delivery_of,
    not_recorded,
    with_verdict,
)
from monitor.alerting.alerts.obsolete import IsWorse, end_of_obsolete, refired
from monitor.alerting.alerts.pending import ended_in_silence, pending
from monitor.detect.limits import LimitChange
from monitor.detect.regression import Judgement, Reading, StreamKey, Transition

logger = logging.getLogger(__name__)


class AlertStore:
    """Records changes of alerts as rows of `alerts`, each once, and knows which are not delivered yet.

    A change is a row first and a message second: what `pending` gives is recorded and not settled with that receiver,
    so after a crash between the two it is delivered late, not never. Transitions that the table already has, as after
    a restart, are ignored: an open alert is not opened twice, and nothing older than a stream's last change is
    recorded. An open alert that reaches the tier `page` has one more `firing` change. Several stores on one lake do
    not repeat each other. Safe for use by several threads.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.RLock()
        self._by_deployment: dict[str, DeploymentAlerts] = {}
        self._unrecorded: list[Transition] = []
        self._unread: set[str] | None = None
        """Deployments whose alerts are still to be read; None until they could be listed."""
        self._list()

    def reload(self, deployments: Iterable[str | None]) -> None:
        """Read the tables of `deployments` again, as after one has left the lake."""
        with self._lock:
            self._by_deployment.clear()
            self._unrecorded.clear()
            self._unread = {deployment for deployment in deployments if deployment is not None}

    def record(self, transitions: Sequence[Transition], now: datetime) -> list[AlertChange]:
        """Record the transitions that are new; returns their changes.

        If the lake fails its error is raised, once all deployments have been tried, and what it refused is tried again
        at the next call.
        """
        with self._lock, _all_tried() as one:
            # While the lake takes no row, a page that was held back is found again at each look.
            every = {(one.key, one.change, one.at, one.reading.tier): one for one in (*self._unrecorded, *transitions)}
            self._unrecorded = list(every.values())
            recorded: list[AlertChange] = []
            for deployment in dict.fromkeys(transition.key.deployment for transition in self._unrecorded):
                mine = [t for t in self._unrecorded if t.key.deployment == deployment]
                with one(deployment):
                    recorded += self._of(deployment).append(partial(changes_of_transitions, transitions=mine, now=now))
                    self._unrecorded = [t for t in self._unrecorded if t.key.deployment != deployment]
            return recorded

    def record_limits(self, deployment: str, found: Sequence[LimitChange], now: datetime) -> list[AlertChange]:
        """Record what is new of what limits of a deployment found; returns it.

        If the lake fails its error is raised; limits find it again, as they look at what is recorded.
        """
        with self._lock:
            return self._of(deployment).append(partial(changes_of_limits, found=found, now=now))

    def close_obsolete(
        self,
        readings: Mapping[StreamKey, Reading],
        newest: Mapping[StreamKey, datetime],
        deployments: Collection[str],
        now: datetime,
        replaced: Mapping[str, str] | None = None,
        unscored: Collection[StreamKey] = (),
    ) -> list[AlertChange]:
        """Resolve the alerts that no evidence can end any more; returns the changes. See module `obsolete`.

        `newest` are the streams of each metric's newest version, with when their newest score was made. `deployments`
        are those whose scores have all been read: a stream that lacks some seems to learn. `replaced` names the version
        of an application that is in use in place of another, and `unscored` the streams of metrics that are not scored
        of an application of this class.
        """
        return self._follow_active(
            lambda alert: (
                None
                if alert.is_limit or alert.key.deployment not in deployments
                else end_of_obsolete(
                    alert,
                    readings.get(alert.key),
                    newest,
                    now,
                    (replaced or {}).get(alert.key.deployment),
                    is_unscored=alert.key in unscored,
                )
            )
        )

    def refire(
        self,
        readings: Mapping[StreamKey, Reading],
        judgements: Mapping[StreamKey, Judgement],
        is_worse: IsWorse,
        now: datetime,
    ) -> list[AlertChange]:
        """Fire again where an alert ended because no scores came, and scores have come since that are no better."""

        def new_changes(known: Sequence[AlertChange]) -> list[AlertChange]:
            found = [change_of(transition, None, now) for transition in refired(known, readings, judgements, is_worse)]
            return [replace(change, reason="its scores have come again, and are no better") for change in found]

        with self._lock, _all_tried() as one:
            fired: list[AlertChange] = []
            for deployment in {change.key.deployment for change in self.changes() if change.details.idle_since}:
                with one(deployment):
                    fired += self._of(deployment).append(new_changes)
            return fired

    def update_verdicts(
        self, judgements: Mapping[StreamKey, Judgement], readings: Mapping[StreamKey, Reading], now: datetime
    ) -> list[AlertChange]:
        """Record, as one more `firing` change, the verdict of an open alert that was undecided before.

        Likewise where only the judge had changed, and now the application has.
        """

        def decided(alert: AlertChange) -> AlertChange | None:
            judgement = judgements.get(alert.key)
            return with_verdict(alert, judgement, readings[alert.key], now) if judgement else None

        return self._follow_active(decided)

    def raise_overdue(self, judgements: Mapping[StreamKey, Judgement], now: datetime) -> list[AlertChange]:
        """Record, as one more `firing` change, the pages that have waited long enough for the judge's anchors.

        Not those that by the present judgements their judge explains.
        """
        return self._follow_active(lambda alert: overdue(alert, judgements.get(alert.key), now))

    def _follow_active(self, following: Callable[[AlertChange], AlertChange | None]) -> list[AlertChange]:
        """Record the change that follows each open alert, where there is one that is not known; returns them."""
        with self._lock, _all_tried() as one:
            recorded: list[AlertChange] = []
            for alert in self.active():
                change = following(alert)
                if change is not None:
                    with one(alert.key.deployment):
                        recorded += self._of(alert.key.deployment).append(partial(not_recorded, changes=[change]))
            return recorded

    def record_deliveries(
        self,
        changes: Sequence[AlertChange],
        receiver: str,
        outcome: AlertEvent,
        reason: str,
        at: datetime,
    ) -> None:
        """Record what came of sending changes of one deployment to `receiver`, all in one commit or none.

        A second time is no row.
        """
        rows = [delivery_of(change, receiver, outcome, reason, at) for change in changes]
        with self._lock:
            self._of(changes[0].key.deployment).append(partial(not_recorded, changes=rows))

    def record_summary(self, changes: Sequence[AlertChange], receiver: str, at: datetime) -> None:
        """Record that changes of one deployment, delivered to `receiver` before, were in a summary."""
        rows = [delivery_of(change, receiver, AlertEvent.SUMMARIZED, "it goes on", at) for change in changes]
        rows = [replace(row, change_id=digest(row.change_id, AlertEvent.SUMMARIZED, at.isoformat())) for row in rows]
        with self._lock:
            self._of(changes[0].key.deployment).append(partial(not_recorded, changes=rows))

    def record_silence(self, change: AlertChange, receiver: str, reason: str, at: datetime, until: datetime) -> None:
        """Record until when a silence keeps a change from `receiver`; no row where the last one says the same."""

        def new_changes(known: Sequence[AlertChange]) -> list[AlertChange]:
            mine = (c.details for c in known if c.delivery_of == change.change_id)
            ends = [details.until for details in mine if details.receiver == receiver and details.until]
            if ends[-1:] == [until]:
                return []
            return [delivery_of(change, receiver, AlertEvent.SILENCED, reason, at, until, len(ends))]

        with self._lock:
            self._of(change.key.deployment).append(new_changes)

    def changes_of(self, deployment: str) -> list[AlertChange]:
        """Return every change of a deployment's alerts, as its table has them."""
        with self._lock:
            self._read_unread()
            alerts = self._by_deployment.get(deployment)
            return list(alerts.changes) if alerts else []

    def pending(self, receiver: str, now: datetime) -> list[AlertChange]:
        """Return the changes still to be sent to this receiver, oldest first; see `monitor.alerting.alerts.pending`."""
        return pending(self.changes(), receiver, now)

    def ended_in_silence(self, receiver: str) -> set[str]:
        """Return the ids of alerts that were over before their silence; see `monitor.alerting.alerts.pending`."""
        return ended_in_silence(self.changes(), receiver)

    def active(self) -> list[AlertChange]:
        """Return the `firing` changes of alerts that are not resolved, oldest first."""
        with self._lock:
            last = {c.key: c for c in self.changes() if c.change in ALERT_STATES}
        return [change for change in last.values() if change.change == AlertEvent.FIRING]

    def changes(self) -> list[AlertChange]:
        """Return every change of every alert, oldest first."""
        with self._lock:
            self._read_unread()
            every = [change for alerts in self._by_deployment.values() for change in alerts.changes]
        return sorted(every, key=lambda change: change.changed_at)

    def _list(self) -> None:
        try:
            there = {deployment for deployment in self._lake.deployments() if deployment is not None}
        except Exception as error:  # until the store is back no alert is known
            logger.warning("no alert is known yet, as the lake cannot be read: %s", in_one_line(error))
        else:
            self._unread = there - self._by_deployment.keys()

    def _read_unread(self) -> None:
        if self._unread is None:
            self._list()
        for deployment in sorted(self._unread or ()):
            try:
                self._of(deployment)
            except Exception as error:  # one table that cannot be read hides no alert of another
                logger.warning("alerts of %r cannot be read and are tried again: %s", deployment, in_one_line(error))

    def _of(self, deployment: str) -> DeploymentAlerts:
        alerts = self._by_deployment.get(deployment)
        if alerts is None:
            alerts = self._by_deployment[deployment] = DeploymentAlerts(self._lake, deployment)
            if self._unread is not None:
                self._unread.discard(deployment)
        return alerts


@contextmanager
def _all_tried() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Yield a context manager that keeps a deployment's error; the first error is raised after all were tried."""
    errors: list[Exception] = []

    @contextmanager
    def one(deployment: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            logger.warning("alerts of %r cannot be written and are tried again: %s", deployment, error)
            errors.append(error)

    yield one
    if errors:
        raise errors[0]
