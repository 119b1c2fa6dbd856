"""Settings of access to the pages: one token, or the headers of an authenticating proxy."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from ipaddress import IPv6Network, ip_network
from typing import Annotated, Any, Self

from annotated_types import MinLen
from pydantic import BeforeValidator, SecretStr, field_validator, model_validator

from runtime.client_addresses import Network
from runtime.setting import COMMON, Section

_SHORTEST_TOKEN = 16
"""Characters: whoever has a cookie that is made from the token must not be able to guess it."""


class Right(StrEnum):
    """A right that goes beyond seeing scores and ids."""

    TEXTS = "texts"
    ACT = "act"


def _network(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        network = ip_network(value.strip())
    except ValueError:
        raise ValueError(f"{value!r} is no address or network: write 10.0.0.7, 10.0.0.0/24 or fd00::/64") from None
    if isinstance(network, IPv6Network) and network.network_address.ipv4_mapped is not None:
        raise ValueError(f"{value!r} is an IPv4 address in the form of IPv6: write it as 10.0.0.7")
    if network.prefixlen == 0:
        raise ValueError(f"{value!r} is every address, so that everybody could write the headers: name the proxy's own")
    return network


Proxies = tuple[Annotated[Network, BeforeValidator(_network)], ...]
"""Addresses and networks of proxies, whose headers are believed."""


class GroupSettings(Section):
    """What the people of a group may do: see the scores of `deployments` (globs), and the `rights` to more of these."""

    deployments: Annotated[tuple[Annotated[str, MinLen(1)], ...], MinLen(1)]
    """Globs of the deployments that the people of a group may see."""
    rights: tuple[Right, ...] = ()
    """What else they may do with these deployments: `texts` (read texts), `act` (change something)."""


class ProxySettings(Section):
    """A proxy that knows who asks: `X-Forwarded-User` and `X-Forwarded-Groups` are believed from `addresses` alone.

    `groups` are by the name that the proxy gives; a person of several groups has what each of them gives.
    """

    addresses: Annotated[Proxies, MinLen(1)]
    """Addresses and networks of a proxy whose `X-Forwarded-User` and `X-Forwarded-Groups` are believed."""
    groups: Annotated[Mapping[str, GroupSettings], MinLen(1)]

    @field_validator("groups")
    @classmethod
    def _can_be_sent(cls, groups: Mapping[str, GroupSettings]) -> Mapping[str, GroupSettings]:
        for name in groups:
            if "," in name or name != name.strip() or not name:
                raise ValueError(f"{name!r} is no name of a group: commas divide the names in X-Forwarded-Groups")
        return groups


class AccessSettings(Section):
    """Either a token, which gives every right, or a proxy."""

    token: Annotated[SecretStr | None, COMMON] = None
    """Token of at least 16 characters that opens the pages, see [access.md](access.md). In place of this key
    and of `proxy`, `monitor.access: none` lets everybody see everything."""
    proxy: ProxySettings | None = None

    @field_validator("token")
    @classmethod
    def _is_long_enough(cls, token: SecretStr | None) -> SecretStr | None:
        if token is not None and len(token.get_secret_value()) < _SHORTEST_TOKEN:
            raise ValueError(
                f"the token is too easily guessed: it needs {_SHORTEST_TOKEN} characters or more, "
                "such as those that `openssl rand -base64 32` prints"
            )
        return token

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.token is None) == (self.proxy is None):
            raise ValueError("give either token_file or proxy; if everybody may see everything, write `access: none`")
        return self
