"""Pages of answers in Chromium: they fit both widths, and nothing of what was stored runs or is fetched."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.browser import DESKTOP, PHONE, dump, excess_on_phone
from tests.monitor.conftest import NOW, ScoreColumns
from tests.monitor.pages.answers.payloads import LONG, PAYLOADS, add_rows, event_id
from tests.monitor.pages.test_narrow_page import framed

pytestmark = pytest.mark.integration

ALL = "\n".join(PAYLOADS)
DAY = NOW.date().isoformat()


def page_of(text: str, number: int = 0) -> str:
    return f"/answer?{urlencode({'deployment': 'rag', 'date': DAY, 'event_id': event_id(number, text)})}"


@pytest.fixture
def outside() -> Iterator[tuple[str, list[str]]]:
    """A proxy that takes every request of the browser beyond this machine; gives its address and what was asked for."""
    asked: list[str] = []

    class Proxy(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().decode("latin-1").strip())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join(30)


@pytest.mark.parametrize("width", [PHONE, DESKTOP])
@pytest.mark.parametrize("path", ["/answers", "/answers?deployment=rag", page_of(PAYLOADS[0]), page_of(LONG, 40)])
def test_a_page_of_answers_fits(
    rows: ScoreColumns, lake: Lake, monitor: Monitor, serve: Callable[[Any], str], tmp_path: Path, path: str, width: int
) -> None:
    """At 390 and at 1280 pixels nothing scrolls sideways, whatever is stored."""
    add_rows(rows, lake, "rag", [*PAYLOADS, LONG])
    monitor.refresh()
    address = serve(framed(create_app(monitor)))
    url = f"{address}/frame?path={quote(path, safe='')}&width={width}"
    assert excess_on_phone(url, tmp_path) == (0, "")


def test_no_script_runs_and_nothing_is_fetched_from_elsewhere(
    rows: ScoreColumns,
    lake: Lake,
    monitor: Monitor,
    serve: Callable[[Any], str],
    tmp_path: Path,
    outside: tuple[str, list[str]],
) -> None:
    """All payloads in every column, without the policy of the header: what is escaped must do."""
    proxy, asked = outside
    add_rows(rows, lake, "rag", [ALL, *PAYLOADS])
    monitor.refresh()
    address = serve(framed(create_app(monitor)))
    located = f"/answer?{urlencode({'response_id': PAYLOADS[1]})}"
    for path in ("/answers?deployment=rag", "/answers?deployment=rag&page=2", page_of(ALL), located):
        page = dump(address + path, tmp_path, f"--proxy-server={proxy}", "--no-pings")
        title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
        assert title is not None
        assert title[1].startswith("dialwatch: ")
        assert "evil.example" in page
    # The browser asks its maker for this and that.
    assert [one for one in asked if "evil.example" in one] == []


def test_a_script_and_a_request_would_be_seen(
    serve: Callable[[Any], str], tmp_path: Path, outside: tuple[str, list[str]]
) -> None:
    """The test above can fail: unescaped, a payload changes the title, and the proxy gets its request."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    async def page(_: Any) -> HTMLResponse:
        return HTMLResponse(f"<title>dialwatch: x</title>{PAYLOADS[0]}{PAYLOADS[5]}")

    proxy, asked = outside
    found = dump(serve(Starlette(routes=[Route("/", page)])), tmp_path, f"--proxy-server={proxy}")
    assert "<title>PWNED</title>" in found
    assert any("evil.example" in one for one in asked)


@pytest.mark.usefixtures("three_deployments")
def test_from_the_overview_to_the_answer_behind_an_alert_are_two_clicks(
    monitor: Monitor, rows: ScoreColumns, serve: Callable[[Any], str], tmp_path: Path
) -> None:
    """The overview links to the deployment, and its worst answers to their pages."""
    monitor.refresh()
    assert monitor.snapshot is not None
    details = monitor.snapshot.deployments["rag-search"].changes[0].details
    rows.logs("rag-search", *({"response_id": one.response_id, "event_id": one.response_id} for one in details.worst))
    address = serve(create_app(monitor))
    overview = dump(address, tmp_path)
    links = re.findall(r'<a href="(/deployment[^"]*)">Deployment', overview)
    deployment = dump(address + links[0].replace("&amp;", "&"), tmp_path)
    worst = re.findall(r'<li><a href="(/answer\?[^"]*)"', deployment)
    assert len(worst) == 5
    assert "Answer of " in dump(address + worst[0].replace("&amp;", "&"), tmp_path)
