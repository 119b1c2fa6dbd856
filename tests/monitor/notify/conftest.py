from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from monitor.alerting.alerts.change import AlertChange, AlertDetails, WorstAnswer
from monitor.detect.regression import StreamKey
from monitor.notify.settings import WebhookSettings
from tests.servers import wait_for

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()


@dataclass(frozen=True)
class Reply:
    """What a receiver answers; `silent` means not at all, until it is closed."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    silent: bool = False


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


class WebhookSender:
    """A real HTTP server that keeps what it gets and answers with the given replies, the last one for ever."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.replies: list[Reply] = [Reply()]
        self._closing = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append(Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                replies = receiver.replies
                reply = replies.pop(0) if len(replies) > 1 else replies[0]
                if reply.silent:
                    receiver._closing.wait(60)
                    return
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    def settings(self, name: str = "pager", secret: str = SECRET) -> WebhookSettings:
        return WebhookSettings.model_validate({"name": name, "url": self.url, "secret": secret})

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.requests) < count:
            assert time.monotonic() < deadline, f"{len(self.requests)} of {count} requests came"
            time.sleep(0.01)

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def wait_until() -> Callable[..., Any]:
    return wait_for


@pytest.fixture
def secret() -> str:
    return SECRET


@pytest.fixture
def start_receiver() -> Iterator[Callable[..., WebhookSender]]:
    started: list[WebhookSender] = []

    def start(*replies: tuple[int, dict[str, str]] | int | None) -> WebhookSender:
        """Start one that answers with these statuses, or (status, headers), or, for None, not at all."""
        receiver = WebhookSender()
        if replies:
            receiver.replies = [
                Reply(silent=True) if r is None else Reply(r) if isinstance(r, int) else Reply(*r) for r in replies
            ]
        started.append(receiver)
        return receiver

    yield start
    for receiver in started:
        receiver.close()


@pytest.fixture
def firing() -> AlertChange:
    return AlertChange(
        change_id="change-1",
        alert_id="alert-1-0123456789abcdef",
        key=StreamKey("apps/rag", "faithfulness_kprecision", "1"),
        change="firing",
        changed_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        since=datetime(2026, 11, 20, 9, 30, tzinfo=UTC),
        reference_mean=0.8,
        current_mean=0.41,
        current_lower=0.3,
        current_upper=0.52,
        log_evidence=7.1,
        log_threshold=6.6,
        details=AlertDetails(
            fired_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
            false_alarm_every_seconds=30 * 86400.0,
            worst=(WorstAnswer("chatcmpl-1", 0.0), WorstAnswer("chatcmpl-2", 0.1)),
        ),
    )
