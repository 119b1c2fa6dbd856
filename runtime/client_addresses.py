"""Client addresses: which clients count as one, and who is behind a proxy of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network
_IPV6_BITS = 64
"""Whoever has an IPv6 address has all of its network of this size."""
_WITH_PORT = re.compile(r"\[([^]]*)\](?::[0-9]+)?|([^:]*):[0-9]+")


def counted_address(host: str | None) -> str:
    """Return under which address a client is counted: IPv6 by its network; what is no address, as it is."""
    address = _parsed(host)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, _IPV6_BITS), strict=False))
    return str(address or host or "")


def is_in(networks: Sequence[Network], host: str | None) -> bool:
    """Return whether an address is in one of the networks; an IPv4 address in the form of IPv6 is an IPv4 address."""
    address = _parsed(host)
    return address is not None and any(address in network for network in networks)


def client_behind(proxies: Sequence[Network], peer: str | None, forwarded_for: Sequence[str]) -> str | None:
    """Return the address of the client: the peer's, or behind a proxy of ours the one that it names.

    `forwarded_for` are the values of X-Forwarded-For. Each proxy adds the peer that it sees at the end, so the last
    that is no proxy of ours is the client; what stands before that, the client may have written itself. Some proxies
    add the port, too: `192.0.2.1:5678`, `[2001:db8::1]:5678`.
    """
    client = peer
    for named in reversed(",".join(forwarded_for).split(",")):
        address = _without_port(named.strip())
        if not is_in(proxies, client) or _parsed(address) is None:
            break
        client = address
    return client


def _without_port(named: str) -> str:
    found = _WITH_PORT.fullmatch(named)
    return named if found is None else found[1] or found[2]


def _parsed(host: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host or "")
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
