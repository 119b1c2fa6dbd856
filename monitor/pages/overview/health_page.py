"""Handlers of the pages about dialwatch itself: how its parts and receivers are, and what its judges cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from fastapi import Request, Response

from monitor.notify.receiver import ReceiverState
from monitor.pages.json_answers import json_answer
from monitor.pages.overview.judge_costs import (
    DeploymentCosts,
    JudgeBudget,
    data_of,
    deployment_costs,
    judge_budgets,
    reserved_on,
)
from monitor.pages.overview.strip import Strip, strip_of
from monitor.pages.page import Page
from monitor.pages.rendering import reader_of
from monitor.pages.visibility import health_for
from monitor.service.health.heartbeat_reader import PartState
from monitor.service.snapshot import Snapshot
from runtime.durations import duration

MOST_ROWS = 500
"""Of deployments on the page of costs; the JSON has all."""


@dataclass(frozen=True)
class HealthData:
    """How dialwatch is: in short, each run of its parts, and each receiver.

    `receivers` is null for who may not see all deployments, and errors are.
    """

    dialwatch: Strip
    problems: Sequence[str]
    parts: Sequence[PartState]
    receivers: Sequence[ReceiverState] | None
    failed_steps: dict[str, int]
    """How often steps of the monitor failed since it began, by their names."""
    looked_at: datetime | None
    """When the monitor last looked at the lake."""
    collector_lag_seconds: float | None
    """Age of the newest request when it was stored."""
    evaluator_lag_seconds: float | None
    """How much later than the last score the newest request came; 0 where none came later."""


class HealthPage(Page):
    """Handlers of `/health`, `/judge-costs` and of both as JSON."""

    def show(self, request: Request) -> Response:
        """Answer with how dialwatch is, as a page."""
        return self._renderer.page(request, "health.html", found=self._health(request), lengths=duration)

    def show_json(self, request: Request) -> Response:
        """Answer with the same as JSON."""
        return json_answer(self._health(request))

    def show_costs(self, request: Request) -> Response:
        """Answer with what judges cost, as a page."""
        snapshot = self._snapshot_for(request)
        judges, deployments = self._costs(request, snapshot)
        return self._renderer.page(
            request,
            "judge_costs.html",
            snapshot=snapshot,
            judges=judges,
            deployments=deployments,
            most_rows=MOST_ROWS,
        )

    def show_costs_json(self, request: Request) -> Response:
        """Answer with the same as JSON."""
        snapshot = self._snapshot_for(request)
        day = (snapshot.taken_at if snapshot else self._monitor.now()).date()
        return json_answer(data_of(day, self._monitor.settings.currency, *self._costs(request, snapshot)))

    def _health(self, request: Request) -> HealthData:
        reader, snapshot = reader_of(request), self._snapshot_for(request)
        sees_all = reader.may_see(None)
        health = health_for(reader, self._monitor.health())
        return HealthData(
            dialwatch=strip_of(
                snapshot, health, sees_all=sees_all, times=self._renderer.times, currency=self._renderer.currency
            ),
            problems=health.problems,
            parts=sorted(health.parts, key=lambda one: (one.part, one.host, one.since)),
            receivers=self._monitor.receivers() if sees_all else None,
            failed_steps=dict(self._monitor.failures) if sees_all else {},
            looked_at=None if snapshot is None else snapshot.taken_at,
            collector_lag_seconds=snapshot.collector_stats.lag_seconds if snapshot else None,
            evaluator_lag_seconds=_evaluator_lag(snapshot) if snapshot else None,
        )

    def _costs(
        self, request: Request, snapshot: Snapshot | None
    ) -> tuple[list[JudgeBudget] | None, list[DeploymentCosts]]:
        """Return the judges, None for who may not see all deployments, and the costs for each deployment."""
        if snapshot is None:
            return None, []
        deployments = deployment_costs(snapshot)
        if not reader_of(request).may_see(None):
            return None, deployments
        read = partial(reserved_on, self._monitor.lake, snapshot.taken_at.date())
        return judge_budgets(
            deployments, self._monitor.judge_budgets, self._reads.run(reader_of(request), read)
        ), deployments


def _evaluator_lag(snapshot: Snapshot) -> float | None:
    stats, states = snapshot.collector_stats, snapshot.deployments.values()
    scored = max((at for state in states if (at := state.scores.last_scored_at)), default=None)
    if scored is None or stats.newest_batch is None or stats.lag_seconds is None:
        return None
    newest = stats.newest_batch - timedelta(seconds=stats.lag_seconds)
    return max(0.0, (newest - scored).total_seconds())
