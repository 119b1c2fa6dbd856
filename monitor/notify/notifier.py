"""Threads that send alerts, one for each receiver, so that none delays another or the monitor."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.store import AlertStore
from monitor.notify.alertmanager import AlertmanagerSender
from monitor.notify.channels import MailChannel, WebhookChannel
from monitor.notify.digest.log import DigestPlan
from monitor.notify.mail import MailServer
from monitor.notify.message_sender import MessageSender
from monitor.notify.network import TIMEOUT_SECONDS, connections
from monitor.notify.receiver import Receiver, ReceiverState
from monitor.notify.routing import is_of_all
from monitor.notify.settings import MailSettings, WebhookSettings
from monitor.notify.users_words import UsersWordsReader
from monitor.notify.view import NotificationView
from runtime.clocks import ClockSteps

_LONGEST_SLEEP_SECONDS = 60.0
_SHUTDOWN_SECONDS = 5.0
_NOTHING = NotificationView()
logger = logging.getLogger(__name__)


class Notifier:
    """Delivers each pending change of alerts to each receiver at least once; its stages are those of `receiver.py`."""

    def __init__(
        self,
        webhooks: Sequence[WebhookSettings],
        alerts: AlertStore,
        external_url: str = "",
        *,
        mail: MailSettings | None = None,
        view: NotificationView = _NOTHING,
        internal_hosts: Collection[str] = (),
        group: timedelta = timedelta(0),
        digests: DigestPlan | None = None,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] | None = None,
        users_words: UsersWordsReader | None = None,
    ) -> None:
        """`external_url` is where a person finds our pages, `timeout` the seconds that one attempt may take.

        Changes of one incident are gathered for `group`; without `digests` none is sent. Without `monotonic`, the
        seconds of a clock that is never set, `clock` is taken for such a one. `users_words` reads texts for receivers
        that may have some.
        """
        mailed = mail.receivers if mail else ()
        names = Counter(one.name for one in (*webhooks, *mailed))
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            kind = "receiver" if mailed else "webhook"
            raise ValueError(f"{kind} name {twice[0]!r} is used twice; give every {kind} a name of its own")
        self.view = view
        """What receivers are notified by; the monitor replaces it at each refresh."""
        self._clock = clock
        self._monotonic = monotonic or (lambda: clock().timestamp())
        send = partial(
            MessageSender,
            alerts=alerts,
            external_url=external_url,
            group=group,
            digests=digests,
            users_words=users_words,
        )
        self._receivers: list[Receiver] = []
        for webhook in webhooks:
            pool = connections(internal_hosts, timeout)
            self._receivers.append(
                AlertmanagerSender(webhook, alerts, pool, external_url)
                if webhook.format == "alertmanager"
                else send(WebhookChannel(webhook, pool, external_url))
            )
        if mail is not None:
            server = MailServer(mail, internal_hosts)
            self._receivers += [send(MailChannel(one, server, external_url)) for one in mail.receivers]
        self._wake_ups = [threading.Event() for _ in self._receivers]
        self._stopping = threading.Event()
        self._logged: set[str] = set()
        """Alerts that fire and of which the log said that no receiver is for them."""

    @property
    def failed_attempts(self) -> int:
        """Attempts since the start that did not deliver."""
        return sum(receiver.failed_attempts for receiver in self._receivers)

    @property
    def disabled(self) -> dict[str, bool]:
        """By name, whether the receiver answered 410 and is not asked again by this process."""
        return {receiver.settings.name: receiver.gone for receiver in self._receivers}

    @property
    def failing(self) -> dict[str, bool]:
        """By name, whether messages wait for the receiver, as it did not take the last one."""
        return {receiver.settings.name: receiver.is_failing for receiver in self._receivers}

    @property
    def problem(self) -> str | None:
        """What the last attempts at receivers met, where they failed."""
        return "; ".join(problem for one in self._receivers if (problem := one.problem)) or None

    def states(self, now: datetime) -> tuple[ReceiverState, ...]:
        """Return how each receiver is."""
        return tuple(receiver.state(self.view, now) for receiver in self._receivers)

    def without_receiver(self, deployments: Iterable[str]) -> frozenset[str]:
        """Return the deployments that no receiver is for; none where there are no receivers at all."""
        if not self._receivers:
            return frozenset()
        return frozenset(name for name in deployments if not any(one.routing.is_for(name) for one in self._receivers))

    def unsent(self, firing: Iterable[AlertChange]) -> list[AlertChange]:
        """Return the alerts that go to nobody as no receiver is for them; the log says it of each once."""
        firing = [change for change in firing if not is_of_all(change)]
        missed = self.without_receiver({change.key.deployment for change in firing})
        found = [change for change in firing if change.key.deployment in missed]
        for change in found:
            if change.alert_id not in self._logged:
                logger.warning(
                    "No receiver gets the alert on %s of %r: add it to the deployments of one in monitor.webhooks",
                    change.key.metric, change.key.deployment,
                )  # fmt: skip
        self._logged = {change.alert_id for change in found}
        return found

    def run_due(self, now: datetime) -> datetime | None:
        """Serve the receivers one after the other, without threads; returns when the next is due, None for never."""
        return min((at for r in self._receivers if (at := r.run_due(self.view, now)) is not None), default=None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve the receivers while the block runs. Where it ends during an attempt, the next start makes it again."""
        threads = [
            threading.Thread(target=self._serve, args=pair, name=f"webhook {pair[0].settings.name}", daemon=True)
            for pair in zip(self._receivers, self._wake_ups, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            self.wake()
            until = time.monotonic() + _SHUTDOWN_SECONDS
            for thread in threads:
                thread.join(max(0.0, until - time.monotonic()))

    def wake(self) -> None:
        """Have the receivers look for new changes; returns at once."""
        for wake_up in self._wake_ups:
            wake_up.set()

    def _serve(self, receiver: Receiver, wake_up: threading.Event) -> None:
        steps = ClockSteps(self._clock, self._monotonic)
        while not self._stopping.is_set():
            wake_up.clear()
            if step := steps.since_last():
                receiver.clock_was_set(step)
            due = receiver.run_due(self.view, self._clock())
            wait = _LONGEST_SLEEP_SECONDS if due is None else (due - self._clock()).total_seconds()
            if not self._stopping.is_set():
                wake_up.wait(min(max(wait, 0.0), _LONGEST_SLEEP_SECONDS))
