"""Sender of messages to one receiver, by webhook or mail, which are tried until they arrive."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

import msgspec

from lake.spec.alert_vocabulary import AlertEvent
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.shared_cause import with_failing_callers
from monitor.notify.channels import Channel
from monitor.notify.daily_summary import DailySummary
from monitor.notify.delivery import Attempt, DeliveryOutcome
from monitor.notify.digest.log import DigestPlan
from monitor.notify.holding import hold_back
from monitor.notify.messages import NO_NEWS, MessageIncident, WebhookMessage, messages
from monitor.notify.receiver import Receiver
from monitor.notify.retries import MOST_ATTEMPTS, Retries, Settled
from monitor.notify.routing import Routed
from monitor.notify.texts.incident import also_of
from monitor.notify.users_words import MessageWords, UsersWordsReader
from monitor.notify.view import NotificationView
from runtime.durations import duration
from runtime.outage_lines import OUTAGE

LONGEST_PAUSE = timedelta(minutes=1)
_LONGEST_RUN_SECONDS = 60.0
_GONE_BEFORE = "the receiver answered 410 Gone before"
logger = logging.getLogger(__name__)


class MessageSender(Receiver):
    """Delivers each pending change of alerts to one receiver at least once, under the same id.

    What is new of one incident goes out in its order. After a failure nothing is sent to the receiver for up to a
    minute. What was tried is remembered until the process ends; a new process begins again with the first attempt. What
    was delivered while the lake took no row is not sent again; only its rows are tried again.
    """

    pause = LONGEST_PAUSE

    def __init__(
        self,
        channel: Channel,
        alerts: AlertStore,
        external_url: str = "",
        group: timedelta = timedelta(0),
        digests: DigestPlan | None = None,
        users_words: UsersWordsReader | None = None,
    ) -> None:
        """`group` is how long changes of one incident are gathered for one message; without `digests` there are none.

        `users_words` reads texts for a receiver that may have some.
        """
        super().__init__(channel.settings, alerts, external_url)
        self.kind = channel.kind
        self._channel = channel
        self._group = group
        self._users_words = (
            MessageWords(users_words, channel.settings.name) if users_words and channel.settings.texts else None
        )
        self._retries = Retries()
        self._summary = DailySummary(channel, alerts, external_url, digests)

    def run_due(self, view: NotificationView, now: datetime) -> datetime | None:
        """Send what is due, but nothing while silences or callers are not known."""
        return None if view.silences is None or view.callers is None else super().run_due(view, now)

    def clock_was_set(self, by: timedelta) -> None:
        """Wait no longer and no shorter than was planned, although the clock shows another time now."""
        super().clock_was_set(by)
        self._retries.clock_was_set(by)
        self._summary.clock_was_set(by)

    def _send_due(self, routed: Routed) -> datetime | None:
        waiting: dict[str | None, datetime] = {}
        now, began = routed.now, time.monotonic()
        held = hold_back(self._alerts, routed)
        pending = [change for change in routed.pending(self._alerts) if change.change_id not in held]
        for message in messages(pending, self._group):
            if rests_until := self._rests_until(now):
                return rests_until
            if time.monotonic() - began > _LONGEST_RUN_SECONDS:
                return now  # with a later time, that signatures are not too old
            due = waiting.get(message.incident_id) or self._take(message, routed)
            if due is not None:
                waiting[message.incident_id] = due
        if waiting and (rests_until := self._rests_until(now)):
            return rests_until
        if not self.gone:
            self._summarize(routed, is_waiting=bool(waiting))
        return min([*waiting.values(), *(silence.until for silence in held.values())], default=None)

    def _take(self, message: WebhookMessage, routed: Routed) -> datetime | None:
        """Take a message through the last stages; returns when to try again, None once its rows are written."""
        now = routed.now
        if now < message.ready_at:
            return message.ready_at
        if due := self._retries.due(message.message_id, now):
            return due
        settled = self._retries.settled(message.message_id) or self._settle(message, routed)
        return self._record(message, settled, now) if settled else self._retries.due(message.message_id, now)

    def _settle(self, message: WebhookMessage, routed: Routed) -> Settled | None:
        """Drop a message or send it; returns what came of it, None where it is tried again."""
        now = routed.now
        known = routed.mine.known(self._alerts.changes_of(message.deployment))
        incident = MessageIncident(message, known, self.settings.name)
        if not incident.has_news:
            return Settled(AlertEvent.GROUPED, NO_NEWS, now)
        if self.gone:
            return self._given_up(message, _GONE_BEFORE, now)
        attempt = self._attempt(message, incident, routed)
        self.is_failing = attempt.outcome is DeliveryOutcome.FAILED
        if attempt.outcome is DeliveryOutcome.DELIVERED:
            if self._users_words:
                self._users_words.sent(message.message_id, incident.contents)
            others = len(message.changes) - 1
            reason = f"{attempt.reason}, in one message with {others} more" if others else attempt.reason
            return Settled(AlertEvent.DELIVERED, reason, now)
        self._fail(attempt.reason, now)
        if attempt.outcome is DeliveryOutcome.GONE:
            self.gone = True
            return self._given_up(message, attempt.reason, now)
        return self._try_later(message, attempt, now)

    def _attempt(self, message: WebhookMessage, incident: MessageIncident, routed: Routed) -> Attempt:
        try:
            note = incident.note(self._external_url)
            # A receiver is also told what its deployments fail by, of which it may read no texts.
            if self._users_words and self.routing.is_for(message.deployment):
                words = self._users_words.of(message.message_id, incident.contents, routed.now)
                note = msgspec.structs.replace(note, users_words=words)
            is_named = self.routing.is_for
            if note.status == AlertEvent.FIRING:
                also = also_of(routed.view.related_to(message.incident_id), is_named)
                note = msgspec.structs.replace(note, also=also)
            contents = [with_failing_callers(change, routed.causes, is_named) for change in incident.contents]
            return self._channel.send_alerts(contents, message.message_id, routed.now, note)
        except Exception as error:  # whatever is wrong with one message holds up no other, and is given up in the end
            return Attempt(DeliveryOutcome.FAILED, f"{type(error).__name__}: {error}")

    def _try_later(self, message: WebhookMessage, attempt: Attempt, now: datetime) -> Settled | None:
        delay = self._retries.failed(message.message_id, attempt.retry_after, now)
        if delay is None:
            return self._given_up(message, f"{MOST_ATTEMPTS} attempts failed, the last one: {attempt.reason}", now)
        self._paused_until = now + (delay if attempt.retry_after else min(delay, LONGEST_PAUSE))
        name = self.settings.name
        text, kind = "%s %s for %s: %s; next attempt in %s", self.kind.capitalize()
        logger.warning(
            text, kind, name, message.message_id, attempt.reason, duration(delay), extra={OUTAGE: f"webhook {name}"}
        )
        return None

    def _given_up(self, message: WebhookMessage, reason: str, now: datetime) -> Settled:
        for change in message.changes:
            logger.error(
                "%s %s did not get that %s of %s is %s: %s. Check its settings and the receiver.",
                self.kind.capitalize(), self.settings.name,
                change.key.metric, change.key.deployment, change.change, reason,
            )  # fmt: skip
        return Settled(AlertEvent.UNDELIVERABLE, reason, now)

    def _record(self, message: WebhookMessage, settled: Settled, now: datetime) -> datetime | None:
        """Write the rows of what is settled; returns when to try that again, None if they are written."""
        name = self.settings.name
        try:
            self._alerts.record_deliveries(message.changes, name, settled.outcome, settled.reason, settled.at)
        except Exception as error:  # one table that takes no row holds up no other alert
            self._fail(f"what was sent cannot be recorded: {error}", now)
            due = now + LONGEST_PAUSE
            self._retries.keep(message.message_id, settled, due)
            logger.warning(
                "That %s was %s to %s %s cannot be written to the lake and is tried again in %s: %s",
                message.message_id, settled.outcome, self.kind, name, duration(LONGEST_PAUSE), error,
                extra={OUTAGE: f"webhook {name}"},
            )  # fmt: skip
            return due
        self._retries.forget(message.message_id)
        if self._users_words:
            self._users_words.forget(message.message_id)
        return None

    def _summarize(self, routed: Routed, *, is_waiting: bool) -> None:
        """Send the summary of the day if it is due; a message that waits for its next attempt keeps its problem."""
        if not is_waiting:
            self.problem, self.is_failing = self._summary.problem, self._summary.problem is not None
        attempt = self._summary.send_due(routed)
        if attempt is None:
            return
        is_delivered = attempt.outcome is DeliveryOutcome.DELIVERED
        if not (is_delivered and is_waiting):
            self.problem = self._summary.problem
            self.is_failing = attempt.outcome is DeliveryOutcome.FAILED
        self.gone = attempt.outcome is DeliveryOutcome.GONE
        if not is_delivered:
            self.failed_attempts += 1
            self.last_error = routed.now, attempt.reason
