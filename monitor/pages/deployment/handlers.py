"""Handlers of a deployment's page, and of the same as JSON."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from lake.queries.answer_lookup import questions_of
from lake.queries.tool_times import ToolTime, tool_times
from lake.spec.schemas import deployment_of
from lake.spec.service_vocabulary import AuditAction
from monitor.access.authentication import Authentication
from monitor.access.reader import Reader
from monitor.notify.texts.alert import summary
from monitor.notify.texts.link import worst_since
from monitor.pages.answers.addresses import Visible
from monitor.pages.deployment.as_json import data_of
from monitor.pages.deployment.tools import with_times
from monitor.pages.deployment.view import DeploymentQuery, DeploymentView, view_of
from monitor.pages.json_answers import json_answer
from monitor.pages.lake_reads import LakeReads
from monitor.pages.page import Page
from monitor.pages.period import Days
from monitor.pages.rendering import Renderer, reader_of
from monitor.service.monitor import Monitor
from monitor.service.snapshot import Snapshot

KEPT = timedelta(minutes=5)
"""How long tools took is shown for so long a time: a page is looked at again and again."""
_NOT_FOUND, _UNAVAILABLE = 404, 503


def _query(name: str, days: Literal["1", "7", "30", "90"] = "7") -> DeploymentQuery:
    return DeploymentQuery(name, Days(int(days)))


class _RecentTimes:
    """How long tools took, by what was asked: the deployment, the days, and whose lines the reader may see."""

    def __init__(self) -> None:
        self._read: dict[Hashable, tuple[datetime, Mapping[str, ToolTime]]] = {}

    def of(self, asked: Hashable, now: datetime, read: Callable[[], Mapping[str, ToolTime]]) -> Mapping[str, ToolTime]:
        """Return what was read less than `KEPT` ago; else read it. What could not be read is not kept."""
        at, times = self._read.get(asked, (now - KEPT, {}))
        if now - at >= KEPT:
            times = read()
            kept = {one: found for one, found in self._read.items() if now - found[0] < KEPT}
            self._read = kept | {asked: (now, times)}
        return times


class DeploymentPage(Page):
    """Handlers of `/deployment` and `/deployment.json`."""

    def __init__(self, monitor: Monitor, renderer: Renderer, authentication: Authentication, reads: LakeReads) -> None:
        super().__init__(monitor, renderer, authentication, reads)
        self._times = _RecentTimes()

    def show(self, request: Request, query: Annotated[DeploymentQuery, Depends(_query)]) -> Response:
        """Answer with a deployment as a page."""
        snapshot = self._snapshot_for(request)
        view = self._view(request, query, snapshot) if snapshot else None
        return self._renderer.page(
            request,
            "deployment.html",
            _NOT_FOUND if snapshot and view is None else 200,
            name=query.name,
            view=view,
            snapshot=snapshot,
            summary=summary,
            questions=self._questions(reader_of(request), view) if view else {},
            Days=Days,
        )

    def show_json(self, request: Request, query: Annotated[DeploymentQuery, Depends(_query)]) -> Response:
        """Answer with a deployment as JSON."""
        snapshot = self._snapshot_for(request)
        if snapshot is None:
            raise HTTPException(_UNAVAILABLE, "The lake is being read: ask again in a moment.")
        view = self._view(request, query, snapshot)
        if view is None:
            raise HTTPException(_NOT_FOUND)
        return json_answer(data_of(view))

    def _questions(self, reader: Reader, view: DeploymentView) -> Mapping[str, str]:
        """Read the questions of the worst answers, by response id; none for who may not, or where they are not read."""
        name, ids = view.name, {answer.response_id for change in view.worst for answer in change.details.worst}
        if not ids or not reader.may_read_texts(name):
            return {}
        first = min((day for change in view.worst if (day := worst_since(change))), default=view.period.begin.date())
        lake, last = self._monitor.lake, view.period.end.date()
        try:
            found = self._reads.run(reader, lambda: questions_of(lake, deployment_of(name), ids, first, last))
        except HTTPException:
            return {}
        if found:
            detail = f"questions of {len(ids & found.keys())} answers, the worst ones"
            self._monitor.audit.note(reader.who, AuditAction.READ_TEXTS, name, detail=detail)
        return {one: asked.question for one, asked in found.items()}

    def _view(self, request: Request, query: DeploymentQuery, snapshot: Snapshot) -> DeploymentView | None:
        """Work out the page; how long tools took is read of the lake, and left out where that is not possible."""
        reader = reader_of(request)
        view = view_of(query, snapshot, reader.may_read_texts(query.name))
        if view is None or not view.tools:
            return view
        period, callees = view.period, Visible(reader, snapshot).callees
        try:
            times = self._times.of(
                (query.name, query.days, frozenset(callees)),
                snapshot.taken_at,
                lambda: self._reads.run(
                    reader,
                    lambda: tool_times(
                        self._monitor.lake, deployment_of(query.name), period.begin, period.end, callees
                    ),
                ),
            )
        except HTTPException:
            return view
        return replace(view, tools=with_times(view.tools, times))
