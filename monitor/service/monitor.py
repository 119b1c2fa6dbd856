"""The monitor: it reads the lake again and again, and publishes what it knows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from lake.queries.application_classes import ApplicationClasses
from lake.spec.heartbeat import Heartbeat
from lake.spec.root_tables import APPLICATION_CLASSES, SERVICES
from lake.spec.schemas import UNASSIGNED
from lake.tables.lake import Lake
from lake.tables.open_tables import OpenTables
from monitor.access.audit import AuditLog
from monitor.access.wrong_tokens import WrongTokens
from monitor.alerting.alerts.store import AlertStore
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.recovery import with_recovery
from monitor.detect.regression import Reading, StreamKey
from monitor.detect.stats.judge_costs import budgets_left
from monitor.detect.stats.period_sums import KEPT_DAYS
from monitor.detect.stats.unjoined_signals import UnjoinedSignals
from monitor.notify.notifier import Notifier
from monitor.notify.receiver import ReceiverState
from monitor.notify.users_words import UsersWordsReader
from monitor.notify.view import NotificationView
from monitor.service.affected_now import AffectedNow
from monitor.service.digest import complete_until, digest_plan, digest_rows
from monitor.service.health.failures import ALERTS_RECORDED, REGRESSIONS, UNJOINED, Failures
from monitor.service.health.health import Health, health_of, staleness_of
from monitor.service.health.heartbeat_reader import HeartbeatReader
from monitor.service.ingest.due_deployments import DueDeployments
from monitor.service.ingest.ingest import Ingest
from monitor.service.ingest.relearning import relearn_stopped
from monitor.service.ingest.state_keeper import StateKeeper
from monitor.service.publishing import PublishedDeployments
from monitor.service.recorder import AlertRecorder, StreamStates
from monitor.service.settings_watch import SettingsWatch
from monitor.service.snapshot import Snapshot
from monitor.service.totals import SUMMED_TABLES, FleetTotals, MonotonicTotals, totals_of
from monitor.settings import MonitorSettings

_SECONDS_OF_COUNTING = 1.0
"""In each refresh, after which the unjoined signals of the other deployments wait for the next one."""
logger = logging.getLogger(__name__)


class Monitor:
    """Publisher of the newest immutable `Snapshot` of the lake.

    All state is in memory and made from the lake's tables alone. It is saved there too (`StateKeeper`), so that a
    restart goes on with it and comes to the same numbers. A table that cannot be read leaves the others alone: it is
    logged, counted in `failures` and tried again at the next refresh.
    """

    def __init__(
        self,
        lake: Lake,
        settings: MonitorSettings,
        clock: Callable[[], datetime],
        judge_budgets: Mapping[str, float] | None = None,
        monotonic: Callable[[], float] | None = None,
        own_parts: Callable[[], Sequence[Heartbeat]] = tuple,
        lacks: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`judge_budgets` are what the evaluator's judges may cost a day (UTC), by their names.

        `monotonic` gives the seconds of a clock that is never set; without it `clock` is taken for such a one.
        `own_parts` gives the heartbeats of the parts of this process, without the lake. `lacks` says which source of
        this process gives no lines.
        """
        self.lacks = lacks
        self.settings = settings
        self.audit = AuditLog(lake, clock)
        self._monotonic = monotonic or (lambda: clock().timestamp())
        self.wrong_tokens = WrongTokens(self.audit, self._monotonic)
        self._published_at: float | None = None
        self._own_parts = own_parts
        self._heartbeats = HeartbeatReader(lake, clock, self._monotonic)
        self.judge_budgets = judge_budgets or {}
        self._lake = lake
        self._tables = OpenTables(lake, self._monotonic)
        self._classes = ApplicationClasses(self._tables)
        self._clock = clock
        self._alerts = AlertStore(lake)
        self._notifier = Notifier(
            settings.webhooks,
            self._alerts,
            settings.external_url,
            mail=settings.mail,
            view=NotificationView(silences=None, callers=None),
            internal_hosts=settings.internal_hosts,
            group=timedelta(seconds=settings.group_seconds),
            digests=digest_plan(settings, lake),
            clock=clock,
            monotonic=self._monotonic,
            users_words=UsersWordsReader(lake, self.audit),
        )
        self._handing_down = threading.Lock()
        """Held while the view of receivers is replaced by one that is made of it."""
        self._one_at_a_time = threading.Lock()
        self._failures = Failures(self._monotonic)
        self._snapshot: Snapshot | None = None
        self._readings: Mapping[StreamKey, Reading] = {}
        """Those of the last refresh."""
        self._recovered: frozenset[str] = frozenset()
        """Incidents that were seen to recover since the process began, also those that do not any more."""
        self._settings_watch = SettingsWatch(lake, self._failures)
        self._unjoined = UnjoinedSignals(lake)
        self._totals = MonotonicTotals()
        self._affected_now = AffectedNow(lake, self._failures)
        self._begin()

    @property
    def lake(self) -> Lake:
        """The lake that is watched."""
        return self._lake

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot; None before the first refresh."""
        return self._snapshot

    @property
    def failures(self) -> Mapping[str, int]:
        """How often each step failed since the monitor started, by reason."""
        return dict(self._failures.counts)

    def refresh(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Read what is new, record alerts, publish a snapshot, wake the senders of webhooks.

        Never raises: what goes wrong is logged, counted and said by `health`. Does nothing while another thread
        is in here. Ends early once `is_stopping` says so; no other refresh may follow then.
        """
        if not self._one_at_a_time.acquire(blocking=False):
            return
        try:
            self._refresh(is_stopping)
        finally:
            self._one_at_a_time.release()

    def sending_webhooks(self) -> AbstractContextManager[None]:
        """Send webhooks while the block runs, in threads of their own: what is recorded and was not sent yet."""
        return self._notifier.running()

    def saves_states(self) -> bool:
        """Whether the state of a deployment is still to be saved, by the next refreshes."""
        return self._keeper.has_unsaved()

    def health(self) -> Health:
        """Say whether a refresh has succeeded lately, what the last one could not do, and how all parts are."""
        parts = self._heartbeats.states(self._own_parts())
        return health_of(self._age(), self.settings.refresh_seconds, self._failures.problems, parts)

    def now(self) -> datetime:
        """Return the time by the monitor's clock."""
        return self._clock()

    @property
    def problem(self) -> str | None:
        """Why the snapshot is not fresh; None where it is, and before the end of the first refresh."""
        if self._published_at is None and not self._failures.problems:
            return None
        stale = staleness_of(self._age(), self.settings.refresh_seconds)
        return self._failures.problems.get("list_deployments", stale)

    @property
    def webhook_problem(self) -> str | None:
        """Why the last attempts at webhooks failed; None where they did not."""
        return self._notifier.problem

    def receivers(self) -> tuple[ReceiverState, ...]:
        """Say how each receiver of alerts is."""
        return self._notifier.states(self._clock())

    def acknowledge(self, incident: Incident, who: str | None, comment: str) -> None:
        """Record that somebody took note of an incident; the snapshot says so at once.

        Raises what the lake raises where the row cannot be written.
        """
        self._ingest.incidents.acknowledge(incident, who, comment, self._clock())
        self._show_incidents_of(incident.deployment)

    def withdraw_acknowledgement(self, incident: Incident, who: str | None) -> None:
        """Record that somebody took an acknowledgement back; as `acknowledge`."""
        self._ingest.incidents.withdraw_acknowledgement(incident, who, self._clock())
        self._show_incidents_of(incident.deployment)

    def _show_incidents_of(self, deployment: str) -> None:
        snapshot = self._snapshot
        state = snapshot.deployments.get(deployment) if snapshot else None
        if snapshot and state:
            found = self._ingest.incidents.incidents(self._alerts.changes()).get(deployment, ())
            known = self._affected_now.added_to(with_recovery(found, self._readings))
            self._snapshot = snapshot.with_state(deployment, replace(state, incidents=known))
        self._hand_down_incidents()

    def _age(self) -> float | None:
        return None if self._published_at is None else self._monotonic() - self._published_at

    def _begin(self, without: Sequence[str | None] = ()) -> None:
        """Begin with what was saved, but not of the deployments in `without`."""
        self._ingest = Ingest(self._tables, self.settings, self._failures, self._clock())
        self._keeper = StateKeeper(self._ingest, self._lake, self.settings, self._failures, without)
        self._recorder = AlertRecorder(
            self._lake,
            self._ingest,
            self._alerts,
            self._failures,
            self._keeper.learned_at,
            timedelta(seconds=self.settings.judge_wait_seconds),
            self._classes,
        )
        self._known: set[str | None] = set()
        """Deployments of the last refresh."""
        self._due = DueDeployments(self._tables, self._ingest, self._monotonic)
        self._published = PublishedDeployments(self._ingest)
        self._summed: set[str] = set()
        """Fields of `FleetTotals` whose tables have all been read."""

    def _refresh(self, is_stopping: Callable[[], bool]) -> None:
        now, began = self._clock(), self._monotonic()
        self._failures.begin()
        self._tables.look()
        deployments = self._failures.attempt("list_deployments", self._deployments)
        if deployments is None:
            return
        self._failures.attempt("read__services", self._heartbeats.look, SERVICES.name)
        self._failures.attempt("read__application_classes", self._classes.look, APPLICATION_CLASSES.name)
        self._ingest.read_releases(now)
        self._begin_anew_where_needed(deployments, now)
        has_silences = self._ingest.read_silences(now)
        # A table that cannot be read must not keep everybody from being notified for ever.
        with self._handing_down:
            view = self._notifier.view
            self._notifier.view = view.with_silences(self._ingest.silences.every, is_certain=has_silences)
        self._keeper.restore_root()
        self._ingest.read_collector_stats(now)
        readable = self._keeper.restore(deployments, now)
        due = self._due.of(readable)
        self._ingest.open(due)
        self._tables.look_ahead()
        if not self._read([one for one in readable if one in due], now, is_stopping):
            return
        # Before alerts are recorded that it may hold back.
        with self._handing_down:
            callers, failures = self._ingest.limits.callers(now), self._ingest.limits.recent_failures()
            self._notifier.view = replace(self._notifier.view, callers=callers, fails_since=failures.fails_since)
        self._ingest.settle_ratings(now)
        names = {UNASSIGNED if one is None else one for one in due}
        streams = self._recorder.record_regressions(now, names)
        self._recorder.record_limits(now, names)
        self._recorder.tell_stopped()
        self._recorder.tell_unfit_limits()
        self._ingest.read_alerts(due, now)
        self._ingest.read_incidents(due, now)
        incidents = self._with_recovery(self._recorder.record_incidents(), streams.readings)
        self._affected_now.count(incidents, self._ingest.deployments, now)
        incidents = {name: self._affected_now.added_to(mine) for name, mine in incidents.items()}
        self._failures.attempt("publish", lambda: self._publish(streams, incidents, names, now, began))
        self._due.end(due, is_whole=not self._failures.problems)
        self._hand_down_incidents()
        self._notifier.wake()
        is_recorded = not {REGRESSIONS, ALERTS_RECORDED}.intersection(self._failures.problems)
        self._keeper.save(now, is_recorded, due)
        if (changed := self._settings_watch.look(self._ingest, deployments, now)) is not None:
            self._keeper.save_soon(changed)
        self._count_unjoined(deployments, now)

    def _with_recovery(
        self, incidents: Mapping[str, tuple[Incident, ...]], readings: Mapping[StreamKey, Reading]
    ) -> Mapping[str, tuple[Incident, ...]]:
        known = {name: with_recovery(mine, readings) for name, mine in incidents.items()}
        recovering = (one.incident_id for mine in known.values() for one in mine if one.recovering_since)
        self._readings, self._recovered = readings, self._recovered.union(recovering)
        return known

    def _once_quiet_incidents(self) -> tuple[Incident, ...]:
        """Incidents that are quiet, or were since the process began: what it asked of an Alertmanager is to end."""
        found = self._ingest.incidents.acknowledged(self._alerts.changes(), self._recovered)
        return with_recovery(found, self._readings)

    def _count_unjoined(self, deployments: Sequence[str | None], now: datetime) -> None:
        """Count the unjoined signals of deployments that are due, for about a second; the next snapshot has them."""
        signaled = {name for name, state in self._ingest.deployments.items() if state.requests.signals}
        until = self._monotonic() + _SECONDS_OF_COUNTING
        for name in self._unjoined.due(signaled.intersection(filter(None, deployments)), now):
            count = partial(self._unjoined.count, name, now)
            self._failures.attempt(UNJOINED, count, f"signals of {name!r}")
            if self._monotonic() >= until:
                return

    def _hand_down_incidents(self) -> None:
        """Give receivers a view with the incidents as they are now; pages do so too, when somebody acknowledges one."""
        snapshot, families = self._snapshot, self.settings.families
        with self._handing_down:
            self._notifier.view = replace(
                self._notifier.view,
                open_incidents=snapshot.open_incidents if snapshot else (),
                recent_incidents=snapshot.recent_incidents if snapshot else (),
                once_quiet_incidents=self._once_quiet_incidents(),
                digest_rows=partial(digest_rows, snapshot.deployments, families) if snapshot else None,
                complete_until=complete_until(self._ingest.collector_stats, self._heartbeats.states(self._own_parts())),
            )

    def _read(self, deployments: Sequence[str | None], now: datetime, is_stopping: Callable[[], bool]) -> bool:
        """Read what is new of all deployments; says whether it was not told to stop."""
        unread = dict.fromkeys([*self._keeper.take_unread(), *relearn_stopped(self._ingest.kinds(), now)])
        self._ingest.read_history(list(unread), now, is_stopping)
        for deployment in deployments:
            if is_stopping():
                return False
            self._ingest.read_deployment(deployment, now)
        return True

    def _deployments(self) -> list[str | None]:
        """Deployments of the lake; raises where all that there was is gone: it is away, and was not emptied by us."""
        deployments = self._tables.deployments()
        if self._known and not deployments and self._lake.is_empty():
            raise FileNotFoundError(f"all tables are gone from {self._lake.root}: is it mounted, and not moved away?")
        return deployments

    def _begin_anew_where_needed(self, deployments: Sequence[str | None], now: datetime) -> None:
        gone, replaced = self._known - set(deployments), self._ingest.replaced
        if gone or replaced:
            logger.info("A table has left the lake. What is there is read again: %s", sorted(map(str, gone | replaced)))
        if self._ingest.has_new_releases:
            logger.info("A release was marked, or a mark withdrawn. Its streams learn anew.")
        if gone or replaced or self._ingest.has_new_releases:
            self._alerts.reload(deployments)
            self._totals.start_over()
            self._begin(without=sorted(replaced, key=str))
            self._ingest.read_releases(now)
        self._known = set(deployments)

    def _publish(
        self,
        streams: StreamStates,
        incidents: Mapping[str, tuple[Incident, ...]],
        due: Set[str],
        now: datetime,
        began: float,
    ) -> None:
        judges, limits = self._recorder.judge_readings, self._recorder.limit_readings
        changes, classes = self._alerts.changes(), self._classes.known
        deployments = self._published.renewed(streams, judges, limits, changes, incidents, classes, due, now)
        costs = [state.judge_costs for state in self._ingest.deployments.values()]
        snapshot = Snapshot(
            taken_at=now,
            deployments=deployments,
            collector_stats=self._ingest.collector_stats,
            failed_deliveries=self._notifier.failed_attempts,
            disabled_webhooks=self._notifier.disabled,
            failing_webhooks=self._notifier.failing,
            without_receiver=self._notifier.without_receiver(deployments.keys() - {UNASSIGNED}),
            unsent=len(self._notifier.unsent(self._alerts.active())),
            refresh_seconds=self._monotonic() - began,
            judge_budgets_left=budgets_left(self.judge_budgets, costs, now.date()),
            totals=self._fleet_totals(),
            silences=self._ingest.silences.at(now),
            silenced=self._ingest.silences.since(now - timedelta(days=KEPT_DAYS)),
            releases=self._ingest.releases,
            unfit_limits=self._recorder.unfit_limits,
            unjoined=self._unjoined.counts,
            classes=classes,
            callers=self._notifier.view.callers or {},
        )
        self._snapshot, self._published_at = snapshot, began

    def _fleet_totals(self) -> FleetTotals:
        for name, specs in SUMMED_TABLES.items():
            # Once is enough: the rows of a table that comes later are new.
            if name not in self._summed and self._ingest.has_counted(specs, list(self._known)):
                self._summed.add(name)
        states = self._ingest.deployments.values()
        counted = totals_of(
            [one.scores for one in states],
            [one.judge_costs for one in states],
            [one.alerts for one in states],
            self._ingest.collector_stats,
        )
        return self._totals.update(counted, self._summed)
