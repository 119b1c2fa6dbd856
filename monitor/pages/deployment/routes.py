"""Routes of a deployment's page: `/deployment`, and the same as `/deployment.json`."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, FastAPI, Request, Response
from starlette.exceptions import HTTPException

from monitor.notify.alert_text import summary
from monitor.pages.deployment.as_json import DeploymentData, data_of
from monitor.pages.deployment.view import Query, view_of
from monitor.pages.json_answers import described, json_answer
from monitor.pages.period import Days
from monitor.pages.rendering import Renderer, reader_of
from monitor.pages.visibility import snapshot_for
from monitor.service.monitor import Monitor

_NOT_FOUND, _UNAVAILABLE = 404, 503


def add_deployment_page(app: FastAPI, monitor: Monitor, renderer: Renderer) -> None:
    """Serve the page of a deployment from the monitor's newest snapshot."""

    # Functions that are no coroutines: each runs in a thread, and the others are answered meanwhile.
    @app.get("/deployment")
    def deployment(request: Request, query: Annotated[Query, Depends(_query)]) -> Response:
        reader = reader_of(request)
        snapshot = snapshot_for(reader, monitor.snapshot)
        view = view_of(query, snapshot, reader.may_read_texts(query.name)) if snapshot else None
        return renderer.page(
            request,
            "deployment.html",
            _NOT_FOUND if snapshot and view is None else 200,
            name=query.name,
            view=view,
            snapshot=snapshot,
            summary=summary,
            Days=Days,
        )

    @app.get("/deployment.json", **described(DeploymentData, "A deployment over a period", 404, 503))
    def deployment_json(request: Request, query: Annotated[Query, Depends(_query)]) -> Response:
        reader = reader_of(request)
        snapshot = snapshot_for(reader, monitor.snapshot)
        if snapshot is None:
            raise HTTPException(_UNAVAILABLE, "The lake is being read: ask again in a moment.")
        view = view_of(query, snapshot, reader.may_read_texts(query.name))
        if view is None:
            raise HTTPException(_NOT_FOUND)
        return json_answer(data_of(view))


def _query(name: str, days: Literal["1", "7", "30", "90"] = "7") -> Query:
    return Query(name, Days(int(days)))
