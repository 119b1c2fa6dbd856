import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpcore
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from monitor.notify.delivery import DeliveryOutcome, deliver
from monitor.notify.network import _LimitedStream, connections, refusal

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1",
        "2002:7f00:0001::", "64:ff9b::a9fe:a9fe", "2001:db8::1", "0.1.2.3", "192.0.0.1", "192.0.0.192", "192.0.2.1",
        "168.63.129.16", "::ffff:168.63.129.16", "2002:a83f:8110::1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
        "203.0.113.1", "240.0.0.1", "::7f00:1", "::8.8.8.8", "100::1", "64:ff9b:1::808:808", "64:ff9b:1::1",
        "64:ff9b::c0a8:101", "2001::1", "2001:0:4136:e378::1", "2001:2::1", "2001:20::1", "3fff::1", "5f00::1",
        "fec0::1", "feff::1", "4000::1",
    ],
)  # fmt: skip
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    """Private, loopback, link-local, shared, multicast, reserved and documentation addresses, also within IPv6's."""
    assert refusal(address)


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8", "168.63.129.17", "192.0.1.1", "192.1.0.1", "100.128.0.1", "2606:4700::1111", "2001:200::1",
        "64:ff9b::808:808", "::ffff:8.8.8.8", "2002:808:808::1",
    ],
)  # fmt: skip
def test_a_public_address_is_not_refused(address: str) -> None:
    """Also where IPv6 carries an address of IPv4."""
    assert refusal(address) is None


@given(st.ip_addresses(v=4))
def test_no_private_address_of_ipv4_passes_in_any_form(ip: ipaddress.IPv4Address) -> None:
    """Whatever is not global is refused as it is, mapped, and through NAT64 or 6to4."""
    if not ip.is_global:
        mapped, nat64 = f"::ffff:{ip}", f"64:ff9b::{ip}"
        six_to_four = ipaddress.IPv6Address((0x2002 << 112) | (int(ip) << 80))
        assert all(map(refusal, (str(ip), mapped, nat64, str(six_to_four))))


def test_a_host_that_the_settings_do_not_name_is_not_reached_at_a_private_address(
    start_receiver: Callable[..., Any],
) -> None:
    """Nothing is connected to, and the reason says which setting would allow it."""
    receiver = start_receiver()
    with connections(["other.example"]) as pool:
        attempt = deliver(pool, receiver.url, b"{}", {}, NOW)
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "name 127.0.0.1 in monitor.internal_hosts" in attempt.reason
    assert receiver.requests == []


def test_a_name_with_one_private_address_among_public_ones_is_refused() -> None:
    """One bad address is enough: which one would be taken is another's choice."""
    with connections(resolve=lambda host, port: ["8.8.8.8", "127.0.0.1"]) as pool:
        attempt = deliver(pool, "http://both.example/", b"{}", {}, NOW)
    assert "both.example is at 127.0.0.1, which is loopback" in attempt.reason


def test_a_name_is_resolved_once_and_what_was_checked_is_connected_to(start_receiver: Callable[..., Any]) -> None:
    """A name that points elsewhere the second time cannot lead the message there; the host header keeps the name."""
    receiver = start_receiver()
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    port = receiver.url.rsplit(":", 1)[1]
    with connections(["hooks.example"], resolve=resolve) as pool:
        assert deliver(pool, f"http://hooks.example:{port}", b"{}", {}, NOW).outcome is DeliveryOutcome.DELIVERED
    assert asked == ["hooks.example"]
    assert receiver.requests[0].headers["host"] == f"hooks.example:{port.split('/')[0]}"


def test_the_next_address_is_tried_where_one_does_not_answer(start_receiver: Callable[..., Any]) -> None:
    """A name with several addresses is reached at the first that takes the connection."""
    receiver = start_receiver()
    with connections(["two.example"], resolve=lambda host, port: ["127.0.0.2", "127.0.0.1"]) as pool:
        attempt = deliver(pool, receiver.url.replace("127.0.0.1", "two.example"), b"{}", {}, NOW)
    assert attempt.outcome is DeliveryOutcome.DELIVERED


def test_a_name_that_nobody_knows_has_failed() -> None:
    """A resolver's error is an attempt like others."""

    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror("Name or service not known")

    with connections(resolve=unknown) as pool:
        attempt = deliver(pool, "https://nowhere.example/", b"{}", {}, NOW)
    assert "nowhere.example cannot be resolved" in attempt.reason


def test_a_receiver_that_sends_a_byte_now_and_then_has_failed_in_time() -> None:
    """The time-out holds for the whole exchange, not for each byte of an endless answer."""
    stop = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            try:
                while not stop.wait(0.05):
                    connection.sendall(b"x-more: 1\r\n")
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        with connections(["127.0.0.1"], timeout=0.5) as pool:
            attempt = deliver(pool, f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {}, NOW)
        stop.set()
        thread.join()
    assert attempt.outcome is DeliveryOutcome.FAILED
    assert "no answer in time" in attempt.reason


def test_an_endless_answer_is_not_read() -> None:
    """Of an error that never ends the first bytes are shown, and the rest stays where it is."""

    def flood(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            try:
                connection.sendall(b"HTTP/1.1 500 Oh\r\n\r\nno_\x00team\n")
                while True:
                    connection.sendall(b"a" * 65536)
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=flood, args=(server,), daemon=True)
        thread.start()
        with connections(["127.0.0.1"]) as pool:
            attempt = deliver(pool, f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {}, NOW)
        thread.join()
    assert attempt.reason.startswith("answered 500 (no_ team")
    assert len(attempt.reason) < 250


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    today = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (folder / "certificate.pem").write_bytes(signed.public_bytes(pem))
    (folder / "key.pem").write_bytes(key.private_bytes(pem, private, serialization.NoEncryption()))
    return folder / "certificate.pem", folder / "key.pem"


def test_a_certificate_for_another_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting to a checked address does not loosen TLS: the name of the url must be the certificate's."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(HTTPServer):
        def handle_error(self, *_: object) -> None:
            pass

    cert, key = certificate(tmp_path, "hooks.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for name, outcome in (("hooks.example", DeliveryOutcome.DELIVERED), ("other.example", DeliveryOutcome.FAILED)):
            with connections([name], resolve=lambda host, port: ["127.0.0.1"]) as pool:
                attempt = deliver(pool, f"https://{name}:{server.server_port}/", b"{}", {}, NOW)
                assert attempt.outcome is outcome, attempt
        assert "CERTIFICATE_VERIFY_FAILED" in attempt.reason
        server.shutdown()
        thread.join()


def test_nothing_is_read_or_written_once_the_time_is_over() -> None:
    """However much the receiver has to say."""
    bytes_of = httpcore.MockStream([b"x" * 10] * 10)
    late = _LimitedStream(bytes_of, time.monotonic() - 0.001)
    for use in (lambda: late.read(10), lambda: late.write(b"x")):
        with pytest.raises(httpcore.ReadTimeout, match="the whole exchange took too long"):
            use()
    assert _LimitedStream(bytes_of, time.monotonic() + 60).read(10) == b"x" * 10
