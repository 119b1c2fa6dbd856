"""Web applications of the monitor: its pages, and `/metrics`, `/healthz` and `/readyz` with them or alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from prometheus_client.registry import Collector

from lake.spec.metric_names import metric_names
from monitor.access.authentication import ByToken, authentication_of
from monitor.pages.access_control import AccessControl, refusal_of
from monitor.pages.answers import add_answer_pages
from monitor.pages.answers.reading import LakeReads
from monitor.pages.compare import add_compare_page
from monitor.pages.deployment import add_deployment_page
from monitor.pages.error_pages import add_error_pages
from monitor.pages.ground_truth import add_ground_truth_page
from monitor.pages.incidents import add_incident_pages
from monitor.pages.machine_routes import add_routes_for_machines
from monitor.pages.openapi import add_openapi
from monitor.pages.overview import add_overview
from monitor.pages.rendering import POLICY, STATIC, Renderer
from monitor.pages.sign_in import add_sign_in
from monitor.pages.times import Times
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Of our own forms browsers then send the Origin, which they would otherwise give as null.
    "Referrer-Policy": "same-origin",
    # Ask again each time: after an update a page must not come in the old style.
    "Cache-Control": "no-cache",
}


def create_app(
    monitor: Monitor,
    settings: MonitorSettings | None = None,
    more_metrics: Sequence[Collector] = (),
    *,
    with_metrics: bool = True,
) -> FastAPI:
    """Give the application that shows a monitor's newest snapshot; only the pages of answers read the lake.

    `with_metrics` False leaves `/metrics`, `/healthz` and `/readyz` to `create_metrics_app`. `/metrics` shows
    `more_metrics` too.
    Without `monitor.access` in the settings everybody may see everything: serve it on loopback alone then.
    """
    chosen = settings or monitor.settings
    authentication = authentication_of(chosen.access)
    renderer = Renderer(authentication, Times(chosen.time_zone), with_metrics=with_metrics)
    app = FastAPI(title="dialwatch monitor", docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    # Of two the later one is the outer one: what is refused has the headers, too.
    app.add_middleware(AccessControl, authentication=authentication, refuse=refusal_of(authentication, renderer))
    _add_headers(app)
    if with_metrics:
        add_routes_for_machines(app, monitor, settings, more_metrics)
    add_overview(app, monitor, renderer)

    @app.get("/metrics-guide", include_in_schema=False)
    def metrics_guide(request: Request) -> Response:
        return renderer.page(request, "metrics_guide.html", names=metric_names())

    add_deployment_page(app, monitor, renderer)
    reads = LakeReads()
    add_answer_pages(app, monitor, renderer, authentication, reads)
    add_incident_pages(app, monitor, renderer, authentication, reads)
    add_ground_truth_page(app, monitor, renderer, authentication, reads)
    add_compare_page(app, monitor, renderer, reads)
    if isinstance(authentication, ByToken):
        add_sign_in(
            app, renderer, authentication, monitor.audit, is_https=chosen.external_url.lower().startswith("https:")
        )
    add_openapi(app, server=chosen.external_url, has_token=isinstance(authentication, ByToken))
    add_error_pages(app, renderer)
    return app


def create_metrics_app(
    monitor: Monitor, settings: MonitorSettings | None = None, more_metrics: Sequence[Collector] = ()
) -> FastAPI:
    """Give the application of `/metrics`, `/healthz` and `/readyz` alone, for an address of their own."""
    app = FastAPI(title="dialwatch metrics", docs_url=None, redoc_url=None, openapi_url=None)
    _add_headers(app)
    add_routes_for_machines(app, monitor, settings, more_metrics, is_private=True)
    return app


def _add_headers(app: FastAPI) -> None:
    @app.middleware("http")
    async def protect(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await call_next(request)
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response
