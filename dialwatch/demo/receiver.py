"""A small webhook receiver: what a team would run, here to show that the alert arrives and is signed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from standardwebhooks import Webhook, WebhookVerificationError

MAX_BODY_BYTES = 1_000_000


@dataclass(frozen=True)
class Delivery:
    """One request to the receiver. `body` is empty where the signature was refused: it may be anyone's."""

    webhook_id: str
    verified: bool
    body: dict[str, Any]


class WebhookReceiver:
    """Take signed webhooks on a free port of 127.0.0.1 while the context is open.

    A request whose signature, timestamp and body hold (Standard Webhooks) is answered with 204, another with
    401; both are added to `received` and handed to `on_delivery`, which runs in the server's thread.
    """

    def __init__(self, secret: str, on_delivery: Callable[[Delivery], None] = lambda _: None) -> None:
        self.received: list[Delivery] = []
        self._webhook = Webhook(secret)
        self._on_delivery = on_delivery
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Address to send webhooks to."""
        return f"http://127.0.0.1:{self._server.server_port}/webhook"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _take(self, headers: dict[str, str], content: bytes) -> bool:
        webhook_id = headers.get("webhook-id", "")
        try:
            body = self._webhook.verify(content, headers)
        # A signature that is no base64 and a body that is no JSON are refused, too.
        except (WebhookVerificationError, ValueError):
            body = None
        verified = isinstance(body, dict)
        delivery = Delivery(webhook_id, verified, body if verified else {})
        self.received.append(delivery)
        self._on_delivery(delivery)
        return verified

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        take = self._take

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_POST(self) -> None:
                length = self.headers.get("content-length", "")
                if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                    self.send_error(413, f"send a content-length of at most {MAX_BODY_BYTES} bytes, not {length!r}")
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.send_response(204 if take(headers, self.rfile.read(int(length))) else 401)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Stay silent: the demo prints what it receives."""

        return Handler
