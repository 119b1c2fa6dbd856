"""Web application of the monitor: `/`, `/deployment?name=...`, `/metrics` and `/healthz`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, PackageLoader, StrictUndefined
from prometheus_client.exposition import choose_encoder

from lake import UNASSIGNED, AlertEvent, AlertVerdict, Signal, Tier, known_formats
from monitor.exporter.registry import registry_of
from monitor.notify.alert_text import summary
from monitor.notify.link import page_of
from monitor.pages.error_pages import add_error_pages
from monitor.pages.filters import FILTERS
from monitor.pages.overview import card_of, overview_of
from monitor.service import Monitor
from monitor.settings import MonitorSettings

_HEADERS = {
    # Names on the pages come from URLs that any client can write: nothing from elsewhere may load or run.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Ask again each time: after an update a page must not come in the old style.
    "Cache-Control": "no-cache",
}


def create_app(monitor: Monitor, settings: MonitorSettings | None = None) -> FastAPI:
    """Give the application that shows a monitor's newest snapshot; it never reads the lake."""
    app = FastAPI(title="dialwatch monitor", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    templates = _templates()
    _add_headers(app)
    _add_routes_for_machines(app, monitor, settings)
    _add_pages(app, monitor, templates)
    add_error_pages(app, templates)
    return app


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("monitor.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(FILTERS | {"page_of": page_of})
    words: Sequence[type[StrEnum]] = (AlertEvent, AlertVerdict, Signal, Tier)
    templates.globals.update({one.__name__: one for one in words} | {"UNASSIGNED": UNASSIGNED})
    return templates


def _add_headers(app: FastAPI) -> None:
    @app.middleware("http")
    async def protect(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        response.headers.update(_HEADERS)
        return response


def _add_routes_for_machines(app: FastAPI, monitor: Monitor, settings: MonitorSettings | None) -> None:
    registry = registry_of(lambda: monitor.snapshot, monitor.health, lambda: monitor.failures, settings)

    @app.get("/metrics")
    def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(known_formats(request.headers.getlist("accept")))
        return Response(encode(registry), headers={"Content-Type": content_type})

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        health = monitor.health()
        return JSONResponse(jsonable_encoder(asdict(health)), status_code=200 if health.healthy else 503)


def _add_pages(app: FastAPI, monitor: Monitor, templates: Environment) -> None:
    @app.get("/")
    def overview() -> HTMLResponse:
        snapshot = monitor.snapshot
        text = templates.get_template("overview.html").render(
            page=overview_of(snapshot) if snapshot else None,
            collector_stats=snapshot.collector_stats if snapshot else None,
            silences=snapshot.silences if snapshot else (),
            health=monitor.health(),
            summary=summary,
        )
        return HTMLResponse(text)

    @app.get("/deployment")
    def deployment(name: str) -> HTMLResponse:
        snapshot = monitor.snapshot
        state = snapshot.deployments.get(name) if snapshot else None
        card, axis = card_of(name, state) if state else (None, None)
        silences = [one for one in snapshot.silences if one.deployment in (None, name)] if snapshot else []
        text = templates.get_template("deployment.html").render(
            name=name, card=card, axis=axis, silences=silences, snapshot=snapshot, summary=summary
        )
        return HTMLResponse(text, status_code=404 if snapshot and not state else 200)
