"""The daily summary: incidents that go on, of those that a receiver knows and nobody looks after, and the digest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from lake.spec.alert_vocabulary import AlertEvent, DigestEvent
from monitor.alerting.alerts.change import AlertChange, digest
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.state import state_of
from monitor.notify.channels import Channel
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.digest.log import DigestPlan
from monitor.notify.digest.table import DigestPeriod, DigestTable, due_period, may_wait, table_of
from monitor.notify.holding import is_silenced
from monitor.notify.routing import Routed, Routing
from monitor.notify.texts.incident import IncidentNote, note_of

_EVERY = timedelta(days=1)
_RETRY = timedelta(hours=1)
_TOLD = (AlertEvent.DELIVERED, AlertEvent.SUMMARIZED)


@dataclass(frozen=True)
class GoingOn:
    """An incident that goes on."""

    firing: AlertChange
    """What the text is about: the first alert that still fires, a page before a warning."""
    delivered: AlertChange
    """The change of it that the receiver was sent last."""
    note: IncidentNote


def incidents_that_go_on(
    incidents: Iterable[Incident],
    changes: Sequence[AlertChange],
    receiver: str,
    external_url: str,
    is_silenced: Callable[[AlertChange], bool],
    now: datetime,
    every: timedelta = _EVERY,
) -> list[GoingOn]:
    """Return what is to be in a summary now; nothing within a day of the last one, or what `every` says.

    An incident is in it as long after the last message of it. One that somebody took note of, that recovers or that is
    silenced is left out. `changes` are those of all alerts, with what became of them.
    """
    told = [change for change in changes if change.details.receiver == receiver and change.change in _TOLD]
    if any(one.change == AlertEvent.SUMMARIZED and now - one.changed_at < every for one in told):
        return []
    last = {one.incident_id: one for one in sorted(told, key=lambda one: one.changed_at)}
    by_id = {change.change_id: change for change in changes}
    found = []
    for incident in incidents:
        message = last.get(incident.incident_id)
        delivered = by_id.get(message.delivery_of or "") if message else None
        state = state_of(incident.alerts)
        shown = state.foremost
        if message is None or delivered is None or shown is None or incident.is_quiet:
            continue
        if now - message.changed_at >= every and not is_silenced(shown):
            note = note_of(incident.incident_id, state, external_url)
            found.append(GoingOn(shown, delivered, note))
    return sorted(found, key=lambda one: (not one.firing.pages, one.firing.fired_at, one.firing.key.deployment))


def summary_id(incidents: Sequence[GoingOn], receiver: str, now: datetime) -> str:
    """Return the webhook-id of a summary: the same if it is tried again on the same day."""
    return digest("summary", receiver, now.date().isoformat(), *sorted(one.note.id for one in incidents))


class DailySummary:
    """Sends the summary of the day, and the digest, to one receiver; what fails is tried again an hour later.

    They are one message: a digest has the incidents that go on, whenever they were told last.
    """

    def __init__(self, channel: Channel, alerts: AlertStore, external_url: str, digests: DigestPlan | None) -> None:
        """Without `digests` there are none."""
        self.problem: str | None = None
        """Why the last one was not delivered, if so."""
        self._channel = channel
        self._alerts = alerts
        self._external_url = external_url
        self._digests = digests
        self._routing = Routing(channel.settings)
        self._due = self._digest_due = datetime(1970, 1, 1, tzinfo=UTC)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait as long as was planned, although the clock shows another time now."""
        self._due += by
        self._digest_due += by

    def send_due(self, routed: Routed) -> Attempt | None:
        """Send it if it is due and has anything in it, and record it; returns what came of that, None for no attempt.

        Raises what a format or the lake raises.
        """
        period = self._claimed(routed)
        if period is None and routed.now < self._due:
            return None
        name, now = self._channel.settings.name, routed.now
        every = _EVERY if period is None else timedelta(0)
        mine = routed.mine.incidents(routed.view.open_incidents)
        is_held = partial(is_silenced, routed=routed)
        found = incidents_that_go_on(mine, self._alerts.changes(), name, self._external_url, is_held, now, every)
        if not found and period is None:
            return None
        shown = [(one.firing, one.note) for one in found]
        message_id = summary_id(found, name, now) if period is None else period.id_of(name)
        attempt = self._channel.send_summary(shown, message_id, now, self._table(routed, period))
        is_delivered = attempt.outcome is DeliveryOutcome.DELIVERED
        what = "the summary of the day" if period is None else "the digest"
        self.problem = None if is_delivered else f"{self._channel.kind} {name}: {what}: {attempt.reason}"
        # Also where a row cannot be written: a summary more is worse than one less.
        self._due = now + (_EVERY if is_delivered else _RETRY)
        if period is not None and self._digests is not None:
            event = DigestEvent.SENT if is_delivered else DigestEvent.FAILED
            self._digests.log.note(name, period, event, now, attempt.reason)
        for one in found if is_delivered else ():
            self._alerts.record_summary([one.delivered], name, now)
        return attempt

    def _claimed(self, routed: Routed) -> DigestPeriod | None:
        """Return the period of the digest that is due and that nobody else sends; None where there is none."""
        plan, name, now = self._digests, self._channel.settings.name, routed.now
        if plan is None or routed.view.digest_rows is None or now < self._digest_due:
            return None
        period = due_period(plan.every, now, plan.zone)
        if period is None or plan.log.is_sent(name, period):
            return None
        if may_wait(period, routed.view.complete_until, now, plan.zone):
            return None
        # Whatever comes of it, and also where the lake gives an error.
        self._digest_due = now + _RETRY
        return period if plan.log.claim(name, period, now) else None

    def _table(self, routed: Routed, period: DigestPeriod | None) -> DigestTable | None:
        plan, rows = self._digests, routed.view.digest_rows
        if plan is None or rows is None or period is None:
            return None
        known = rows(period), period, self._routing.is_for
        return table_of(*known, plan.currency, plan.log.installation, routed.view.complete_until)
