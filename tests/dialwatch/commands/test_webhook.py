"""`dialwatch webhook test`: what a person reads while setting up a receiver."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook
from typer.testing import CliRunner, Result

from dialwatch.cli import app
from dialwatch.errors import ConfigError
from tests.kafka.certificates import write_certificates
from tests.monitor.notify.smtp_server import SmtpServer

SECRET = "whsec_" + "A" * 44


class Receiver(HTTPServer):
    """Answers `status` with `text` and keeps what came."""

    def __init__(self) -> None:
        self.status, self.text = 204, b""
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append((self.path, dict(self.headers.items()), body))
                self.send_response(receiver.status)
                self.end_headers()
                self.wfile.write(receiver.text)

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/services/path"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def secret_file(tmp_path: Path) -> str:
    (tmp_path / "secret").write_text(SECRET + "\n")
    return str(tmp_path / "secret")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["webhook", "test", *arguments])


def test_a_receiver_that_accepts_gets_a_message_as_real_ones_are(receiver: Receiver, secret_file: str) -> None:
    """Signed, in the shape of an alert, plainly a test; the url's path is not shown, and the exit code is 0."""
    done = run(receiver.url, "--secret-file", secret_file)
    assert done.exit_code == 0, done.output
    assert "test at 127.0.0.1: accepted the message" in done.output
    assert "monitor.internal_hosts names 127.0.0.1" in done.output
    assert "/services/path" not in done.output
    ((_, headers, body),) = receiver.requests
    read: Any = Webhook(SECRET).verify(body, headers)
    assert read["commonLabels"]["deployment"] == "dialwatch-webhook-test"


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (401, b"", "check that the receiver has the same secret"),
        (404, b"no_team", "answered 404 (no_team): nobody is at this address: check the url; a real alert"),
        (302, b"", "redirects are not followed"),
        (410, b"", "take this webhook out of the settings\n"),
    ],
)
def test_a_refusal_is_said_in_plain_words(
    receiver: Receiver, secret_file: str, status: int, text: bytes, said: str
) -> None:
    """What was answered, what to do, and exit code 1."""
    receiver.status, receiver.text = status, text
    done = run(receiver.url, "--secret-file", secret_file)
    assert done.exit_code == 1
    assert said in done.output


def test_without_a_url_all_receivers_of_the_settings_are_tried(
    receiver: Receiver, secret_file: str, tmp_path: Path
) -> None:
    """Each in its format and under its name, without a lake; one that is forbidden does not hide the others."""
    webhooks = [
        {"name": "team", "url": receiver.url, "secret_file": secret_file},
        {"name": "chat", "url": receiver.url, "format": "slack"},
        {"name": "paging", "url": receiver.url, "format": "alertmanager"},
        {"name": "inside", "url": "https://127.0.0.2:1/", "format": "teams"},
    ]
    monitor = {"webhooks": webhooks, "internal_hosts": ["127.0.0.1"]}
    (tmp_path / "dialwatch.yaml").write_text(json.dumps({"monitor": monitor}))
    done = run("-c", str(tmp_path / "dialwatch.yaml"))
    assert done.exit_code == 1
    assert [line.split(" ")[0] for line in done.output.splitlines()] == ["team", "chat", "paging", "inside"]
    assert "127.0.0.2 is at 127.0.0.2, which is loopback" in done.output
    assert [path for path, _, _ in receiver.requests] == [
        "/services/path",
        "/services/path",
        "/services/path/api/v2/alerts",
    ]
    assert "blocks" in json.loads(receiver.requests[1][2])


def test_a_test_message_is_of_the_installation(receiver: Receiver, tmp_path: Path) -> None:
    """As an Alertmanager may route by it; no lake is made for it."""
    webhook = {"url": receiver.url, "format": "alertmanager"}
    monitor = {"webhooks": [webhook], "internal_hosts": ["127.0.0.1"]}
    lake = {"root": str(tmp_path / "lake"), "installation": "staging"}
    (tmp_path / "dialwatch.yaml").write_text(json.dumps({"monitor": monitor, "lake": lake}))
    assert run("-c", str(tmp_path / "dialwatch.yaml")).exit_code == 0
    (alert,) = json.loads(receiver.requests[0][2])
    assert alert["labels"]["installation"] == "staging"
    assert not (tmp_path / "lake").exists()


def test_the_receivers_of_a_deployment_can_be_tried_alone(receiver: Receiver, tmp_path: Path) -> None:
    """Those whose globs match it; that there is none is an error."""
    webhook = {"url": receiver.url, "format": "slack"}
    webhooks = [webhook | {"name": "hr", "deployments": ["hr-*"]}, webhook | {"name": "it", "deployments": ["it-*"]}]
    monitor = {"webhooks": webhooks, "internal_hosts": ["127.0.0.1"]}
    (tmp_path / "dialwatch.yaml").write_text(json.dumps({"monitor": monitor}))
    config = ("-c", str(tmp_path / "dialwatch.yaml"))
    done = run("--deployment", "hr-leave", *config)
    assert (done.exit_code, len(receiver.requests)) == (0, 1)
    assert done.output.startswith("hr at ")
    done = run("--deployment", "payroll", *config)
    assert isinstance(done.exception, ConfigError)
    assert "no receiver of monitor.webhooks is for payroll" in str(done.exception)


def test_mail_is_tried_with_the_password_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each receiver under its name, and those of a deployment alone; the password is not shown."""
    write_certificates(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("DIALWATCH_MONITOR__MAIL__PASSWORD", "a-password")
    receivers = [{"name": "hr", "to": ["a@b.example"], "deployments": ["hr-*"]}, {"name": "it", "to": ["c@d.example"]}]
    with SmtpServer(certificate=tmp_path / "server.pem", login=("me", "a-password")) as server:
        mail = {"server": "127.0.0.1", "port": server.port, "user": "me", "sender": "me@b.example"}
        monitor = {"mail": mail | {"receivers": receivers}, "internal_hosts": ["127.0.0.1"]}
        (tmp_path / "dialwatch.yaml").write_text(json.dumps({"monitor": monitor}))
        done = run("-c", str(tmp_path / "dialwatch.yaml"))
        assert done.exit_code == 0, done.output
        assert [line.split(" ")[:3] for line in done.output.splitlines()] == [
            ["hr", "by", "127.0.0.1:"], ["it", "by", "127.0.0.1:"]
        ]  # fmt: skip
        assert [one.to for one in server.received] == [["a@b.example"], ["c@d.example"]]
        assert server.received[0].message["Subject"].startswith("[dialwatch] warning: dialwatch-webhook-test: ")
        monkeypatch.setenv("DIALWATCH_MONITOR__MAIL__PASSWORD", "another-one")
        done = run("-c", str(tmp_path / "dialwatch.yaml"), "--deployment", "payroll")
        assert done.exit_code == 1
        assert done.output.startswith("it by 127.0.0.1: did not accept the message")
        assert "the log-in is refused: check monitor.mail.user" in done.output
        assert "another-one" not in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["http://127.0.0.1:1/"], "give --secret-file"),
        (["nowhere", "--format", "slack"], "url: "),
        (["https://a.example/", "--format", "pigeon"], "format: "),
    ],
)
def test_what_cannot_be_tried_is_said(arguments: list[str], said: str) -> None:
    """A missing secret, an address that is none and a format that nobody knows."""
    done = run(*arguments)
    assert isinstance(done.exception, ConfigError)
    assert said in str(done.exception)
