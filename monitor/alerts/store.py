"""The life of alerts, kept in the lake: what fired, what is over, and who has been told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec

from lake import ALERTS, Lake, LostRaceError, PassTransaction, Table, in_one_line
from monitor.alerts.change import AlertChange, AlertDetails, DeliveryKind, WorstAnswer, digest, from_row, to_row
from monitor.alerts.floor_alerts import floor_news
from monitor.alerts.obsolete import IsWorse, close_obsolete, refired
from monitor.alerts.pending import ended_in_silence, pending
from monitor.floors import FloorChange
from monitor.regression import Judgement, Reading, StreamKey, Transition, Verdict

_APP_ID = "alerts"
_ATTEMPTS = 10
_MOMENT = timedelta(microseconds=1)
_NEWS_AFTER: Mapping[Verdict, tuple[Verdict, ...]] = {
    "undecided": ("system", "judge", "both"),
    "judge": ("system", "both"),
}
"""Which verdicts are told after which."""
_log = logging.getLogger(__name__)


@dataclass
class _Shelf:
    """Alerts of one deployment as its table has them; without a transaction they are to be read (again)."""

    table: Table
    changes: list[AlertChange] = field(default_factory=list)
    transaction: PassTransaction | None = None

    def load(self) -> PassTransaction:
        if self.transaction is None:
            # Begun before the rows are read: what it appends knows all of them, or is refused.
            transaction = PassTransaction(self.table, counters=[_APP_ID])
            rows = self.table.read().to_pylist()
            self.changes = sorted((from_row(row) for row in rows), key=lambda change: change.changed_at)
            self.transaction = transaction
        return self.transaction


class AlertStore:
    """Turns regressions that begin or end into rows of `alerts`, each once, and knows which are not yet delivered.

    A change is a row first and a delivery second: what `pending` gives was recorded and not settled with that
    receiver, so after a crash between the two it is delivered late, not never. Transitions that the table already
    has, as after a restart, are ignored: an open alert is not opened twice, and nothing older than a stream's last
    change is recorded. An open alert that reaches the tier `page` is one more `firing` change of it. Several books on
    one lake do not repeat each other. Safe for use by several threads.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._lock = threading.RLock()
        self._shelves: dict[str, _Shelf] = {}
        self._unrecorded: list[Transition] = []
        self._unread: set[str] | None = None
        """Deployments whose alerts are still to be read; None until they could be listed."""
        self._list()

    def reload(self, deployments: Iterable[str | None]) -> None:
        """Begin again with what the tables of `deployments` say, as after one has left the lake."""
        with self._lock:
            self._shelves.clear()
            self._unrecorded.clear()
            self._unread = {deployment for deployment in deployments if deployment is not None}

    def record(self, transitions: Sequence[Transition], now: datetime) -> list[AlertChange]:
        """Write the transitions that are news; returns them as recorded.

        If the lake fails its error is raised, once all deployments have been tried, and what it refused is tried again
        at the next call.
        """
        with self._lock, _all_tried() as one:
            self._unrecorded += transitions
            recorded: list[AlertChange] = []
            for deployment in dict.fromkeys(transition.key.deployment for transition in self._unrecorded):
                mine = [t for t in self._unrecorded if t.key.deployment == deployment]
                with one(deployment):
                    recorded += self._append(self._shelf(deployment), partial(_news, transitions=mine, now=now))
                    self._unrecorded = [t for t in self._unrecorded if t.key.deployment != deployment]
            return recorded

    def record_floors(self, deployment: str, found: Sequence[FloorChange], now: datetime) -> list[AlertChange]:
        """Write what floors of a deployment found and is news; returns it as recorded.

        If the lake fails its error is raised; floors find it again, as they look at what is recorded.
        """
        with self._lock:
            return self._append(self._shelf(deployment), partial(floor_news, found=found, now=now))

    def close_obsolete(
        self,
        readings: Mapping[StreamKey, Reading],
        newest: Mapping[StreamKey, datetime],
        deployments: Collection[str],
        now: datetime,
    ) -> list[AlertChange]:
        """Resolve alerts that no evidence can end any more; returns the changes.

        That is so where the stream, computed anew as after other settings, has been read past the alert's beginning
        and is not regressed or learns anew; where `newest`, the streams of each metric's newest version with when their
        newest score was made, has another version; and where no score was made, and nothing of the alert recorded, for
        `IDLE`. `deployments` are those whose scores have all been read: a stream that lacks some seems to learn.
        """
        with self._lock, _all_tried() as one:
            resolved: list[AlertChange] = []
            for alert in self.active():
                if alert.is_floor or alert.key.deployment not in deployments:
                    continue
                change = close_obsolete(alert, readings.get(alert.key), newest, now)
                if change is not None:
                    with one(alert.key.deployment):
                        resolved += self._append(self._shelf(alert.key.deployment), partial(_new, changes=[change]))
            return resolved

    def refire(
        self,
        readings: Mapping[StreamKey, Reading],
        judgements: Mapping[StreamKey, Judgement],
        is_worse: IsWorse,
        now: datetime,
    ) -> list[AlertChange]:
        """Fire anew where an alert has ended for want of scores that have come again and are no better."""

        def news(known: Sequence[AlertChange]) -> list[AlertChange]:
            found = [_change(transition, None, now) for transition in refired(known, readings, judgements, is_worse)]
            return [replace(change, reason="its scores have come again, and are no better") for change in found]

        with self._lock, _all_tried() as one:
            fired: list[AlertChange] = []
            for deployment in {change.key.deployment for change in self.changes() if change.details.idle_since}:
                with one(deployment):
                    fired += self._append(self._shelf(deployment), news)
            return fired

    def update_verdicts(
        self, judgements: Mapping[StreamKey, Judgement], readings: Mapping[StreamKey, Reading], now: datetime
    ) -> list[AlertChange]:
        """Say, by one more `firing` change, what an open alert whose verdict was undecided turned out to be.

        So too where the judge was what had changed, and now the application has.
        """
        with self._lock, _all_tried() as one:
            decided: list[AlertChange] = []
            for alert in self.active():
                judgement = judgements.get(alert.key)
                if judgement and judgement.verdict in _NEWS_AFTER.get(alert.verdict or "undecided", ()):
                    change = _decided(alert, judgement, readings[alert.key], now)
                    with one(alert.key.deployment):
                        decided += self._append(self._shelf(alert.key.deployment), partial(_new, changes=[change]))
            return decided

    def record_deliveries(
        self,
        changes: Sequence[AlertChange],
        receiver: str,
        outcome: DeliveryKind,
        reason: str,
        at: datetime,
    ) -> None:
        """Write what came of telling `receiver` of changes of one deployment, all in one commit or none.

        A second time is no row.
        """
        rows = [_delivery(change, receiver, outcome, reason, at) for change in changes]
        with self._lock:
            self._append(self._shelf(changes[0].key.deployment), partial(_new, changes=rows))

    def record_silence(self, change: AlertChange, receiver: str, reason: str, at: datetime, until: datetime) -> None:
        """Write until when a silence keeps a change from `receiver`; no row where the last one says the same."""

        def news(known: Sequence[AlertChange]) -> list[AlertChange]:
            mine = (c.details for c in known if c.delivery_of == change.change_id)
            ends = [details.until for details in mine if details.receiver == receiver and details.until]
            if ends[-1:] == [until]:
                return []
            return [_delivery(change, receiver, "silenced", reason, at, until, len(ends))]

        with self._lock:
            self._append(self._shelf(change.key.deployment), news)

    def pending(self, receiver: str, now: datetime) -> list[AlertChange]:
        """Give the changes that this receiver has still to be told of, oldest first, see `monitor.alerts.pending`."""
        return pending(self.changes(), receiver, now)

    def ended_in_silence(self, receiver: str) -> set[str]:
        """Give the ids of alerts that were over before the silence that held them; see `monitor.alerts.pending`."""
        return ended_in_silence(self.changes(), receiver)

    def active(self) -> list[AlertChange]:
        """Give the `firing` changes of alerts that are not resolved, oldest first."""
        with self._lock:
            last = {c.key: c for c in self.changes() if c.change in ("firing", "resolved")}
        return [change for change in last.values() if change.change == "firing"]

    def changes(self) -> list[AlertChange]:
        """Give every change of every alert, oldest first."""
        with self._lock:
            self._read_unread()
            every = [change for shelf in self._shelves.values() for change in shelf.changes]
        return sorted(every, key=lambda change: change.changed_at)

    def _list(self) -> None:
        try:
            there = {deployment for deployment in self._lake.deployments() if deployment is not None}
        except Exception as error:  # what is told meanwhile is told of no alert, and the store may be back soon
            _log.warning("no alert is known yet, as the lake cannot be read: %s", in_one_line(error))
        else:
            self._unread = there - self._shelves.keys()

    def _read_unread(self) -> None:
        if self._unread is None:
            self._list()
        for deployment in sorted(self._unread or ()):
            try:
                self._shelf(deployment)
            except Exception as error:  # one table that cannot be read hides no alert of another
                _log.warning("alerts of %r cannot be read and are tried again: %s", deployment, in_one_line(error))

    def _shelf(self, deployment: str) -> _Shelf:
        shelf = self._shelves.get(deployment)
        if shelf is None:
            shelf = _Shelf(self._lake.table(ALERTS, deployment))
            shelf.load()
            self._shelves[deployment] = shelf
            if self._unread is not None:
                self._unread.discard(deployment)
        return shelf

    def _append(self, shelf: _Shelf, news: Callable[[Sequence[AlertChange]], list[AlertChange]]) -> list[AlertChange]:
        for _ in range(_ATTEMPTS):
            transaction = shelf.load()
            changes = news(shelf.changes)
            if not changes:
                return []
            try:
                transaction.append(ALERTS.rows([to_row(change) for change in changes]))
            except LostRaceError:
                shelf.transaction = None
                continue
            shelf.changes += changes
            return changes
        raise LostRaceError(f"{shelf.table.uri} was changed by others {_ATTEMPTS} times in a row; run fewer monitors")


