from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.browser import PHONE, excess_on_phone, frame_of
from tests.monitor.conftest import NOW, ScoreColumns

pytestmark = pytest.mark.integration


def framed(pages: ASGIApp) -> Starlette:
    """Serve the pages, without the policy that forbids frames, and `/frame?path=`, which measures one of them."""

    async def without_policy(scope: Scope, receive: Receive, send: Send) -> None:
        async def pass_on(message: Message) -> None:
            kept = [header for header in message.get("headers", ()) if header[0] != b"content-security-policy"]
            await send({**message, "headers": kept} if message["type"] == "http.response.start" else message)

        await pages(scope, receive, pass_on)

    async def frame(request: Any) -> HTMLResponse:
        width = int(request.query_params.get("width", PHONE))
        return HTMLResponse(frame_of(request.query_params["path"], width))

    return Starlette(routes=[Route("/frame", frame), Mount("/", without_policy)])


@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/health",
        "/judge-costs",
        "/deployment?name=rag-search",
        "/deployment?name=rag-search&days=90",
        "/" + "long" * 50,
    ],
)
def test_a_page_fits_a_phone(monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path, path: str):
    """At 390 pixels nothing makes the page scroll sideways, long names included."""
    monitor.refresh()
    address = serve(framed(create_app(monitor)))
    assert excess_on_phone(f"{address}/frame?path={quote(path, safe='')}", tmp_path) == (0, "")


@pytest.mark.parametrize(
    "query", ["", "?deployment={name}", "?deployment={name}&between=replays", "?deployment={name}x"]
)
def test_the_comparison_fits_a_phone(
    monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path, rows: ScoreColumns, query: str
):
    """With a deployment whose name has 100 characters and no place to break: found, with nothing, and not there."""
    name = "long" * 25
    for days in (1, 8):
        at = NOW - timedelta(days=days)
        row = {"event_id": f"e{days}", "response_id": f"e{days}", "requested_at": at, "date": at.date()}
        rows.logs(name, row | {"question": "How much leave?"})
        rows.scores(name, row | {"value": 1 / days})
    monitor.refresh()
    address = serve(framed(create_app(monitor)))
    path = f"/compare{query.format(name=name)}"
    assert excess_on_phone(f"{address}/frame?path={quote(path, safe='')}", tmp_path) == (0, "")


@pytest.mark.usefixtures("three_deployments")
def test_the_sign_in_fits_a_phone(monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path):
    """So does the header with the longest name of a person."""
    monitor.refresh()
    by_token = MonitorSettings.model_validate({"access": {"token": "correct horse battery staple"}})
    address = serve(framed(create_app(monitor, by_token)))
    assert excess_on_phone(f"{address}/frame?path=/sign-in", tmp_path) == (0, "")
    proxy = {"addresses": ["127.0.0.1"], "groups": {"all": {"deployments": ["*"]}}}
    pages = create_app(monitor, MonitorSettings.model_validate({"access": {"proxy": proxy}}))
    headers = [(b"x-forwarded-user", b"w" * 256), (b"x-forwarded-groups", b"all")]

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        await pages({**scope, "headers": [*scope.get("headers", ()), *headers]}, receive, send)

    address = serve(framed(named))
    assert f"<bdi>{'w' * 256}</bdi>" in httpx.get(address).text
    assert excess_on_phone(f"{address}/frame?path=/", tmp_path) == (0, "")
