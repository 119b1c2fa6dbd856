"""Addresses to listen on, as `host:port`."""

from __future__ import annotations

import ipaddress
import socket

from dialwatch.errors import AddressError

_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where it is asked, not listened


def parse_address(listen: str) -> tuple[str, int]:
    """Split `host:port`; the host may be empty (all addresses) or an IPv6 address in brackets.

    Raises AddressError.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise AddressError(f"{listen!r} is no address to listen on: write host:port, such as 127.0.0.1:9464")
    return host.strip("[]"), int(port)


def is_loopback(listen: str) -> bool:
    """Whether this machine alone can reach what listens there; raises AddressError."""
    host, _ = parse_address(listen)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def local_url(listen: str) -> str:
    """Return the URL under which this machine reaches what listens there."""
    host, port = parse_address(listen)
    reached = _EVERYWHERE.get(host, host)
    return f"http://{f'[{reached}]' if ':' in reached else reached}:{port}"


def free_address() -> str:
    """Return an address of this machine on which nothing listens yet."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def is_free(listen: str) -> bool:
    """Whether nothing listens on this address yet."""
    try:
        socket.create_server(parse_address(listen)).close()
    except OSError:
        return False
    return True
