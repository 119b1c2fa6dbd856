"""Web applications of the monitor: its pages, and `/metrics`, `/healthz` and `/readyz` with them or alone."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException

from lake.spec.metric_names import metric_names
from lake.spec.service_vocabulary import AuditAction
from monitor.access.audit import AuditLog
from monitor.access.authentication import COOKIE, TOKEN_USER, ByToken, authentication_of
from monitor.access.sessions import SESSION_SECONDS
from monitor.pages.access_control import BEARER, MACHINE_PATHS, SIGN_IN, AccessControl, refusal_of
from monitor.pages.answers import add_answer_pages
from monitor.pages.answers.reading import LakeReads
from monitor.pages.compare import add_compare_page
from monitor.pages.deployment import add_deployment_page
from monitor.pages.forms import checked_form, fields_of
from monitor.pages.ground_truth import add_ground_truth_page
from monitor.pages.incidents import add_incident_pages
from monitor.pages.json_answers import JSON, ErrorAnswer, asks_for_json, json_answer
from monitor.pages.machine_routes import add_routes_for_machines
from monitor.pages.overview import add_overview
from monitor.pages.rendering import POLICY, STATIC, Renderer, reader_of
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


_NOT_FOUND, _METHOD_NOT_ALLOWED, _UNPROCESSABLE, _FAILED = 404, 405, 422, 500
_PLAIN_NOT_FOUND = "Not Found"
"""What Starlette says of an address that leads nowhere."""


def add_error_pages(app: FastAPI, renderer: Renderer) -> None:
    """Answer what `app` cannot serve with a page for people (`error_page.html`); of `.json` addresses with JSON."""

    def answer(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
        return renderer.error(request, status, message, headers)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        path, message = request.url.path, str(error.detail)
        if error.status_code == _NOT_FOUND and not (asks_for_json(request) and message != _PLAIN_NOT_FOUND):
            message = f"There is no page {path}"
        if error.status_code == _METHOD_NOT_ALLOWED:
            message = f"{path} does not take {request.method}"
        return answer(request, error.status_code, message, error.headers)

    @app.exception_handler(RequestValidationError)
    async def incomplete(request: Request, error: RequestValidationError) -> Response:
        parameters = ", ".join(str(one["loc"][-1]) for one in error.errors())
        message = f"The address {request.url.path} lacks a usable {parameters}"
        return answer(request, _UNPROCESSABLE, message)

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:  # noqa: ARG001 - it is logged
        return answer(request, _FAILED, "An error of dialwatch kept this from being given; its log says more")


OPENAPI = "/openapi.json"
_TOKEN = "token"  # noqa: S105 - a name
_REFUSED = {
    "description": "Nobody is signed in.",
    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorAnswer.__name__}"}}},
}
_UNUSED = ("HTTPValidationError", "ValidationError")
"""What FastAPI describes for the pages."""


def add_openapi(app: FastAPI, *, server: str, has_token: bool) -> None:
    """Serve the description; `server` is where the pages are found, if that is known."""

    @cache
    def description() -> dict[str, Any]:
        return _description(app, server, has_token=has_token)

    @app.get(OPENAPI, include_in_schema=False)
    def openapi() -> Response:
        return json_answer(description())


def _description(app: FastAPI, server: str, *, has_token: bool) -> dict[str, Any]:
    made = get_openapi(
        title="dialwatch",
        version=version("dialwatch"),
        description="The data of the pages. Times are UTC, dates are days in UTC.",
        routes=app.routes,
        servers=[{"url": server.rstrip("/")}] if server else None,
    )
    made["paths"] = {path: item for path, item in made["paths"].items() if path.endswith(JSON) or path in MACHINE_PATHS}
    for path, item in made["paths"].items():
        for operation in item.values():
            operation["operationId"] = path.strip("/").removesuffix(JSON).replace("/", "_")
            if has_token and path not in MACHINE_PATHS:
                operation["security"] = [{_TOKEN: []}]
                operation["responses"]["401"] = _REFUSED
    components = made["components"]
    components["schemas"] = {name: one for name, one in components["schemas"].items() if name not in _UNUSED}
    if has_token:
        components["securitySchemes"] = {_TOKEN: {"type": "http", "scheme": "bearer"}}
    return made


_OWN_ADDRESS = re.compile(r"/(?:[!-.0-\[\]-~][!-\[\]-~]*)?")
"""Path and query on this server: a second slash, or a backslash, would begin the name of another one."""


def add_sign_in(app: FastAPI, renderer: Renderer, authentication: ByToken, audit: AuditLog, *, is_https: bool) -> None:
    """Add `/sign-in` and `/sign-out`. `is_https`: browsers reach the pages by https, whatever a request says."""

    def cookie(request: Request, response: Response, value: str, seconds: int) -> Response:
        sent = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        secure = is_https or "https" in (sent, request.url.scheme)
        response.set_cookie(COOKIE, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)
        return response

    @app.get(SIGN_IN)
    def form(request: Request, next: str = "/") -> Response:
        if reader_of(request).who is not None:
            return RedirectResponse(_own(next), 303)
        return renderer.page(request, "sign_in.html", next=_own(next), is_wrong=False)

    @app.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        fields = await fields_of(request)
        target = _own(fields.get("next", "/"))
        if not authentication.is_token(fields.get("token", "").strip()):
            return renderer.page(request, "sign_in.html", 401, BEARER, next=target, is_wrong=True)
        audit.note(TOKEN_USER, AuditAction.SIGN_IN)
        return cookie(request, RedirectResponse(target, 303), authentication.sessions.begin(), SESSION_SECONDS)

    @app.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        await checked_form(request, authentication)
        reader = reader_of(request)
        if reader.session is not None:
            authentication.sessions.end(reader.session)
            audit.note(reader.who, AuditAction.SIGN_OUT)
        return cookie(request, RedirectResponse(SIGN_IN, 303), "", 0)


def _own(address: str) -> str:
    return address if _OWN_ADDRESS.fullmatch(address) else "/"
