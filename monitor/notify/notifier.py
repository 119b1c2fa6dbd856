"""Sends what is pending to every receiver, each on its own schedule, and says when it wants to be called again."""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import httpx

from monitor.alert_change import AlertChange, DeliveryKind
from monitor.alerts import AlertBook
from monitor.notify.body import webhook_body
from monitor.notify.deliver import Attempt, Outcome, deliver
from monitor.notify.schedule import next_delay
from monitor.notify.settings import WebhookSettings
from monitor.notify.sign import signed_headers

_TIMEOUT_SECONDS = 10.0
_LONGEST_REST = timedelta(minutes=1)
_log = logging.getLogger(__name__)


@dataclass
class _Retry:
    attempts: int
    due: datetime


@dataclass(frozen=True)
class _Settled:
    outcome: DeliveryKind
    reason: str
    at: datetime


@dataclass
class _Receiver:
    settings: WebhookSettings
    retries: dict[str, _Retry] = field(default_factory=dict)
    """By change_id, what has failed so far."""
    unrecorded: dict[str, _Settled] = field(default_factory=dict)
    """By change_id, what is settled and still lacks its row in the lake."""
    rests_until: datetime | None = None
    gone: bool = False


class Notifier:
    """Delivers each pending change of the alert book to each receiver at least once, under the same webhook-id.

    Changes of one alert go out in their order. After a failure the receiver has a rest of up to a minute, so that a
    dead one costs one time-out a run and holds up no other. What was tried is remembered until the process ends; a
    new process begins again with the first attempt. What was delivered while the lake took no row is not sent again;
    only its row is tried again.
    """

    def __init__(
        self,
        webhooks: Sequence[WebhookSettings],
        book: AlertBook,
        external_url: str = "",
        client: httpx.Client | None = None,
        generator: random.Random | None = None,
    ) -> None:
        """`external_url` is where a person finds our pages; `client` brings its time-out, without one it is 10 s."""
        names = Counter(webhook.name for webhook in webhooks)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise ValueError(f"webhook name {twice[0]!r} is used twice; give every webhook a name of its own")
        self._receivers = [_Receiver(webhook) for webhook in webhooks]
        self._book = book
        self._external_url = external_url
        self._client = client or httpx.Client(timeout=_TIMEOUT_SECONDS)
        self._generator = generator or random.Random()  # noqa: S311 - only spreads retries
        self._failed_attempts = 0

    @property
    def failed_attempts(self) -> int:
        """Attempts since the start that did not deliver."""
        return self._failed_attempts

    def run_due(self, now: datetime) -> datetime | None:
        """Send what is due and record what came of it; returns when the next is due, None if nothing is pending.

        Takes up to one time-out a receiver. To be called from one thread at a time.
        """
        due = [at for receiver in self._receivers if (at := self._serve_safely(receiver, now)) is not None]
        return min(due, default=None)

    def _serve_safely(self, receiver: _Receiver, now: datetime) -> datetime | None:
        try:
            return self._serve(receiver, now)
        except Exception as error:  # whatever is wrong with one receiver holds up no other
            self._failed_attempts += 1
            receiver.rests_until = now + _LONGEST_REST
            _log.warning("Webhook %s is tried again in %s: %s", receiver.settings.name, _LONGEST_REST, error)
            return receiver.rests_until

    def _serve(self, receiver: _Receiver, now: datetime) -> datetime | None:
        if receiver.rests_until is not None and now < receiver.rests_until:
            return receiver.rests_until if self._book.pending(receiver.settings.name, now) else None
        waiting: dict[str, datetime] = {}
        for change in self._book.pending(receiver.settings.name, now):
            if change.alert_id in waiting:
                continue
            retry = receiver.retries.get(change.change_id)
            due = retry.due if retry and now < retry.due else self._send(receiver, change, now)
            if due is not None:
                waiting[change.alert_id] = due
            if receiver.rests_until is not None and now < receiver.rests_until:
                return receiver.rests_until
        return min(waiting.values(), default=None)

    def _send(self, receiver: _Receiver, change: AlertChange, now: datetime) -> datetime | None:
        """Try once, if the receiver still wants messages; returns when to try again, None if this change is settled."""
        if change.change_id in receiver.unrecorded:
            return self._record(receiver, change, now)
        if receiver.gone:
            return self._give_up(receiver, change, "the receiver answered 410 Gone before", now)
        attempt = self._attempt(receiver.settings, change, now)
        if attempt.outcome is Outcome.DELIVERED:
            receiver.unrecorded[change.change_id] = _Settled("delivered", attempt.reason, now)
            return self._record(receiver, change, now)
        self._failed_attempts += 1
        if attempt.outcome is Outcome.GONE:
            receiver.gone = True
            return self._give_up(receiver, change, attempt.reason, now)
        return self._plan_retry(receiver, change, attempt, now)

    def _plan_retry(self, receiver: _Receiver, change: AlertChange, attempt: Attempt, now: datetime) -> datetime | None:
        retry = receiver.retries.get(change.change_id)
        attempts = retry.attempts + 1 if retry else 1
        delay = next_delay(attempts, attempt.retry_after, self._generator)
        if delay is None:
            return self._give_up(receiver, change, f"{attempts} attempts failed, the last one: {attempt.reason}", now)
        receiver.retries[change.change_id] = _Retry(attempts, now + delay)
        receiver.rests_until = now + (delay if attempt.retry_after else min(delay, _LONGEST_REST))
        name = receiver.settings.name
        _log.warning("Webhook %s for %s: %s; next attempt in %s", name, change.change_id, attempt.reason, delay)
        return now + delay

    def _attempt(self, webhook: WebhookSettings, change: AlertChange, now: datetime) -> Attempt:
        try:
            body = webhook_body(change, webhook.name, self._external_url)
            headers = signed_headers(change.change_id, now, body, webhook.secret)
            return deliver(self._client, str(webhook.url), body, headers, now)
        except Exception as error:  # whatever is wrong with one change holds up no other, and is given up in the end
            return Attempt(Outcome.FAILED, f"{type(error).__name__}: {error}")

    def _give_up(self, receiver: _Receiver, change: AlertChange, reason: str, now: datetime) -> datetime | None:
        _log.error(
            "Webhook %s was not told that %s of %s is %s: %s. Check the webhook's url and receiver.",
            receiver.settings.name, change.key.metric, change.key.deployment, change.change, reason,
        )  # fmt: skip
        receiver.unrecorded[change.change_id] = _Settled("undeliverable", reason, now)
        return self._record(receiver, change, now)

    def _record(self, receiver: _Receiver, change: AlertChange, now: datetime) -> datetime | None:
        """Write the row of what is settled; returns when to try that again, None if it is written."""
        settled, name = receiver.unrecorded[change.change_id], receiver.settings.name
        try:
            self._book.record_delivery(change, name, settled.outcome, settled.reason, settled.at)
        except Exception as error:  # one table that takes no row holds up no other alert
            self._failed_attempts += 1
            due = now + _LONGEST_REST
            receiver.retries[change.change_id] = _Retry(0, due)
            _log.warning(
                "That %s was %s to webhook %s cannot be written to the lake and is tried again in %s: %s",
                change.change_id, settled.outcome, name, _LONGEST_REST, error,
            )  # fmt: skip
            return due
        del receiver.unrecorded[change.change_id]
        receiver.retries.pop(change.change_id, None)
        return None
