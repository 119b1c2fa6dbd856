from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.host_names import reads_hosts

LABEL = st.from_regex(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,8}[A-Za-z0-9_])?", fullmatch=True)
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join).filter(lambda name: not name.isdigit())
ADDRESS = st.ip_addresses(v=6).map(lambda address: f"[{address}]") | st.ip_addresses(v=4).map(str)


@given(host=NAME | ADDRESS, port=st.integers(0, 65535))
def test_a_port_is_taken_off_and_a_text_is_one_host(host: str, port: int) -> None:
    """Names and addresses, alone or in a list, with a port or without, give the host that a request names."""
    known = (host.strip("[]"),)
    assert reads_hosts(host) == reads_hosts(f" {host}:{port}") == reads_hosts([f"{host}:{port}"]) == known


@given(address=st.ip_addresses(v=6))
def test_a_bare_address_keeps_its_colons(address: ipaddress.IPv6Address) -> None:
    """What follows the last colon of IPv6 without brackets is no port; long forms become what browsers send."""
    assert reads_hosts([str(address), address.exploded]) == (str(address), str(address))


@given(text=st.text(max_size=12) | st.text("ab.:/*[]- 1", max_size=12))
def test_any_text_is_a_host_or_an_error_that_shows_it(text: str) -> None:
    """A host is one that is read again as itself."""
    message, hosts = "", ()
    try:
        hosts = reads_hosts(text)
    except ValueError as error:
        message = str(error)
    if hosts:
        assert reads_hosts(hosts) == hosts
    else:
        assert repr(text) in message


@pytest.mark.parametrize("host", ["*.example.com", "app*", ".example.com"])
def test_what_stands_for_many_hosts_says_so(host: str) -> None:
    with pytest.raises(ValueError, match="stands for many hosts"):
        reads_hosts(host)


@pytest.mark.parametrize("value", [None, 7, {"a": 1}])
def test_what_is_no_text_is_for_the_settings(value: object) -> None:
    """It comes back as it is."""
    assert reads_hosts(value) is value
