"""A real SMTP server on the loopback, for tests of mail."""

from __future__ import annotations

import base64
import socketserver
import ssl
import threading
import time
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any, cast


@dataclass
class Received:
    """A mail as the server took it: its envelope, its bytes, and what they say."""

    sender: str
    to: list[str]
    data: bytes
    encrypted: bool
    user: str | None

    @property
    def message(self) -> EmailMessage:
        return cast("EmailMessage", message_from_bytes(self.data, policy=SMTP))

    def part(self, kind: str) -> str:
        body = self.message.get_body((kind,))
        assert body is not None
        return str(body.get_content())


@dataclass
class Behaviour:
    """How the server answers. `replies` are in place of its own, by the verb, each time the first of them."""

    certificate: Path | None = None
    tls_first: bool = False
    offers_starttls: bool = True
    login: tuple[str, str] | None = None
    refused: set[str] = field(default_factory=set)
    replies: dict[str, list[str]] = field(default_factory=dict)
    drip_seconds: float | None = None


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.received: list[Received] = []
        self.verbs: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.encrypted, self.user = False, None
        if self.server.behaviour.tls_first:
            self._encrypt()
        self._greet()
        sender, to = "", []
        while line := self.rfile.readline():
            text = line.decode("latin-1").strip()
            verb = text[:9].upper().partition(" ")[0].partition(":")[0]
            self.server.verbs.append(verb)
            if self._replaced(verb):
                continue
            if verb == "EHLO":
                self._ehlo()
            elif verb == "STARTTLS":
                self._say("220 go on")
                self._encrypt()
            elif verb == "AUTH":
                self._log_in(text)
            elif verb == "MAIL":
                sender, to = _address(text), []
                self._say("250 ok")
            elif verb == "RCPT":
                refused = _address(text) in self.server.behaviour.refused
                self._say("550 no such person" if refused else "250 ok")
                to += [] if refused else [_address(text)]
            elif verb == "DATA":
                self._say("354 go on")
                data = self._data()
                self.server.received.append(Received(sender, to, data, self.encrypted, self.user))
                if not self._replaced("AFTER"):
                    self._say("250 taken")
            else:
                self._say("221 bye" if verb == "QUIT" else "250 ok")
                if verb == "QUIT":
                    return

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def _greet(self) -> None:
        if self._replaced("GREETING"):
            return
        drip = self.server.behaviour.drip_seconds
        while drip is not None:
            self.wfile.write(b"220-x\r\n")
            self.wfile.flush()
            time.sleep(drip)
        self._say("220 test server")

    def _ehlo(self) -> None:
        behaviour = self.server.behaviour
        offered = ["test", "SIZE 10000000"]
        if behaviour.certificate and behaviour.offers_starttls and not self.encrypted:
            offered.append("STARTTLS")
        if behaviour.login:
            offered.append("AUTH PLAIN")
        for one in offered[:-1]:
            self._say(f"250-{one}")
        self._say(f"250 {offered[-1]}")

    def _log_in(self, text: str) -> None:
        _, user, password = base64.b64decode(text.split()[-1]).decode().split("\0")
        if (user, password) == self.server.behaviour.login:
            self.user = user
            self._say("235 welcome")
        else:
            self._say("535 who are you")

    def _data(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)

    def _encrypt(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(self.server.behaviour.certificate))
        self.connection = context.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")  # type: ignore[assignment]
        self.encrypted = True

    def _replaced(self, verb: str) -> bool:
        """Say the next of the given replies to a verb, and whether there was one."""
        replies = self.server.behaviour.replies.get(verb)
        if not replies:
            return False
        self._say(replies.pop(0))
        return True

    def _say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")
        self.wfile.flush()


def _address(text: str) -> str:
    return text.partition("<")[2].partition(">")[0]


class SmtpServer:
    """Runs while its block lasts."""

    def __init__(self, **behaviour: Any) -> None:
        self._server = _Server(Behaviour(**behaviour))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> SmtpServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def received(self) -> list[Received]:
        return self._server.received

    @property
    def verbs(self) -> list[str]:
        return self._server.verbs

    @property
    def behaviour(self) -> Behaviour:
        return self._server.behaviour
