"""Which clients count as one, and who is behind a proxy of ours."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from runtime.client_addresses import client_behind, counted_address

PROXIES = [ip_network("10.0.0.0/24"), ip_network("fd00::/64")]


@pytest.mark.parametrize(
    ("host", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1:2:3", "2001:db8::/64"),
        ("testclient", "testclient"),
        (None, ""),
    ],
)
def test_a_client_is_counted_by_what_it_cannot_change(host: str | None, counted: str) -> None:
    """An IPv4 address in either form, an IPv6 network, and what is no address as it is."""
    assert counted_address(host) == counted


@pytest.mark.parametrize(
    ("peer", "named", "client"),
    [
        ("192.0.2.1", ["192.0.2.9"], "192.0.2.1"),
        ("10.0.0.7", ["192.0.2.9"], "192.0.2.9"),
        ("::ffff:10.0.0.7", ["192.0.2.9"], "192.0.2.9"),
        ("fd00::7", ["2001:db8::1"], "2001:db8::1"),
        ("10.0.0.7", ["1.1.1.1, 192.0.2.9"], "192.0.2.9"),
        ("10.0.0.7", ["1.1.1.1", "192.0.2.9 , 10.0.0.8"], "192.0.2.9"),
        ("10.0.0.7", ["10.0.0.8"], "10.0.0.8"),
        ("10.0.0.7", [], "10.0.0.7"),
        ("10.0.0.7", ["evil"], "10.0.0.7"),
        ("10.0.0.7", ["1.1.1.1,"], "10.0.0.7"),
        ("10.0.0.7", ["192.0.2.9:5678"], "192.0.2.9"),
        ("10.0.0.7", ["1.1.1.1:1, 192.0.2.9:5678, 10.0.0.8:443"], "192.0.2.9"),
        ("10.0.0.7", ["[2001:db8::1]:5678"], "2001:db8::1"),
        ("10.0.0.7", ["[2001:db8::1]"], "2001:db8::1"),
        ("10.0.0.7", ["2001:db8::1:5678"], "2001:db8::1:5678"),
        ("10.0.0.7", ["evil:80"], "10.0.0.7"),
        ("10.0.0.7", ["192.0.2.9:"], "10.0.0.7"),
        (None, ["1.1.1.1"], None),
    ],
)
def test_only_proxies_of_ours_name_a_client(peer: str | None, named: list[str], client: str | None) -> None:
    """The last address that is no proxy of ours; what a client wrote before it makes it nobody else."""
    assert client_behind(PROXIES, peer, named) == client
