"""Web applications of the monitor: its pages, and `/metrics`, `/healthz` and `/readyz` with them or alone.

The tables of routes say which handler answers which address.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import BaseRoute, Mount

from lake.queries.answer_details import AnswerDetails
from monitor.access.authentication import Authentication, ByToken, authentication_of
from monitor.pages.access_control import SIGN_IN, AccessControl
from monitor.pages.answers.addresses import AnswerPlace
from monitor.pages.answers.handlers import AnswerList, AnswerPages
from monitor.pages.answers.query import AnswerQuery
from monitor.pages.answers.saved_search_pages import SavedSearches, SavedSearchPages
from monitor.pages.compare.handlers import CompareData, ComparePage
from monitor.pages.compare.query import CompareQuery
from monitor.pages.deployment.as_json import DeploymentData
from monitor.pages.deployment.handlers import DeploymentPage
from monitor.pages.ground_truth.handlers import CaseQuery, GroundTruthPage, QueueData
from monitor.pages.incidents.as_json import IncidentData, IncidentList
from monitor.pages.incidents.handlers import IncidentAddress, IncidentPages
from monitor.pages.json_answers import asks_for_json
from monitor.pages.lake_reads import LakeReads
from monitor.pages.machine_answers import MachineAnswers, Readiness
from monitor.pages.openapi import OpenApi, described, described_probe
from monitor.pages.overview.as_json import Overview
from monitor.pages.overview.handlers import OverviewPage
from monitor.pages.overview.health_page import HealthData, HealthPage
from monitor.pages.overview.judge_costs import JudgeCostsData
from monitor.pages.rendering import POLICY, STATIC, Renderer
from monitor.pages.sign_in import SignIn
from monitor.pages.times import Times
from monitor.service.health.health import Health
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings

_NOT_FOUND, _METHOD_NOT_ALLOWED, _UNPROCESSABLE, _FAILED = 404, 405, 422, 500
_PLAIN_NOT_FOUND = "Not Found"
"""What Starlette says of an address that leads nowhere."""
_WITHOUT_DOCS: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": None}


_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # Of our own forms browsers then send the Origin, which they would otherwise give as null.
    "Referrer-Policy": "same-origin",
    # Ask again each time: after an update a page must not come in the old style.
    "Cache-Control": "no-cache",
}


async def _with_headers(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call_next(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


_ADD_HEADERS = Middleware(BaseHTTPMiddleware, dispatch=_with_headers)


def create_app(
    monitor: Monitor,
    settings: MonitorSettings | None = None,
    more_metrics: Sequence[Collector] = (),
    *,
    with_metrics: bool = True,
) -> FastAPI:
    """Return the application that shows a monitor's newest snapshot; only the pages of answers read the lake.

    `with_metrics` False leaves `/metrics`, `/healthz` and `/readyz` to `create_metrics_app`. `/metrics` shows
    `more_metrics` too.
    Without `monitor.access` in the settings everybody may see everything: serve it on loopback alone then.
    """
    chosen = settings or monitor.settings
    authentication = authentication_of(chosen.access, monitor.wrong_tokens)
    renderer = Renderer(authentication, Times(chosen.time_zone), chosen.currency, with_metrics=with_metrics)
    routes: list[BaseRoute] = [Mount("/static", StaticFiles(directory=STATIC), name="static")]
    if with_metrics:
        routes += _machine_routes(MachineAnswers(monitor, settings, more_metrics))
    routes += _page_routes(monitor, renderer, authentication)
    if isinstance(authentication, ByToken):
        is_https = chosen.external_url.lower().startswith("https:")
        routes += _sign_in_routes(SignIn(renderer, authentication, monitor.audit, is_https=is_https))
    openapi = OpenApi(chosen.external_url, has_token=isinstance(authentication, ByToken))
    routes.append(APIRoute("/openapi.json", openapi.show, include_in_schema=False))
    errors = _ErrorPages(renderer)
    return FastAPI(
        title="dialwatch monitor",
        **_WITHOUT_DOCS,
        routes=routes,
        # The first is the outer one: what is refused has the headers, too.
        middleware=[
            _ADD_HEADERS,
            Middleware(AccessControl, authentication=authentication, renderer=renderer, proxies=chosen.proxies),
        ],
        exception_handlers={
            HTTPException: errors.refused,
            RequestValidationError: errors.incomplete,
            Exception: errors.failed,
        },
    )


def create_metrics_app(
    monitor: Monitor, settings: MonitorSettings | None = None, more_metrics: Sequence[Collector] = ()
) -> FastAPI:
    """Return the application of `/metrics`, `/healthz` and `/readyz` alone, for an address of their own."""
    routes = _machine_routes(MachineAnswers(monitor, settings, more_metrics, is_private=True))
    return FastAPI(title="dialwatch metrics", **_WITHOUT_DOCS, routes=routes, middleware=[_ADD_HEADERS])


def _page_routes(monitor: Monitor, renderer: Renderer, authentication: Authentication) -> list[BaseRoute]:
    """Return the table of the pages, their JSON and their forms."""
    shared = (monitor, renderer, authentication, LakeReads())
    overview, deployment, answers = OverviewPage(*shared), DeploymentPage(*shared), AnswerPages(*shared)
    incidents, cases, compare = IncidentPages(*shared), GroundTruthPage(*shared), ComparePage(*shared)
    searches, health = SavedSearchPages(*shared), HealthPage(*shared)
    return [
        APIRoute("/", overview.show),
        APIRoute(
            "/overview.json",
            overview.show_json,
            **described(Overview, "All deployments over a period, and how dialwatch itself is"),
        ),
        APIRoute("/metrics-guide", overview.metrics_guide),
        APIRoute("/health", health.show),
        APIRoute(
            "/health.json",
            health.show_json,
            **described(HealthData, "How dialwatch itself is: its parts, and the receivers of alerts"),
        ),
        APIRoute("/judge-costs", health.show_costs),
        APIRoute(
            "/judge-costs.json",
            health.show_costs_json,
            **described(JudgeCostsData, "What judges cost today and this month, by judge and deployment", 503),
        ),
        APIRoute("/deployment", deployment.show),
        APIRoute(
            "/deployment.json",
            deployment.show_json,
            **described(DeploymentData, "A deployment over a period", 404, 503),
        ),
        APIRoute("/answers", answers.search),
        APIRoute(
            "/answers.json",
            answers.search_json,
            **described(AnswerList, "Answers of a deployment", 503, parameters=AnswerQuery, required=("deployment",)),
        ),
        APIRoute("/answers.csv", answers.search_csv),
        APIRoute(
            "/answers/saved.json",
            searches.show_json,
            **described(SavedSearches, "Searches of answers that people saved by a name", 503),
        ),
        APIRoute("/answers/save", searches.save, methods=["POST"]),
        APIRoute("/answers/remove", searches.remove, methods=["POST"]),
        APIRoute("/answers/neighbour", answers.go_to_neighbour),
        APIRoute("/answer", answers.show),
        APIRoute(
            "/answer.json",
            answers.show_json,
            **described(AnswerDetails, "One answer with all that is known of it", 404, 503, parameters=AnswerPlace),
        ),
        APIRoute("/answer/label", answers.label, methods=["POST"]),
        APIRoute("/incidents", incidents.listed),
        APIRoute(
            "/incidents.json",
            incidents.listed_json,
            **described(IncidentList, "Open incidents, and those that ended in the last 30 days"),
        ),
        APIRoute("/incident", incidents.show),
        APIRoute(
            "/incident.json",
            incidents.show_json,
            **described(
                IncidentData, "One incident with all that is known of it", 404, 503, parameters=IncidentAddress
            ),
        ),
        APIRoute("/incident/acknowledge", incidents.acknowledge, methods=["POST"]),
        APIRoute("/incident/acknowledge/withdraw", incidents.withdraw_acknowledgement, methods=["POST"]),
        APIRoute("/incident/silence", incidents.silence, methods=["POST"]),
        APIRoute("/incident/silence/end", incidents.end_silence, methods=["POST"]),
        APIRoute("/incident/release", incidents.release, methods=["POST"]),
        APIRoute("/incident/release/withdraw", incidents.withdraw, methods=["POST"]),
        APIRoute("/ground-truth", cases.show),
        APIRoute(
            "/ground-truth.json",
            cases.show_json,
            **described(
                QueueData, "Cases of ground truth of a deployment, or of all", 404, 422, 503, parameters=CaseQuery
            ),
        ),
        APIRoute("/ground-truth/decide", cases.decide, methods=["POST"]),
        APIRoute("/ground-truth/edit", cases.edit, methods=["POST"]),
        APIRoute("/ground-truth/accept-surest", cases.accept_surest, methods=["POST"]),
        APIRoute("/ground-truth/undo-together", cases.undo_together, methods=["POST"]),
        APIRoute("/ground-truth/undo", cases.undo, methods=["POST"]),
        APIRoute("/ground-truth/make", cases.make, methods=["POST"]),
        APIRoute("/compare", compare.show),
        APIRoute(
            "/compare.json",
            compare.show_json,
            **described(
                CompareData,
                "Answers to the same questions, compared",
                503,
                parameters=CompareQuery,
                required=("deployment",),
            ),
        ),
    ]


def _sign_in_routes(sign_in: SignIn) -> list[BaseRoute]:
    return [
        APIRoute(SIGN_IN, sign_in.form),
        APIRoute(SIGN_IN, sign_in.sign_in, methods=["POST"]),
        APIRoute("/sign-out", sign_in.sign_out, methods=["POST"]),
    ]


def _machine_routes(machines: MachineAnswers) -> list[BaseRoute]:
    return [
        APIRoute("/metrics", machines.metrics, response_class=PlainTextResponse, summary="Prometheus metrics"),
        APIRoute("/healthz", machines.healthz, **described_probe(Health, "Whether every part of dialwatch works")),
        APIRoute(
            "/readyz",
            machines.readyz,
            **described_probe(Readiness, "Whether there are figures, of lines that come in"),
        ),
        # Balancers and monitors of addresses ask by HEAD.
        APIRoute("/metrics", machines.metrics, methods=["HEAD"], include_in_schema=False),
        APIRoute("/healthz", machines.healthz, methods=["HEAD"], include_in_schema=False),
        APIRoute("/readyz", machines.readyz, methods=["HEAD"], include_in_schema=False),
    ]


class _ErrorPages:
    """Answers what cannot be served with a page for people (`error_page.html`); of `.json` addresses with JSON."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    async def refused(self, request: Request, error: HTTPException) -> Response:
        path, message = request.url.path, str(error.detail)
        if error.status_code == _NOT_FOUND and not (asks_for_json(request) and message != _PLAIN_NOT_FOUND):
            message = f"There is no page {path}"
        if error.status_code == _METHOD_NOT_ALLOWED:
            message = f"{path} does not take {request.method}"
        return self._renderer.error(request, error.status_code, message, error.headers)

    async def incomplete(self, request: Request, error: RequestValidationError) -> Response:
        parameters = ", ".join(str(one["loc"][-1]) for one in error.errors())
        message = f"The address {request.url.path} lacks a usable {parameters}"
        return self._renderer.error(request, _UNPROCESSABLE, message)

    async def failed(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - it is logged
        message = "An error of dialwatch kept this from being given; its log says more"
        return self._renderer.error(request, _FAILED, message)
