"""Names of hosts in settings, as browsers and programs send them."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

_PORT = re.compile(r":[0-9]*")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE | re.ASCII)
_EXAMPLE = "write a name such as dialwatch.example.com"


def reads_hosts(value: Any) -> Any:
    """Return the names of a list, or of one text, each without its port.

    All else it gives back as it is, for the settings' own validation. Raises ValueError for a text that no request can
    name as its host.
    """
    if isinstance(value, str):
        return (_host(value),)
    if isinstance(value, list | tuple):
        return tuple(_host(one) if isinstance(one, str) else one for one in value)
    return value


def _host(text: str) -> str:
    given = text.strip()
    if (address := _address(given)) is not None:
        return address
    name, colon, port = given.rpartition(":")
    host = name if _PORT.fullmatch(colon + port) else given
    if not host:
        raise ValueError(f"{text!r} names no host: {_EXAMPLE}")
    if (address := _address(host)) is not None:
        return address
    if "/" in host:
        raise ValueError(f"{text!r} is an address of a page: write its host alone, without https:// and without a path")
    if "*" in host or host.startswith("."):
        raise ValueError(f"{text!r} stands for many hosts: write each of them, without wildcards")
    if not host.isascii():
        raise ValueError(f"{text!r} is not what browsers send: write the name in its ASCII form, xn--...")
    if not _NAME.fullmatch(host):
        raise ValueError(f"{text!r} is no name of a host: {_EXAMPLE}")
    return host


def _address(text: str) -> str | None:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return None
