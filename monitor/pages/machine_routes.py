"""Routes that programs ask for: `/metrics`, `/healthz` and `/readyz`."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import FastAPI, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from prometheus_client.exposition import choose_encoder

from lake import known_formats
from monitor.exporter.registry import registry_of
from monitor.service import Monitor
from monitor.settings import MonitorSettings


def add_routes_for_machines(app: FastAPI, monitor: Monitor, settings: MonitorSettings | None) -> None:
    """Add `/metrics`, `/healthz` and `/readyz`; `settings` bound the labels of the metrics."""
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
