"""Probes of a part: `/metrics`, `/healthz` whether its process answers, `/readyz` whether it can do its work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry

from collector.metrics.prometheus import add_metrics
from dialwatch.errors import AddressError, ConfigError
from dialwatch.services.heartbeats import Part
from dialwatch.serving.server import BackgroundServer

logger = logging.getLogger(__name__)


def add_health(app: FastAPI) -> None:
    """Let an application answer GET and HEAD of `/healthz` as long as its process does."""

    @app.head("/healthz")
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}


def add_readiness(app: FastAPI, part: Part) -> None:
    """Let an application answer GET and HEAD of `/readyz`: 200 while the part is ready, else 503.

    `problem` names a source without lines. Where lines come over HTTP it leaves the part ready: a balancer sends none
    to a process that is not.
    """

    @app.head("/readyz")
    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        is_ready = part.is_ready()
        return JSONResponse({"ready": is_ready, "problem": part.sources_problem()}, 200 if is_ready else 503)


@contextmanager
def serving_probes(listen: str | None, setting: str, registry: CollectorRegistry, part: Part) -> Iterator[str | None]:
    """Serve a part's `/metrics`, `/healthz` and `/readyz` while the block runs, if it has an address; yields the URL.

    Raises ConfigError, which names the setting, for an address that cannot be.
    """
    if listen is None:
        yield None
        return
    app = FastAPI(title=f"dialwatch {part.name.value}", docs_url=None, redoc_url=None, openapi_url=None)
    add_metrics(app, registry)
    add_health(app)
    add_readiness(app, part)
    try:
        server = BackgroundServer(app, listen)
    except (AddressError, OSError) as error:
        raise ConfigError(f"{setting}: {error}") from None
    with server:
        logger.info("metrics of the %s on %s/metrics", part.name.value, server.url)
        yield server.url
