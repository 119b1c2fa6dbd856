"""Sender of webhooks to one receiver: its messages, retries and records."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpcore

from lake.spec.vocabulary import AlertEvent
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.pending import held_back
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.controls.silences import Silence, silence_of
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.shared_cause import Callers, SharedCause, shared_causes, with_failing_callers
from monitor.notify.delivery import Attempt, DeliveryOutcome, deliver
from monitor.notify.formats import FORMATS
from monitor.notify.formats.summaries import SUMMARY_FORMATS
from monitor.notify.group import WebhookMessage, messages
from monitor.notify.held_by_cause import held_by_cause
from monitor.notify.message_incident import NO_NEWS, MessageIncident
from monitor.notify.retry_delays import next_delay
from monitor.notify.routing import RoutedAlerts, Routing
from monitor.notify.settings import WebhookSettings
from monitor.notify.sign import signed_headers
from monitor.notify.summary import EVERY, incidents_that_go_on, summary_id
from runtime.durations import duration
from runtime.outage_lines import OUTAGE

_SUMMARY_RETRY = timedelta(hours=1)
LONGEST_PAUSE = timedelta(minutes=1)
_LONGEST_RUN_SECONDS = 60.0
logger = logging.getLogger(__name__)


@dataclass
class _Retry:
    attempts: int
    due: datetime


@dataclass(frozen=True)
class _Settled:
    outcome: AlertEvent
    reason: str
    at: datetime


class WebhookSender:
    """Delivers each pending change of alerts to one receiver at least once, under the same webhook-id.

    Only alerts that the receiver is for are sent. Changes go through stages: those that are silenced, or that the
    message of their cause tells, are held back, the others grouped into messages, and a message is signed, sent and
    recorded, or, where it says nothing new of its incident, only recorded. What is new of one incident goes out in its
    order. After a failure nothing is sent to the receiver for up to a minute. What was tried is remembered until the
    process ends; a new process begins again with the first attempt. What was delivered while the lake took no row is
    not sent again; only its rows are tried again.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        alerts: AlertStore,
        pool: httpcore.ConnectionPool,
        external_url: str = "",
        silences: Sequence[Silence] | None = (),
        group: timedelta = timedelta(0),
        generator: random.Random | None = None,
        callers: Callable[[], Callers | None] = dict,
        open_incidents: Callable[[], Iterable[Incident]] = tuple,
    ) -> None:
        """`callers` gives who calls which deployment; while that is not known, None, nothing is sent.

        `open_incidents` gives those that a summary may be of.
        """
        self.settings = settings
        self.silences = silences
        """Also those that are over. None while they are not known: so long nothing is sent."""
        self.gone = False
        """Whether it answered 410: it is not asked again until the process ends."""
        self.is_failing = False
        """Whether something waits for the receiver, as it did not take the last message."""
        self.failed_attempts = 0
        """Attempts since the start that did not deliver, or could not be recorded."""
        self.problem: str | None = None
        """Why the last attempt did not deliver, or was not recorded, while anything is pending."""
        self._alerts = alerts
        self._pool = pool
        self._external_url = external_url
        self._group = group
        self._callers = callers
        self._open_incidents = open_incidents
        self.routing = Routing(settings)
        self._causes: Mapping[str, SharedCause] = {}
        self._routed = RoutedAlerts(frozenset(), frozenset())
        self._generator = generator or random.Random()  # noqa: S311 - only spreads retries
        self._retries: dict[str, _Retry] = {}
        self._unrecorded: dict[str, _Settled] = {}
        self._paused_until: datetime | None = None
        self._summary_problem: str | None = None
        self._summary_due = datetime(1970, 1, 1, tzinfo=UTC)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait no longer and no shorter than was planned, although the clock shows another time now."""
        self._paused_until = self._paused_until and self._paused_until + by
        self._summary_due += by
        for retry in self._retries.values():
            retry.due += by

    def run_due(self, now: datetime) -> datetime | None:
        """Send what is due and record what came of it; returns when the next is due, None if nothing is pending.

        Never raises. To be called by one thread at a time.
        """
        silences = self.silences  # another thread may give others meanwhile
        callers = self._callers()
        if silences is None or callers is None:
            return None
        try:
            changes = self._alerts.changes()
            self._causes = shared_causes(changes, callers, now)
            self._routed = self.routing.alerts(changes, self._causes)
            self._record_early_ends(silences, now)
            return self._run_due(silences, now)
        except Exception as error:
            self._fail(str(error))
            self._paused_until = now + LONGEST_PAUSE
            name = self.settings.name
            text, pause = "Webhook %s is tried again in %s: %s", duration(LONGEST_PAUSE)
            logger.warning(text, name, pause, error, extra={OUTAGE: f"webhook {name}"})
            return self._paused_until

    def _run_due(self, silences: Sequence[Silence], now: datetime) -> datetime | None:
        waiting: dict[str | None, datetime] = {}
        began = time.monotonic()
        held = self._hold_back([silence for silence in silences if now < silence.until], now)
        for message in messages(self._to_send(held, now), self._group):
            if self._paused_until is not None and now < self._paused_until:
                return self._paused_until
            if time.monotonic() - began > _LONGEST_RUN_SECONDS:
                return now  # with a later time, that signatures are not too old
            due = waiting.get(message.incident_id) or self._due(message, now)
            if due is not None:
                waiting[message.incident_id] = due
        if self._paused_until is not None and now < self._paused_until and waiting:
            return self._paused_until
        if not waiting and not self.gone:
            self.problem = self._summary_problem
            self.is_failing = self._summary_problem is not None
            self._summarize(silences, now)
        return min([*waiting.values(), *(silence.until for silence in held.values())], default=None)

    def _record_early_ends(self, silences: Sequence[Silence], now: datetime) -> None:
        """Write what silences ended before the time that their rows say, so that it counts also after a restart."""
        for change, row in held_back(self._alerts.changes(), self.settings.name):
            silence = silence_of(change, [one for one in silences if row.changed_at <= one.until])
            silence = silence or held_by_cause(change, self._causes)
            ended = silence.until if silence else now  # one that left the configuration says no time
            if row.details.until and ended <= now and ended < row.details.until:
                reason = f"the silence was ended at {ended.isoformat()}, before its time"
                self._alerts.record_silence(change, self.settings.name, reason, now, ended)

    def _hold_back(self, silences: Sequence[Silence], now: datetime) -> dict[str, Silence]:
        """Give the silences that hold back changes, by change_id, after a row for each says so."""
        ended = self._alerts.ended_in_silence(self.settings.name)
        held: dict[str, Silence] = {}
        for change in self._pending(now):
            if change.alert_id in ended:
                reason = "over before the silence that held back its beginning"
                self._alerts.record_deliveries([change], self.settings.name, AlertEvent.SILENCED, reason, now)
            elif change.change == AlertEvent.FIRING and (silence := silence_of(change, silences)):
                held[change.change_id] = silence
                self._alerts.record_silence(change, self.settings.name, silence.reason, now, silence.until)
            elif cause := held_by_cause(change, self._causes):
                held[change.change_id] = cause
                self._alerts.record_silence(change, self.settings.name, cause.comment, now, cause.until)
        return held

    def _to_send(self, held: Collection[str], now: datetime) -> list[AlertChange]:
        return [change for change in self._pending(now) if change.change_id not in held]

    def _pending(self, now: datetime) -> list[AlertChange]:
        return [change for change in self._alerts.pending(self.settings.name, now) if self._routed.takes(change)]

    def _due(self, message: WebhookMessage, now: datetime) -> datetime | None:
        """Try what is due; returns when to try again, None if the message is settled."""
        if now < message.ready_at:
            return message.ready_at
        retry = self._retries.get(message.message_id)
        return retry.due if retry and now < retry.due else self._send(message, now)

    def _send(self, message: WebhookMessage, now: datetime) -> datetime | None:
        if message.message_id in self._unrecorded:
            return self._record(message, now)
        changes = self._routed.known(self._alerts.changes_of(message.deployment))
        incident = MessageIncident(message, changes, self.settings.name)
        if not incident.has_news:
            self._unrecorded[message.message_id] = _Settled(AlertEvent.GROUPED, NO_NEWS, now)
            return self._record(message, now)
        if self.gone:
            return self._give_up(message, "the receiver answered 410 Gone before", now)
        attempt = self._attempt(message, incident, now)
        self.is_failing = attempt.outcome is DeliveryOutcome.FAILED
        if attempt.outcome is DeliveryOutcome.DELIVERED:
            others = len(message.changes) - 1
            reason = f"{attempt.reason}, in one message with {others} more" if others else attempt.reason
            self._unrecorded[message.message_id] = _Settled(AlertEvent.DELIVERED, reason, now)
            return self._record(message, now)
        self._fail(attempt.reason)
        if attempt.outcome is DeliveryOutcome.GONE:
            self.gone = True
            return self._give_up(message, attempt.reason, now)
        return self._plan_retry(message, attempt, now)

    def _summarize(self, silences: Sequence[Silence], now: datetime) -> None:
        """Send the summary of the day if it is due; what fails is tried again an hour later."""
        if now < self._summary_due:
            return

        def is_silenced(change: AlertChange) -> bool:
            current = silence_of(change, [one for one in silences if now < one.until])
            return (current or held_by_cause(change, self._causes)) is not None

        name, url = self.settings.name, self._external_url
        mine = self._routed.incidents(list(self._open_incidents()))
        found = incidents_that_go_on(mine, self._alerts.changes(), name, url, is_silenced, now)
        if not found:
            return
        body = SUMMARY_FORMATS[self.settings.format]([(one.firing, one.note) for one in found], name, url)
        headers = signed_headers(summary_id(found, name, now), now, body, self.settings.secret)
        attempt = deliver(self._pool, str(self.settings.url), body, headers, now)
        self.is_failing = attempt.outcome is DeliveryOutcome.FAILED
        # Also where a row cannot be written: a summary more is worse than one less.
        self._summary_due = now + (EVERY if attempt.outcome is DeliveryOutcome.DELIVERED else _SUMMARY_RETRY)
        if attempt.outcome is not DeliveryOutcome.DELIVERED:
            self._fail(f"the summary of the day: {attempt.reason}")
            self._summary_problem = self.problem
            self.gone = attempt.outcome is DeliveryOutcome.GONE
            return
        self.problem = self._summary_problem = None
        for one in found:
            self._alerts.record_summary([one.delivered], name, now)

    def _fail(self, reason: str) -> None:
        self.failed_attempts += 1
        self.problem = f"webhook {self.settings.name}: {reason}"

    def _attempt(self, message: WebhookMessage, incident: MessageIncident, now: datetime) -> Attempt:
        try:
            note = incident.note(self._external_url)
            is_named = self.routing.is_for
            contents = [with_failing_callers(change, self._causes, is_named) for change in incident.contents]
            body = FORMATS[self.settings.format](contents, self.settings.name, self._external_url, note)
            headers = signed_headers(message.message_id, now, body, self.settings.secret)
            return deliver(self._pool, str(self.settings.url), body, headers, now)
        except Exception as error:  # whatever is wrong with one message holds up no other, and is given up in the end
            return Attempt(DeliveryOutcome.FAILED, f"{type(error).__name__}: {error}")

    def _plan_retry(self, message: WebhookMessage, attempt: Attempt, now: datetime) -> datetime | None:
        retry = self._retries.get(message.message_id)
        attempts = retry.attempts + 1 if retry else 1
        delay = next_delay(attempts, attempt.retry_after, self._generator)
        if delay is None:
            return self._give_up(message, f"{attempts} attempts failed, the last one: {attempt.reason}", now)
        self._retries[message.message_id] = _Retry(attempts, now + delay)
        self._paused_until = now + (delay if attempt.retry_after else min(delay, LONGEST_PAUSE))
        name = self.settings.name
        text = "Webhook %s for %s: %s; next attempt in %s"
        logger.warning(
            text, name, message.message_id, attempt.reason, duration(delay), extra={OUTAGE: f"webhook {name}"}
        )
        return now + delay

    def _give_up(self, message: WebhookMessage, reason: str, now: datetime) -> datetime | None:
        for change in message.changes:
            logger.error(
                "Webhook %s did not get that %s of %s is %s: %s. Check the webhook's url and receiver.",
                self.settings.name, change.key.metric, change.key.deployment, change.change, reason,
            )  # fmt: skip
        self._unrecorded[message.message_id] = _Settled(AlertEvent.UNDELIVERABLE, reason, now)
        return self._record(message, now)

    def _record(self, message: WebhookMessage, now: datetime) -> datetime | None:
        """Write the rows of what is settled; returns when to try that again, None if they are written."""
        settled, name = self._unrecorded[message.message_id], self.settings.name
        try:
            self._alerts.record_deliveries(message.changes, name, settled.outcome, settled.reason, settled.at)
        except Exception as error:  # one table that takes no row holds up no other alert
            self._fail(f"what was sent cannot be recorded: {error}")
            due = now + LONGEST_PAUSE
            self._retries[message.message_id] = _Retry(0, due)
            logger.warning(
                "That %s was %s to webhook %s cannot be written to the lake and is tried again in %s: %s",
                message.message_id, settled.outcome, name, duration(LONGEST_PAUSE), error,
                extra={OUTAGE: f"webhook {name}"},
            )  # fmt: skip
            return due
        del self._unrecorded[message.message_id]
        self._retries.pop(message.message_id, None)
        return None
