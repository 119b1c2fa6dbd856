"""Keeper of an ingest's state: it restores deployments from their checkpoints, and saves them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from lake.delta_log.change import LostRaceError
from lake.spec.case_tables import REPLAYS
from lake.spec.root_tables import BATCHES, REJECTED, RELEASES
from lake.spec.schemas import ANCHORS, PARSED_LOGS, SCORES, UNASSIGNED, USER_SIGNALS, deployment_of
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.service.health.failures import RESTORED, SAVED, Failures
from monitor.service.ingest.checkpoints import Checkpoint, Checkpoints
from monitor.service.ingest.codec import StateError
from monitor.service.ingest.ingest import Ingest
from monitor.service.ingest.kept_state import KeptState
from monitor.service.ingest.relearning import stopped_of
from monitor.service.snapshot import DeploymentState
from monitor.settings import MonitorSettings
from runtime.clocks import SKEW

_OF_DEPLOYMENT = (PARSED_LOGS, USER_SIGNALS, SCORES, ANCHORS, REPLAYS)
_OF_ROOT = (BATCHES, REJECTED)
_ANSWERS = "answers"
"""Name of the position up to which answers are read for the limits: another one than that of `parsed_logs`."""
_SECONDS_A_REFRESH = 2.0
"""For which states are saved; the others are at the next refresh."""
_SECONDS_AFTER_FAILURE = 300.0
_BATCHES_UNTIL_STALE = 3
"""After so many batches without a save nobody goes on with a state of another version."""
logger = logging.getLogger(__name__)


class StateKeeper:
    """Restores and saves the state of one `Ingest`, deployment by deployment.

    A deployment is saved when batches of its scores were closed, so that what came late, and what was found, is the
    same after a restart; and else once an hour, if rows came. Nothing is saved of a deployment of which a handler lacks
    rows.

    Two monitors of different versions, as in a rolling upgrade, cannot read each other's states. Whoever finds that the
    other has replaced its state goes on from memory and leaves the saving to the other, until that has not saved for
    some hours. Then the deployment is learned anew before it is saved: what was erased meanwhile is still in memory.
    """

    def __init__(
        self,
        ingest: Ingest,
        lake: Lake,
        settings: MonitorSettings,
        failures: Failures,
        without: Sequence[str | None],
    ) -> None:
        """`without` are deployments whose checkpoints are not to be used: their tables are other ones now."""
        self._ingest = ingest
        self._failures = failures
        self._checkpoints = Checkpoints(lake, settings)
        self._every: timedelta = settings.regression.batch
        self._without = set(without)
        self._known: set[str | None] = set()
        self._has_root = False
        self._saved: dict[str | None, tuple[Mapping[str, int | None], datetime]] = {}
        self._saved_root: tuple[Mapping[str, int | None], datetime] | None = None
        self._due: set[str | None] = set()
        self._not_before: dict[str | None, float] = {}
        """When, by the monotonic clock, one that could not be saved is tried again."""
        self._others: dict[tuple[str, str | None], datetime] = {}
        """By table and deployment, when a monitor of another version last saved the state that is left to it."""
        self._unread: list[str | None] = []
        self.learned_at: dict[str, datetime] = {}
        """When the streams of a deployment were last learned from the rows without a checkpoint."""

    def restore(self, deployments: Sequence[str | None], now: datetime) -> list[str | None]:
        """Restore the deployments that are new to the ingest, and begin the others of them without a checkpoint.

        Gives those that can be read now: not one whose checkpoint the store does not give.
        """
        for deployment in deployments:
            if deployment not in self._known:
                self._failures.attempt(RESTORED, partial(self._restore, deployment, now), _title(deployment))
        return [deployment for deployment in deployments if deployment in self._known]

    def take_unread(self) -> list[str | None]:
        """Return, once, the deployments of which a history is to be read: all rows, or those of some streams."""
        unread, self._unread = self._unread, []
        return unread

    def restore_root(self) -> None:
        """Restore what is of no deployment, once."""
        if not self._has_root:
            self._failures.attempt(RESTORED, self._restore_root, ROOT_STATE.name)

    def has_unsaved(self) -> bool:
        """Whether batches were closed of a deployment that is not saved since."""
        return bool(self._due)

    def save(self, now: datetime, is_recorded: bool, looked: Set[str | None]) -> None:
        """Save what is due of the deployments that were looked at, and of those before them, for some seconds at most.

        Without `is_recorded`, which says that what the streams found is recorded as alerts, nothing is saved.
        """
        closed = self._ingest.streams.take_closed()
        self._due |= {deployment_of(name) for name in closed}
        if not is_recorded:
            return
        for place in [place for place, saved_at in self._others.items() if self._is_stale(saved_at, now)]:
            self._failures.attempt(SAVED, partial(self._look_at_other, *place, now), place[0])
        has_root = self._has_root and (ROOT_STATE.name, None) not in self._others
        if has_root and self._is_old(self._saved_root, self._positions_of_root(), now):
            self._failures.attempt(SAVED, partial(self._save_root, now), ROOT_STATE.name)
        until = time.monotonic() + _SECONDS_A_REFRESH
        for deployment in sorted(self._known.intersection(looked | self._due), key=str):
            if (MONITOR_STATE.name, deployment) in self._others:
                self._due.discard(deployment)
                continue
            is_due = deployment in self._due or self._is_old(
                self._saved.get(deployment), self._positions(deployment), now
            )
            if is_due and self._is_complete(deployment) and time.monotonic() >= self._not_before.get(deployment, 0.0):
                self._not_before[deployment] = time.monotonic() + _SECONDS_AFTER_FAILURE
                self._failures.attempt(SAVED, partial(self._save, deployment, now), _title(deployment))
                if time.monotonic() > until:
                    return

    def save_soon(self, deployment: str) -> None:
        """Save a deployment at the next `save`: what is new of it is of no row."""
        self._due.add(deployment)

    def _restore(self, deployment: str | None, now: datetime) -> None:
        found = None if deployment in self._without else self._loaded(MONITOR_STATE, deployment)
        if found is None or not isinstance(found.state, KeptState):
            self._unread.append(deployment)
            if deployment is not None:
                self.learned_at[deployment] = now
        else:
            self._take(deployment, found, now)
        self._known.add(deployment)

    def _loaded(self, spec: TableSpec, deployment: str | None) -> Checkpoint | None:
        try:
            return self._checkpoints.load(spec, deployment)
        except StateError as error:
            what = f"{spec.name} of {deployment!r}" if spec.per_deployment else spec.name
            message = "It is left, and all rows are read again; alerts that are open stay so until quality is back."
            logger.warning("%s: %s. %s", what, error, message)
            self._failures.add_lasting(RESTORED, f"{what}: {error}. {message}")
            return None

    def _take(self, deployment: str | None, found: Checkpoint, now: datetime) -> None:
        ingest, state = self._ingest, found.state
        name = UNASSIGNED if deployment is None else deployment
        ingest.deployments[name] = state.stats
        if state.counts is not None:
            ingest.limits.restore(name, state.counts)
        ingest.judges.restore(state.judges)
        if state.learned_at is not None:
            self.learned_at[name] = state.learned_at
        for spec in _OF_DEPLOYMENT:
            if spec.name in found.positions:
                ingest.new_rows.continue_after(spec, deployment, found.positions[spec.name])
        if _ANSWERS in found.positions:
            ingest.new_answers.continue_after(PARSED_LOGS, deployment, found.positions[_ANSWERS])
        self._saved[deployment] = found.positions, found.saved_at
        if deployment is None:
            return
        ingest.ratings.hold(state.ratings)
        if not found.has_same_settings:
            logger.info("The settings of regressions have changed: the streams of %r learn anew.", name)
            self._unread.append(deployment)
            ingest.relearn_all(name, now)
            return
        ingest.streams.restore(state.streams)
        ingest.relearned_at |= {(name, metric): at for metric, at in state.relearned_at.items()}
        if state.stopped:
            stopped = ", ".join(one for names in state.stopped.values() for one in names)
            logger.info("An error had stopped %s of %r: they learn anew.", stopped, name)
            self._unread.append(deployment)
            for kind, names in state.stopped.items():
                ingest.kinds()[kind].begin(name, frozenset(names), now)
        if ingest.new_rows.has_read(RELEASES, [None], f"read_{RELEASES.name}"):
            outdated = ingest.streams.forget_outdated(name)
            if outdated:
                logger.info(
                    "Releases of %r were marked or withdrawn: %s learn anew.", name, ", ".join(sorted(outdated))
                )
                ingest.relearn(name, outdated, now)

    def _restore_root(self) -> None:
        found = self._loaded(ROOT_STATE, None)
        if found is not None and isinstance(found.state, CollectorStats) and None not in self._without:
            self._ingest.collector_stats = found.state
            for spec in _OF_ROOT:
                if spec.name in found.positions:
                    self._ingest.new_rows.continue_after(spec, None, found.positions[spec.name])
            self._saved_root = found.positions, found.saved_at
        self._has_root = True

    def _is_complete(self, deployment: str | None) -> bool:
        ingest, name = self._ingest, UNASSIGNED if deployment is None else deployment
        lags = ingest.new_rows.lags(deployment, _OF_DEPLOYMENT) or ingest.new_answers.lags(deployment, _OF_DEPLOYMENT)
        return not lags and not ingest.ratings.are_unsettled(name)

    def _is_old(
        self,
        saved: tuple[Mapping[str, int | None], datetime] | None,
        positions: Mapping[str, int | None],
        now: datetime,
    ) -> bool:
        if saved is None:
            return any(version is not None for version in positions.values())
        # A clock that was set back makes nobody wait longer.
        return positions != saved[0] and not saved[1] <= now < saved[1] + self._every

    def _save(self, deployment: str | None, now: datetime) -> None:
        positions = self._positions(deployment)
        try:
            self._checkpoints.save(MONITOR_STATE, deployment, self._state(deployment), positions, now)
        except LostRaceError as error:
            if not self._leave_to_other(MONITOR_STATE, deployment):
                logger.info("%s: %s. What is there is taken over.", _title(deployment), error)
                self._begin_anew(deployment)
        else:
            self._saved[deployment] = positions, now
        self._due.discard(deployment)
        del self._not_before[deployment]

    def _begin_anew(self, deployment: str | None) -> None:
        """Forget a deployment; the next refresh restores it, or learns it anew."""
        self._ingest.forget(deployment)
        self._known.discard(deployment)
        self._saved.pop(deployment, None)

    def _leave_to_other(self, spec: TableSpec, deployment: str | None) -> bool:
        """Look who has replaced a state; says whether it was a monitor of another version, which then saves it."""
        saved_at = self._checkpoints.saved_by_other_version(spec, deployment)
        if saved_at is None:
            return False
        self._others[spec.name, deployment] = saved_at
        what = spec.name if spec is ROOT_STATE else _title(deployment)
        logger.info("%s was saved by a monitor of another version: this one goes on without saving it.", what)
        return True

    def _look_at_other(self, table: str, deployment: str | None, now: datetime) -> None:
        """Look whether the monitor of another version still saves; else its state is replaced."""
        spec = ROOT_STATE if table == ROOT_STATE.name else MONITOR_STATE
        saved_at = self._checkpoints.saved_by_other_version(spec, deployment)
        if saved_at is not None and not self._is_stale(saved_at, now):
            self._others[table, deployment] = saved_at
            return
        del self._others[table, deployment]
        if spec is MONITOR_STATE:
            self._begin_anew(deployment)

    def _is_stale(self, saved_at: datetime, now: datetime) -> bool:
        # The other one's clock may be ahead.
        return not saved_at - SKEW <= now < saved_at + _BATCHES_UNTIL_STALE * self._every

    def _state(self, deployment: str | None) -> KeptState:
        ingest, name = self._ingest, UNASSIGNED if deployment is None else deployment
        return KeptState(
            stats=replace(ingest.deployments.get(name, DeploymentState()), alerts=AlertStats()),
            counts=ingest.limits.counts_of(name),
            streams=ingest.streams.state_of(name),
            ratings=ingest.ratings.held_of(name),
            judges=ingest.judges.judges_of(name),
            learned_at=self.learned_at.get(name),
            relearned_at={metric: at for (mine, metric), at in ingest.relearned_at.items() if mine == name},
            stopped=stopped_of(ingest.kinds(), name),
        )

    def _save_root(self, now: datetime) -> None:
        positions = self._positions_of_root()
        try:
            self._checkpoints.save(ROOT_STATE, None, self._ingest.collector_stats, positions, now)
        except LostRaceError:
            # Sums without anything of people: what another one has written is replaced.
            self._leave_to_other(ROOT_STATE, None)
        else:
            self._saved_root = positions, now

    def _positions(self, deployment: str | None) -> Mapping[str, int | None]:
        positions = dict(self._ingest.new_rows.positions(deployment, _OF_DEPLOYMENT))
        answers = self._ingest.new_answers.positions(deployment, [PARSED_LOGS])
        if PARSED_LOGS.name in answers:
            positions[_ANSWERS] = answers[PARSED_LOGS.name]
        return positions

    def _positions_of_root(self) -> Mapping[str, int | None]:
        return self._ingest.new_rows.positions(None, _OF_ROOT)


def _title(deployment: str | None) -> str:
    return f"{MONITOR_STATE.name} of {UNASSIGNED if deployment is None else deployment!r}"
