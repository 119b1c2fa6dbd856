"""The token: how it is sent, which session it is exchanged for, and how long it must be."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from lake.tables.lake import Lake
from monitor.access.audit import AuditLog
from monitor.access.authentication import COOKIE, ByProxy, ByToken, Open, address_of, authentication_of
from monitor.access.reader import ALL_RIGHTS, Reader
from monitor.access.settings import AccessSettings
from monitor.access.wrong_tokens import IN_A_ROW, SECONDS_EACH, TooManyWrongTokensError, WrongTokens
from tests.monitor.conftest import Clock

TOKEN = "correct horse battery"
BY_TOKEN = Reader("token", ALL_RIGHTS, None)


@pytest.fixture
def audit(lake: Lake, clock: Clock) -> AuditLog:
    return AuditLog(lake, clock)


@pytest.fixture
def wrong_tokens(audit: AuditLog, clock: Clock) -> WrongTokens:
    return WrongTokens(audit, lambda: clock().timestamp())


@pytest.fixture
def by_token(wrong_tokens: WrongTokens) -> ByToken:
    found = authentication_of(AccessSettings.model_validate({"token": TOKEN}), wrong_tokens)
    assert isinstance(found, ByToken)
    return found


def request(*headers: tuple[bytes, bytes]) -> HTTPConnection:
    return HTTPConnection({"type": "http", "headers": list(headers), "client": ("127.0.0.1", 1)})


def authorized(*values: str) -> HTTPConnection:
    return request(*((b"authorization", value.encode()) for value in values))


@pytest.mark.parametrize(
    "values",
    [
        (f"Bearer {TOKEN}",),
        (f"bearer {TOKEN}",),
        (f"BEARER {TOKEN}",),
        (f"Bearer  {TOKEN} ",),
        ("Basic YTpi", f"Bearer {TOKEN}"),
    ],
)
def test_who_sends_the_token_has_every_right_and_no_session(by_token: ByToken, values: tuple[str, ...]) -> None:
    """The scheme's case, blanks around the token and a log-in for a proxy beside it make no difference."""
    assert by_token.reader_of(authorized(*values)) == BY_TOKEN


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer Ă"])
def test_whoever_sends_anything_else_is_nobody(by_token: ByToken, value: str) -> None:
    """Another scheme, another token, or none."""
    assert by_token.reader_of(authorized(value)) is None
    assert by_token.reader_of(request()) is None


def test_the_cookie_of_a_session_names_it_until_its_end(by_token: ByToken, wrong_tokens: WrongTokens) -> None:
    """Forms of that session have its token, which another process with the same token knows too."""
    value = by_token.sessions.begin()
    asked = request((b"cookie", f"other=1; {COOKIE}={value}".encode()))
    session = by_token.sessions.find(value)
    assert by_token.reader_of(asked) == Reader("token", ALL_RIGHTS, session)
    assert session is not None
    assert ByToken(TOKEN, wrong_tokens).forms.fits(session, by_token.forms.token_of(session))
    assert not ByToken(TOKEN + "!", wrong_tokens).forms.fits(session, by_token.forms.token_of(session))
    by_token.sessions.end(session)
    assert by_token.reader_of(asked) is None


def test_a_bearer_of_a_proxy_locks_out_nobody_who_signs_in(by_token: ByToken, wrong_tokens: WrongTokens) -> None:
    """A page has many requests, and each has the same bearer: it is counted once."""
    for _ in range(2 * IN_A_ROW):
        assert by_token.reader_of(authorized("Bearer ey.of.proxy")) is None
    assert (wrong_tokens.wrong, wrong_tokens.refused) == (1, 0)
    assert by_token.is_token(TOKEN, address_of(authorized()))


def test_a_bearer_of_a_proxy_locks_out_nobody_with_a_session(by_token: ByToken, wrong_tokens: WrongTokens) -> None:
    """It is no try of the token: it is not counted, also once others of the address have to wait."""
    value = by_token.sessions.begin()
    asked = request((b"authorization", b"Bearer ey.of.proxy"), (b"cookie", f"{COOKIE}={value}".encode()))
    by_person = Reader("token", ALL_RIGHTS, by_token.sessions.find(value))
    assert [by_token.reader_of(asked) for _ in range(2 * IN_A_ROW)] == [by_person] * 2 * IN_A_ROW
    assert wrong_tokens.wrong == 0
    for number in range(IN_A_ROW):
        by_token.reader_of(authorized(f"Bearer ey.of.proxy.{number}"))
    assert by_token.reader_of(asked) == by_person


@pytest.mark.parametrize("access", [None, "none"])
def test_without_access_everybody_has_every_right_and_needs_a_form_of_ours(
    access: None, wrong_tokens: WrongTokens
) -> None:
    """Nobody has a name; a page of another site cannot send a form, as all of a process share one session."""
    way = authentication_of(access, wrong_tokens)
    assert isinstance(way, Open)
    assert way.reader_of(request()) == Reader(None, ALL_RIGHTS, "")
    assert not way.forms.fits("", "")
    assert way.forms.fits("", way.forms.token_of(""))
    assert not Open().forms.fits("", way.forms.token_of(""))


