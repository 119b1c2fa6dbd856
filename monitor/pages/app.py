"""Web application of the monitor: its pages, `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict

from fastapi import FastAPI, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client.exposition import choose_encoder

from lake import known_formats
from monitor.access.authentication import ByToken, authentication_of
from monitor.exporter.registry import registry_of
from monitor.pages.access_control import AccessControl, refusal_of
from monitor.pages.answers import add_answer_pages
from monitor.pages.deployment import add_deployment_page
from monitor.pages.error_pages import add_error_pages
from monitor.pages.fleet import add_overview
from monitor.pages.rendering import POLICY, STATIC, Renderer
from monitor.pages.sign_in import add_sign_in
from monitor.service import Monitor
from monitor.settings import MonitorSettings

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Of our own forms browsers then send the Origin, which they would otherwise give as null.
    "Referrer-Policy": "same-origin",
    # Ask again each time: after an update a page must not come in the old style.
    "Cache-Control": "no-cache",
}


def create_app(monitor: Monitor, settings: MonitorSettings | None = None) -> FastAPI:
    """Give the application that shows a monitor's newest snapshot; only the pages of answers read the lake.

    Without `monitor.access` in the settings everybody may see everything: serve it on loopback alone then.
    """
    chosen = settings or monitor.settings
    authentication = authentication_of(chosen.access)
    renderer = Renderer(authentication)
    app = FastAPI(title="dialwatch monitor", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    # Of two the later one is the outer one: what is refused has the headers, too.
    app.add_middleware(AccessControl, authentication=authentication, refuse=refusal_of(authentication, renderer))
    _add_headers(app)
    _add_routes_for_machines(app, monitor, settings)
    add_overview(app, monitor, renderer)
    add_deployment_page(app, monitor, renderer)
    add_answer_pages(app, monitor, renderer, authentication)
    if isinstance(authentication, ByToken):
        add_sign_in(
            app, renderer, authentication, monitor.audit, is_https=chosen.external_url.lower().startswith("https:")
        )
    add_error_pages(app, renderer)
    return app


def _add_headers(app: FastAPI) -> None:
    @app.middleware("http")
    async def protect(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response


def _add_routes_for_machines(app: FastAPI, monitor: Monitor, settings: MonitorSettings | None) -> None:
    registry = registry_of(lambda: monitor.snapshot, monitor.health, lambda: monitor.failures, settings, monitor.audit)

    @app.get("/metrics")
    def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(known_formats(request.headers.getlist("accept")))
        return Response(encode(registry), headers={"Content-Type": content_type})

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        health = monitor.health()
        return JSONResponse(jsonable_encoder(asdict(health)), status_code=200 if health.healthy else 503)

    @app.get("/readyz")
    def readyz() -> JSONResponse:
        is_ready = monitor.snapshot is not None
        return JSONResponse({"ready": is_ready}, status_code=200 if is_ready else 503)
