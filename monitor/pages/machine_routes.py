"""Routes that programs ask for: `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from monitor.exporter.registry import registry_of
from monitor.pages.json_answers import json_answer
from monitor.pages.rendering import reader_of
from monitor.pages.visibility import health_for, problem_for
from monitor.service.health.health import Health
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from runtime.accept_header import known_formats


@dataclass(frozen=True)
class Readiness:
    """Whether there are figures, and the process that makes them gets lines; `problem` says what is missing."""

    ready: bool
    problem: str | None = None


def add_routes_for_machines(
    app: FastAPI,
    monitor: Monitor,
    settings: MonitorSettings | None,
    more: Sequence[Collector] = (),
    *,
    is_private: bool = False,
) -> None:
    """Add `/metrics`, `/healthz` and `/readyz`; `settings` bound the labels of the metrics, `more` are further ones.

    `is_private`: only programs of our own reach them, so that `/healthz` says why a part fails.
    """
    registry = registry_of(
        lambda: monitor.snapshot,
        monitor.lake.installation,
        monitor.health,
        lambda: monitor.failures,
        settings,
        monitor.audit,
        more,
    )

    # Balancers and monitors of addresses ask by HEAD.
    @app.head("/metrics", include_in_schema=False)
    @app.get("/metrics", response_class=PlainTextResponse, summary="Prometheus metrics")
    def metrics(request: Request) -> Response:
        encode, content_type = choose_encoder(known_formats(request.headers.getlist("accept")))
        return Response(encode(registry), headers={"Content-Type": content_type})

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz", **_described(Health, "Whether every part of dialwatch works"))
    def healthz(request: Request) -> Response:
        # Errors may name deployments: with access their words are for who may see all, and shows it.
        health = monitor.health() if is_private else health_for(reader_of(request), monitor.health())
        return json_answer(health, 200 if health.healthy else 503)

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", **_described(Readiness, "Whether there are figures, of lines that come in"))
    def readyz(request: Request) -> Response:
        problem = monitor.lacks() if monitor.snapshot is not None else "the lake has not been read yet"
        shown = problem_for(None if is_private else reader_of(request), problem)
        return json_answer(Readiness(problem is None, shown), 200 if problem is None else 503)


def _described(model: type, summary: str) -> dict[str, Any]:
    """Describe a route that gives the same with 200 and with 503."""
    words = {"model": model, "description": "No: the answer says more, where there is more."}
    return {"response_model": model, "summary": summary, "responses": {503: words}}