@pytest.mark.parametrize(("length", "is_enough"), [(15, False), (16, True)])
def test_a_token_has_sixteen_characters_or_more(length: int, is_enough: bool, wrong_tokens: WrongTokens) -> None:
    """One less can be guessed."""
    given = {"token": "t" * length}
    if is_enough:
        assert isinstance(authentication_of(AccessSettings.model_validate(given), wrong_tokens), ByToken)
        return
    with pytest.raises(ValidationError, match=r"it needs 16 characters or more.*openssl rand -base64 32"):
        AccessSettings.model_validate(given)


PROXY = {"addresses": [" 10.0.0.7 "], "groups": {"all": {"deployments": ["*"]}}}


def test_a_person_whom_the_proxy_names_has_a_session_of_that_name(wrong_tokens: WrongTokens) -> None:
    """Blanks around an address and around a name are no part of it, and the longest name has 256 characters."""
    way = authentication_of(AccessSettings.model_validate({"proxy": PROXY}), wrong_tokens)
    assert isinstance(way, ByProxy)
    for sent, user in [(b" ann ", "ann"), (b"a" * 256, "a" * 256), (b"a" * 257, None)]:
        asked = HTTPConnection(
            {"type": "http", "headers": [(b"x-forwarded-user", sent)], "client": ("10.0.0.7", 1)},
        )
        assert way.reader_of(asked) == (user and Reader(user, (), user))


@pytest.mark.parametrize(
    "changed",
    [
        {"groups": {"": {"deployments": ["*"]}}},
        {"groups": {" a": {"deployments": ["*"]}}},
        {"groups": {"a": {"deployments": ["*"], "right": ["texts"]}}},
        {"groups": {"a": {"deployments": [""]}}},
        {"adresses": ["10.0.0.8"]},
    ],
)
def test_a_proxy_that_is_set_up_with_a_slip_is_refused(changed: dict[str, object]) -> None:
    """A group that no header can name, and a word that is misspelt, would grant less or more than was meant."""
    with pytest.raises(ValidationError):
        AccessSettings.model_validate({"proxy": PROXY | changed})


@pytest.mark.parametrize("address", ["10.0.0.0/8", "0.0.0.0/1", "::/1", "fd00::/8"])
def test_a_network_of_any_size_but_all_addresses_may_be_the_proxys(address: str) -> None:
    """A large one is the operator's choice."""
    assert AccessSettings.model_validate({"proxy": PROXY | {"addresses": [address]}}).proxy is not None


def test_an_address_that_tries_on_and_on_waits_between_its_tries(
    by_token: ByToken, wrong_tokens: WrongTokens, clock: Clock
) -> None:
    """Ten in a row, then one each three seconds; not even the right one is looked at before, and others do not wait."""
    for _ in range(IN_A_ROW):
        assert by_token.is_token("wrong", "10.0.0.7") is False
    for given in ("wrong", TOKEN):
        with pytest.raises(TooManyWrongTokensError) as refused:
            by_token.is_token(given, "10.0.0.7")
        assert refused.value.seconds == pytest.approx(SECONDS_EACH)
    assert by_token.is_token(TOKEN, "10.0.0.8") is True
    clock.advance(seconds=SECONDS_EACH)
    assert by_token.is_token("wrong", "10.0.0.7") is False
    with pytest.raises(TooManyWrongTokensError):
        by_token.is_token("wrong", "10.0.0.7")
    clock.advance(seconds=SECONDS_EACH)
    assert by_token.is_token(TOKEN, "10.0.0.7") is True
    assert (wrong_tokens.wrong, wrong_tokens.refused) == (IN_A_ROW + 1, 3)


def test_right_tokens_never_wait(by_token: ByToken) -> None:
    """However many a script sends."""
    assert all(by_token.is_token(TOKEN, "10.0.0.7") for _ in range(10 * IN_A_ROW))


def test_a_header_is_counted_by_the_address_of_its_sender(by_token: ByToken) -> None:
    """Of IPv6 by the network, of which one who tries has all addresses."""
    for number in range(IN_A_ROW):
        sent = {
            "type": "http",
            "headers": [(b"authorization", b"Bearer %d" % number)],
            "client": (f"fd00::{number}", 1),
        }
        assert by_token.reader_of(HTTPConnection(sent)) is None
    sent["headers"] = [(b"authorization", b"Bearer x")]
    with pytest.raises(TooManyWrongTokensError):
        by_token.reader_of(HTTPConnection(sent))
    by_token.reader_of(HTTPConnection(sent | {"client": ("fd00:0:0:1::1", 1)}))


def test_wrong_tokens_take_little_room(
    wrong_tokens: WrongTokens, audit: AuditLog, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The addresses are bounded, the last are kept; and a flood leaves room for the other rows of `_audit`."""
    monkeypatch.setattr("monitor.access.wrong_tokens.MOST_ADDRESSES", 3)
    for address in ("a", "b", "c", "a", "d"):
        for _ in range(IN_A_ROW):
            wrong_tokens.add(address)
    for address in ("a", "c", "d"):
        with pytest.raises(TooManyWrongTokensError):
            wrong_tokens.check_wait(address)
    wrong_tokens.check_wait("b")
    for _ in range(1_000):
        wrong_tokens.add("a")
    assert audit.waiting == 60
    clock.advance(seconds=2)
    for _ in range(1_000):
        wrong_tokens.add("a")
    assert audit.waiting == 62
