"""The overview in a browser: no width makes the page scroll sideways, and nothing is lost on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.browser import excess_on_phone, frame_of
from tests.monitor.conftest import ScoreColumns

pytestmark = pytest.mark.integration


@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_table_fits(
    monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path, rows: ScoreColumns, width: int
) -> None:
    """With long names, metrics and searches, with and without rows."""
    long = "long" * 40
    rows.logs(long, {"status": 503}, {"error": "cut"}, {"status": 404})
    rows.hours(long, 4, lambda left: 0.5, long)
    monitor.refresh()
    pages = create_app(monitor)

    async def without_policy(scope: Scope, receive: Receive, send: Send) -> None:
        async def pass_on(message: Message) -> None:
            kept = [header for header in message.get("headers", ()) if header[0] != b"content-security-policy"]
            await send({**message, "headers": kept} if message["type"] == "http.response.start" else message)

        await pages(scope, receive, pass_on)

    async def frame(request: Any) -> HTMLResponse:
        return HTMLResponse(frame_of(request.query_params["path"], width))

    address = serve(Starlette(routes=[Route("/frame", frame), Mount("/", without_policy)]))
    for path in ("/?days=30", f"/?q={long}", "/?q=nothing&state=page"):
        assert excess_on_phone(f"{address}/frame?path={quote(path, safe='')}", tmp_path) == (0, "")
