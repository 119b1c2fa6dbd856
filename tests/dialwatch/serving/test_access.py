"""Access to the pages of the real service, over real connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from dialwatch.config import Settings
from dialwatch.services.running import monitoring
from dialwatch.serving.hosts import KnownHosts
from dialwatch.serving.server import BackgroundServer
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.browser import dump
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

TOKEN = "correct horse battery staple"
GROUPS = {"staff": {"deployments": ["*"], "rights": ["texts", "act"]}}
ME = {"X-Forwarded-User": "eve", "X-Forwarded-Groups": "staff"}


def settings_for(folder: Path, access: object, host: str = "127.0.0.1") -> Settings:
    lake = Lake(str(folder / "lake"))
    lake.table(PARSED_LOGS, "secret-rag").append(PARSED_LOGS.rows([{"deployment": "secret-rag"}]))
    section = {"listen": f"{host}:{free_port()}", "access": access, "refresh_seconds": 0.2}
    return Settings.model_validate({"lake": {"root": lake.root}, "monitor": section})


def serve(stack: ExitStack, settings: Settings) -> str:
    url = stack.enter_context(monitoring(settings, settings.lake.open()))
    wait_for(lambda: httpx.get(f"{url}/readyz").status_code == 200)
    return url


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize(
    "spoofed",
    [
        {},
        {"X-Forwarded-For": "10.0.0.7"},
        {"X-Forwarded-For": "10.0.0.7, 127.0.0.1"},
        {"X-Real-IP": "10.0.0.7", "Forwarded": "for=10.0.0.7"},
        {"X-Forwarded-For": "10.0.0.7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "10.0.0.7"},
    ],
)
def test_a_client_cannot_pass_for_the_proxy(
    tmp_path: Path, stack: ExitStack, spoofed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection's own address counts, on this machine too, and whatever uvicorn is told by the environment."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    access = {"proxy": {"addresses": ["10.0.0.7"], "groups": GROUPS}}
    url = serve(stack, settings_for(tmp_path, access))
    answer = httpx.get(f"{url}/", headers=ME | spoofed)
    assert answer.status_code == 401
    assert "secret-rag" not in answer.text
    assert httpx.get(f"{url}/metrics", headers={"Host": "any.example.com"}).status_code == 200
    assert httpx.get(f"{url}/readyz", headers={"Host": "any.example.com"}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_the_proxy_names_a_person(tmp_path: Path, stack: ExitStack, host: str) -> None:
    """From a configured address the headers are believed, over IPv4 and IPv6."""
    access = {"proxy": {"addresses": ["127.0.0.0/8", "::1"], "groups": GROUPS}}
    url = serve(stack, settings_for(tmp_path, access, host))
    page = httpx.get(f"{url}/", headers=ME)
    assert page.status_code == 200
    assert "secret-rag" in page.text
    assert "<bdi>eve</bdi>" in page.text
    assert httpx.get(f"{url}/").status_code == 401


def test_pages_for_all_machines_with_a_token(tmp_path: Path, stack: ExitStack) -> None:
    """The token opens them, each sign-in is stored, and a form of another site is refused."""
    settings = settings_for(tmp_path, {"token": TOKEN}, "0.0.0.0")
    url = serve(stack, settings).replace("0.0.0.0", "127.0.0.1")
    assert httpx.get(f"{url}/").status_code == 401
    assert httpx.get(f"{url}/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    with httpx.Client(base_url=url) as browser:
        sent: dict[str, Any] = {"data": {"token": TOKEN, "next": "/"}}
        assert browser.post("/sign-in", **sent, headers={"Origin": "https://evil.example.com"}).status_code == 403
        assert browser.get("/").status_code == 401
        assert browser.post("/sign-in", **sent, headers={"Origin": url}).status_code == 303
        assert "secret-rag" in browser.get("/").text
    audit = Lake(settings.lake.root).table(AUDIT)
    wait_for(lambda: audit.version() is not None)
    assert audit.read(["who", "action"]).to_pylist() == [{"who": "token", "action": "sign_in"}]


def test_a_form_that_never_ends_is_ended(tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign-in whose body does not arrive is answered."""
    monkeypatch.setattr("monitor.pages.forms._RECEIVE_SECONDS", 0.5)
    url = serve(stack, settings_for(tmp_path, {"token": TOKEN}))
    head = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as connection:
        connection.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=".encode())
        assert b" 408 " in connection.recv(1000)


_SENDS_ITSELF = f"""<!doctype html><form method="post" action="/sign-in">
<input name="token" value="{TOKEN}"><input name="next" value="/deployment?name=secret-rag"></form>
<script>document.forms[0].submit()</script>"""


def test_a_browser_signs_in(tmp_path: Path, stack: ExitStack) -> None:
    """Chromium comes from the overview to the form; sent from a page like ours, it leads to the page with its name."""
    settings = settings_for(tmp_path, {"token": TOKEN})
    watch = Monitor(settings.lake.open(), settings.monitor, lambda: datetime.now(UTC))
    watch.refresh()
    pages = KnownHosts(create_app(watch), "127.0.0.1", [], "monitor.hosts")

    async def with_script(scope: Scope, receive: Receive, send: Send) -> None:
        """Give the pages, and one that has a script, with the policy for referrers that ours have."""
        if scope["type"] == "http" and scope["path"] == "/sends-itself":
            await HTMLResponse(_SENDS_ITSELF, headers={"Referrer-Policy": policy})(scope, receive, send)
        else:
            await pages(scope, receive, send)

    url = stack.enter_context(BackgroundServer(with_script, "127.0.0.1:0")).url
    policy = httpx.get(f"{url}/sign-in").headers["referrer-policy"]
    form = dump(f"{url}/", tmp_path)
    assert '<input type="hidden" name="next" value="/">' in form
    assert "secret-rag" not in form
    page = dump(f"{url}/sends-itself", tmp_path)
    assert "Signed in as <bdi>token</bdi>" in page
    assert "<bdi>secret-rag</bdi>" in page
