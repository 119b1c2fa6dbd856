"""Handlers of a deployment's page, and of the same as JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from starlette.exceptions import HTTPException

from lake.queries.tool_times import tool_times
from lake.spec.schemas import deployment_of
from monitor.notify.alert_text import summary
from monitor.pages.answers.addresses import Visible
from monitor.pages.deployment.as_json import data_of
from monitor.pages.deployment.tools import with_times
from monitor.pages.deployment.view import DeploymentQuery, DeploymentView, view_of
from monitor.pages.json_answers import json_answer
from monitor.pages.page import Page
from monitor.pages.period import Days
from monitor.pages.rendering import reader_of
from monitor.service.snapshot import Snapshot

_NOT_FOUND, _UNAVAILABLE = 404, 503


def _query(name: str, days: Literal["1", "7", "30", "90"] = "7") -> DeploymentQuery:
    return DeploymentQuery(name, Days(int(days)))


class DeploymentPage(Page):
    """Handlers of `/deployment` and `/deployment.json`."""

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

    def _view(self, request: Request, query: DeploymentQuery, snapshot: Snapshot) -> DeploymentView | None:
        """Work out the page; how long tools took is read of the lake, and left out where that is not possible."""
        reader = reader_of(request)
        view = view_of(query, snapshot, reader.may_read_texts(query.name))
        if view is None or not view.tools:
            return view
        period, callees = view.period, Visible(reader, snapshot).callees
        try:
            times = self._reads.run(
                reader,
                lambda: tool_times(self._monitor.lake, deployment_of(query.name), period.begin, period.end, callees),
            )
        except HTTPException:
            return view
        return replace(view, tools=with_times(view.tools, times))
