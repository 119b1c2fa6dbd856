"""Headers of an authenticating proxy: whom they name, and whom they never name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from monitor.access.authentication import ByProxy
from monitor.access.reader import Reader
from monitor.access.settings import AccessSettings, ProxySettings, Right

PROXY = "10.0.0.7"
ACCESS: dict[str, Any] = {
    "proxy": {
        "addresses": [PROXY, "fd00:1::/64"],
        "groups": {
            "support": {"deployments": ["support-*", "faq"], "rights": ["texts"]},
            "viewers": {"deployments": ["*"]},
            "platform": {"deployments": ["*"], "rights": ["texts", "act"]},
        },
    }
}
AUTHENTICATION = ByProxy(ProxySettings.model_validate(ACCESS["proxy"]))
USER, GROUPS = b"x-forwarded-user", b"x-forwarded-groups"
Headers = list[tuple[bytes, bytes]]

NAMES = st.sampled_from(
    [USER, GROUPS, b"x_forwarded_user", b"x-forwarded_groups", b"x-forwarded-group", b"x-forwarded-for", b"forwarded",
     b"x-real-ip", b"x-auth-request-user", b"x-auth-request-groups", b"remote-user", b"authorization", b"cookie",
     b"x-forwarded-host", b"x-client-ip"]
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(
        [b"ann", b"platform", b"support,platform", b"for=10.0.0.7", b"10.0.0.7", b"127.0.0.1", b"", b"Bearer platform",
         b"dialwatch_session=1.2.3", b"platform ", b"PLATFORM", b"ann, eve", b"\xff\xfe"]
    ),
    st.binary(max_size=20),
)  # fmt: skip
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=8)
STRANGERS = st.one_of(
    st.none(),
    st.sampled_from(["127.0.0.1", "::1", "10.0.0.8", "::ffff:10.0.0.8", "fd00:2::1", "", "testclient", "10.0.0.7 "]),
    st.ip_addresses().map(str).filter(lambda peer: peer != PROXY and not peer.startswith("fd00:1:")),
    st.text(max_size=10),
)  # fmt: skip


def asked(headers: Headers, peer: str | None = PROXY) -> Reader | None:
    client = None if peer is None else (peer, 1234)
    return AUTHENTICATION.reader_of(HTTPConnection({"type": "http", "headers": headers, "client": client}))


@given(HEADERS, STRANGERS)
def test_headers_from_elsewhere_give_no_right(headers: Headers, peer: str | None) -> None:
    """Whatever a request says of itself, only the proxy's own address lets it name a person."""
    assert asked(headers, peer) is None


@given(HEADERS)
def test_only_the_two_headers_of_the_proxy_count(headers: Headers) -> None:
    """The person and the groups are those that each header says once; what stands elsewhere changes nothing."""
    reader = asked(headers)
    users = [value for name, value in headers if name == USER]
    groups = [value for name, value in headers if name == GROUPS]
    if reader is None:
        return
    assert [(reader.who or "").encode()] == [user.strip() for user in users]
    assert len(groups) <= 1
    named = {name.strip() for value in groups for name in value.decode().split(",")}
    assert reader.may_act("x") == ("platform" in named)
    assert reader.may_see("x") == bool(named & {"platform", "viewers"})
    assert reader.may_read_texts("support-rag") == bool(named & {"platform", "support"})


@given(HEADERS.filter(lambda headers: not any(name in (USER, GROUPS) for name, _ in headers)))
def test_other_headers_beside_those_of_the_proxy_change_nothing(headers: Headers) -> None:
    """A client's `X_Forwarded_Groups`, `X-Forwarded-For` and the like are no headers of the proxy."""
    own = [(USER, b"ann"), (GROUPS, b"support")]
    assert asked(own) is not None
    assert asked([*headers, *own]) == asked([*own, *headers]) == asked(own)


@pytest.mark.parametrize("peer", [PROXY, f"::ffff:{PROXY}", "fd00:1::5", "fd00:1::5%eth0"])
def test_the_proxy_is_known_in_each_form_of_its_address(peer: str) -> None:
    """A socket for both families shows IPv4 peers in the form of IPv6."""
    reader = asked([(USER, "Ann Müller".encode()), (GROUPS, b"support , staff")], peer)
    assert reader is not None
    assert reader.who == "Ann Müller"
    assert reader.may_read_texts("support-rag")
    assert reader.may_see("faq")
    assert not reader.may_see("faq-2")
    assert not reader.may_see(None)
    assert not reader.may_act("support-rag")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(USER, b"")],
        [(USER, b"ann"), (USER, b"ann")],
        [(USER, b"eve, ann")],
        [(USER, b"ann"), (GROUPS, b"platform"), (GROUPS, b"support")],
        [(USER, b"ann"), (GROUPS, b"\xff")],
        [(USER, b"\xff")],
        [(USER, "a\u202enn".encode())],
        [(USER, b"a" * 257)],
        [(GROUPS, b"platform")],
    ],
)
def test_what_is_not_plain_names_nobody(headers: Headers) -> None:
    """No user, two of one header, a list of users, bytes that are no text, a name that shows as another one."""
    assert asked(headers) is None


def test_the_rights_of_a_group_are_for_its_deployments_alone() -> None:
    """Of two groups each gives its own rights to its own deployments; names are compared with their case."""
    reader = asked([(USER, b"ann"), (GROUPS, b"viewers,support")])
    assert reader is not None
    assert reader.may_see(None)
    assert reader.may_read_texts("support-rag")
    assert not reader.may_read_texts("Support-rag")
    assert not reader.may_read_texts("gpt-4o")
    assert not reader.may_read_texts(None)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"addresses": ["0.0.0.0/0"]}, "every address"),
        ({"addresses": ["::/0"]}, "every address"),
        ({"addresses": ["10.0.0.7/8"]}, "no address or network"),
        ({"addresses": ["proxy.example.com"]}, "no address or network"),
        ({"addresses": ["::ffff:10.0.0.7"]}, "IPv4 address in the form of IPv6"),
        ({"addresses": []}, "at least 1"),
        ({"groups": {}}, "at least 1"),
        ({"groups": {"a,b": {"deployments": ["*"]}}}, "commas divide"),
        ({"groups": {"a": {"deployments": []}}}, "at least 1"),
        ({"groups": {"a": {"deployments": ["*"], "rights": ["all"]}}}, "'texts' or 'act'"),
    ],
)
def test_settings_that_open_too_much_or_nothing_are_refused(changed: dict[str, Any], says: str) -> None:
    """Each message says what is wrong."""
    with pytest.raises(ValidationError, match=says):
        AccessSettings.model_validate({"proxy": ACCESS["proxy"] | changed})


@pytest.mark.parametrize("given", [{}, {"token": "t" * 32} | ACCESS, {"token": "short"}])
def test_there_is_one_way_in(given: dict[str, Any]) -> None:
    """Neither none of both nor both, and no token that can be guessed."""
    with pytest.raises(ValidationError):
        AccessSettings.model_validate(given)


def test_every_right_has_a_method() -> None:
    """Nobody, the default, has no right at all."""
    nobody = Reader()
    assert [nobody.may_see("a"), nobody.may_read_texts("a"), nobody.may_act("a")] == [False] * 3
    assert set(Right) == {Right.TEXTS, Right.ACT}
