from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.app import create_app
from monitor.service import Monitor
from tests.monitor.test_page import FLAGS

WIDTH = 390
_MEASURE = """<!doctype html><title>waiting</title>
<iframe id="page" src="{path}" width="{width}" height="800" style="border:0"></iframe>
<script>
document.getElementById("page").onload = event => {{
  const root = event.target.contentDocument.documentElement;
  const wide = [...root.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1);
  document.title = `measured ${{root.scrollWidth}} of ${{root.clientWidth}}: ` +
    wide.slice(0, 5).map(e => `${{e.tagName}}.${{e.className}}`).join(" ");
}};
</script>"""


def framed(pages: ASGIApp) -> Starlette:
    """Serve the pages, without the policy that forbids frames, and `/measure`, a frame of them as wide as a phone."""

    async def without_policy(scope: Scope, receive: Receive, send: Send) -> None:
        async def pass_on(message: Message) -> None:
            kept = [header for header in message.get("headers", ()) if header[0] != b"content-security-policy"]
            await send({**message, "headers": kept} if message["type"] == "http.response.start" else message)

        await pages(scope, receive, pass_on)

    async def measure(request: Any) -> HTMLResponse:
        return HTMLResponse(_MEASURE.format(path=request.query_params["path"], width=WIDTH))

    return Starlette(routes=[Route("/measure", measure), Mount("/", without_policy)])


@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize("path", ["/", "/deployment?name=rag-search", "/" + "long" * 50])
def test_a_page_fits_a_phone(
    monitor: Monitor, serve: Callable[[Any], str], program: Callable[[str], str], tmp_path: Path, path: str
):
    """At 390 pixels nothing makes the page scroll sideways, long names included."""
    monitor.refresh()
    address = serve(framed(create_app(monitor)))
    url = f"{address}/measure?path={path.replace('?', '%3F').replace('=', '%3D')}"
    command = [program("chromium"), *FLAGS, f"--user-data-dir={tmp_path / 'chromium'}", "--virtual-time-budget=10000"]
    page = subprocess.run([*command, "--dump-dom", url], capture_output=True, timeout=240, check=True).stdout.decode()
    measured = re.search(r"<title>measured (\d+) of (\d+): (.*?)</title>", page)
    assert measured, page[:500]
    assert int(measured[1]) <= int(measured[2]), f"too wide: {measured[3]}"