@contextmanager
def _all_tried() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Give what keeps the error of one deployment until all have been tried; the first is raised then."""
    errors: list[Exception] = []

    @contextmanager
    def one(deployment: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            _log.warning("alerts of %r cannot be written and are tried again: %s", deployment, error)
            errors.append(error)

    yield one
    if errors:
        raise errors[0]


def _news(known: Sequence[AlertChange], transitions: Sequence[Transition], now: datetime) -> list[AlertChange]:
    last = {change.key: change for change in known if change.change in ("firing", "resolved")}
    news: list[AlertChange] = []
    for transition in transitions:
        before = last.get(transition.key)
        is_open = before is not None and before.change == "firing"
        is_raised = before is not None and (before.tier, transition.reading.tier) == ("warn", "page")
        if is_open is (transition.change == "firing") and not (is_open and is_raised):
            continue
        if before and transition.at <= before.changed_at:
            continue
        change = _change(transition, before if is_open else None, now)
        last[transition.key] = change
        news.append(change)
    return news


def _new(known: Sequence[AlertChange], changes: Sequence[AlertChange]) -> list[AlertChange]:
    ids = {old.change_id for old in known}
    return [change for change in changes if change.change_id not in ids]


def _delivery(
    change: AlertChange,
    receiver: str,
    outcome: DeliveryKind,
    reason: str,
    at: datetime,
    until: datetime | None = None,
    rows_before: int = 0,
) -> AlertChange:
    return AlertChange(
        change_id=digest(change.change_id, receiver, *([until.isoformat(), str(rows_before)] if until else [])),
        alert_id=change.alert_id,
        key=change.key,
        change=outcome,
        changed_at=at,
        details=AlertDetails(receiver=receiver, fired_at=change.details.fired_at, until=until),
        reason=reason,
        delivery_of=change.change_id,
    )


def _change(transition: Transition, opened: AlertChange | None, now: datetime) -> AlertChange:
    key, reading = transition.key, transition.reading
    fired_at = opened.fired_at if opened else transition.at
    alert_id = (
        opened.alert_id
        if opened
        else digest(key.deployment, key.metric, key.metric_version, transition.at.astimezone(UTC).isoformat())
    )
    return AlertChange(
        change_id=digest(alert_id, transition.change, *(["page"] if opened and transition.change == "firing" else [])),
        alert_id=alert_id,
        key=key,
        change=transition.change,
        changed_at=transition.at,
        since=reading.since,
        reference_mean=reading.reference_mean,
        current_mean=reading.since_mean,
        current_lower=reading.since_lower,
        current_upper=reading.since_upper,
        log_evidence=reading.log_evidence,
        log_threshold=reading.log_threshold,
        verdict=_verdict(transition, opened),
        reason=f"the evidence of a regression reached the threshold of the tier {reading.tier or 'warn'}"
        if transition.change == "firing"
        else "the evidence that quality is back reached the threshold",
        details=AlertDetails(
            fired_at=fired_at,
            tier=reading.tier or (opened.tier if opened else None),
            recorded_at=now,
            since_earliest=reading.since_earliest,
            since_latest=reading.since_latest,
            drop=reading.drop,
            drop_lower=reading.drop_lower,
            drop_upper=reading.drop_upper,
            false_alarm_every_seconds=reading.false_alarm_every.total_seconds(),
            lower_is_better=reading.lower_is_better,
            observations=reading.observations,
            within=reading.within,
            mix=reading.mix,
            segments=reading.segments,
            most_worsened=reading.most_worsened,
            **_told(transition.judgement),
            worst=tuple(WorstAnswer(*answer) for answer in transition.worst),
        ),
    )


def _verdict(transition: Transition, opened: AlertChange | None) -> Verdict:
    """What was known before stays so where nothing is known now, and where it is over."""
    found = transition.judgement.verdict
    known = opened.verdict if opened else None
    return known if known and (found == "undecided" or transition.change == "resolved") else found


def _decided(alert: AlertChange, judgement: Judgement, reading: Reading, now: datetime) -> AlertChange:
    return replace(
        alert,
        # An alert may turn out to be the same again, after its next tier said otherwise.
        change_id=digest(alert.change_id, judgement.verdict),
        # After the change that it adds to, and before the end of the next batch.
        changed_at=max(alert.changed_at + _MOMENT, reading.latest or alert.changed_at),
        verdict=judgement.verdict,
        reason=f"the verdict was {alert.verdict or 'undecided'} and is now {judgement.verdict}",
        details=msgspec.structs.replace(alert.details, recorded_at=now, **_told(judgement)),
    )


def _told(judgement: Judgement) -> dict[str, Any]:
    shift = judgement.shift
    ends = (shift.mean, shift.lower, shift.upper) if shift else (None, None, None)
    names = ("judge_shift", "judge_shift_lower", "judge_shift_upper")
    return {"can_drift": judgement.can_drift} | dict(zip(names, ends, strict=True))
