"""Guarded connections to receivers: public addresses and named hosts only, and for a limited time."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

TIMEOUT_SECONDS = 10.0
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# IANA's registries of special-purpose addresses (RFC 6890), written out: what Python's `is_private` knows of them
# differs from version to version. Of IPv6 just what lies in 2000::/3, as nothing else is public.
_SPECIAL = {
    ipaddress.ip_network(network): name
    for name, networks in {
        "unspecified": ["0.0.0.0/32"],
        "loopback": ["127.0.0.0/8"],
        "link-local": ["169.254.0.0/16"],
        "multicast": ["224.0.0.0/4"],
        "private": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
        "shared by customers of a carrier": ["100.64.0.0/10"],
        "the platform of Azure": ["168.63.129.16/32"],
        "reserved for protocols": ["0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "2001::/23"],
        "for benchmarks": ["198.18.0.0/15"],
        "for documentation": ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"],
    }.items()
    for network in networks
}

Resolve = Callable[[str, int], Iterable[str]]


def connections(
    internal_hosts: Collection[str] = (), timeout: float = TIMEOUT_SECONDS, resolve: Resolve | None = None
) -> httpcore.ConnectionPool:
    """Return a pool that connects to public addresses and, wherever they are, to `internal_hosts` (names as in a URL).

    A name is resolved once for each connection, and what is connected to is the address that was checked. A
    connection serves one message and ends `timeout` seconds after it began, however slowly its bytes come.
    """
    return httpcore.ConnectionPool(
        ssl_context=httpx.create_ssl_context(),
        max_keepalive_connections=0,
        network_backend=_GuardedNetwork(frozenset(host.lower() for host in internal_hosts), timeout, resolve),
    )


def why_internal(url: str) -> str | None:
    """Say why `monitor.internal_hosts` must name the host of `url`; None where it need not, or is not known at all."""
    parts = urlsplit(url)
    if parts.scheme == "http":
        return "http:// is not encrypted"
    try:
        addresses = _all_addresses(parts.hostname or "", parts.port or 443)
    except (OSError, UnicodeError):
        return None
    return next((f"{parts.hostname} is at {at}, which is {why}" for at in addresses if (why := refusal(at))), None)


def refusal(address: str) -> str | None:
    """Say why an IP address is not public: private, loopback, link-local, multicast and so on; None where it is.

    An IPv6 address that stands for one of IPv4 (mapped, 6to4, NAT64 by the well-known prefix) is judged by that; Teredo
    and NAT64 by the local prefix are refused. A prefix that an operator has chosen for NAT64 cannot be recognised.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = _embedded(ip) or ip
    if isinstance(ip, ipaddress.IPv6Address) and ip not in _GLOBAL_UNICAST:
        names = ("is_loopback", "is_unspecified", "is_link_local", "is_multicast", "is_private")
        return next((name.removeprefix("is_").replace("_", "-") for name in names if getattr(ip, name)), "not public")
    return next((name for network, name in _SPECIAL.items() if ip in network), None)


def _embedded(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


def _all_addresses(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


def checked_addresses(
    host: str, port: int, internal_hosts: Collection[str], resolve: Resolve = _all_addresses
) -> list[str]:
    """Return the addresses of a host that may be connected to: public ones, or any of one of `internal_hosts`.

    Raises OSError in words where there are none, or one of them is not public.
    """
    try:
        addresses = list(dict.fromkeys(resolve(host, port)))
    except (OSError, UnicodeError) as error:
        raise OSError(f"{host} cannot be resolved: {error}") from error
    if host.lower() not in internal_hosts:
        for address in addresses:
            if why := refusal(address):
                raise OSError(
                    f"{host} is at {address}, which is {why}; if that is meant, name {host} in monitor.internal_hosts"
                )
    return addresses


class _GuardedNetwork(httpcore.NetworkBackend):
    def __init__(self, internal_hosts: Collection[str], timeout: float, resolve: Resolve | None) -> None:
        self._internal_hosts = internal_hosts
        self._timeout = timeout
        self._resolve = resolve or _all_addresses
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - one deadline holds for all
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        ends_at = time.monotonic() + self._timeout
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        try:
            addresses = checked_addresses(host, port, self._internal_hosts, self._resolve)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        for address in addresses:
            try:
                left = max(0.001, ends_at - time.monotonic())
                stream = self._network.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failure = error
                continue
            return _LimitedStream(stream, ends_at)
        raise failure


class _LimitedStream(httpcore.NetworkStream):
    """A connection of which nothing can be had after `ends_at` (monotonic seconds)."""

    def __init__(self, stream: httpcore.NetworkStream, ends_at: float) -> None:
        self._stream = stream
        self._ends_at = ends_at

    def _left(self) -> float:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the whole exchange took too long")
        return left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, self._left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        self._stream.write(buffer, self._left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: Any,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _LimitedStream(self._stream.start_tls(ssl_context, server_hostname, self._left()), self._ends_at)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
