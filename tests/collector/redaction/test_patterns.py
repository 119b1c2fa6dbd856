from __future__ import annotations

import json
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from collector.parsing import Rejection
from collector.redaction import PATTERN_NAMES, RedactionSettings, Redactor
from collector.redaction.patterns import BUILT_IN, luhn, mod_97, own
from collector.redaction.scrubber import Scrubber
from tests.collector.redaction.planting import SECRETS

FOUND = {
    "email": ["john.o'neil+x@mail.example.co.uk", "jürgen@bücher.de", "a@b.io"],
    "phone": ["+49 30 901820", "+1 (415) 555-2671", "0044 20 7946 0018", "(030) 901 820 12", "415-555-2671"],
    "iban": ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "de89370400440532013000", "NO9386011117947"],
    "payment_card": ["4111 1111 1111 1111", "5500-0000-0000-0004", "340000000000009", "6011000000000000001"],
    "ip": ["192.168.7.41", "2001:db8::8a2e:370:7334", "fe80::1", "::ffff:10.20.30.40", "10.0.0.1"],
    "secret": [
        "AKIAIOSFODNN7EXAMPLE",
        "github_pat_11ABCDEFG0abcdefghijkl_mnop",
        "xoxb-123456789012-abcdefGHIJKL",
        "sk-proj-abcDEF123456789_abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nZ9+/x==\n-----END RSA PRIVATE KEY-----",
    ],
}
LEFT = {
    "email": ["@john", "john@", "user@host", "a @ b.de"],
    "phone": ["2026-11-20T10:00:17+0000", "0.00123456789", "1234567", "room 30 901", "a+4930901820"],
    "iban": ["DE88 3704 0044 0532 0130 00", "XX89370400440532013000", "aDE89370400440532013000"],
    "payment_card": [
        "4111 1111 1111 1112",
        "0.4111111111111111",
        "1790812800123",
        "a4111111111111111",
        "4111111111111111f",
    ],
    "ip": ["v10.20.30.40", "version 10.20.30.40", "1.2.3.4.5", "300.1.1.1", "10:20:30", "std::add", "a1.2.3.4"],
    "secret": [
        '{"token": "Hello", "password": ""}',
        '{"text": "type your password:", "model": "a"}',
        "sk-short",
        "AKIA",
        "eyJ.eyJ.x",
        "the token: is here",
        "password: abc",
    ],
}


def scrubber(*names: str) -> Scrubber:
    return Scrubber([pattern for name in names for pattern in BUILT_IN[name]], b"key")


def scrub(text: str, *names: str) -> str:
    return scrubber(*names).scrub(text.encode()).decode()


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FOUND.items() for text in texts])
def test_what_is_found_is_replaced_whole(name: str, text: str) -> None:
    """The mark takes the place of all of it, and of nothing beside it."""
    assert scrub(f"see {text}, now", name) == f"see [{name.upper()}], now"


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in LEFT.items() for text in texts])
def test_what_only_looks_like_it_stays(name: str, text: str) -> None:
    """Check digits, country lengths, decimal points, letters beside it and the word version decide."""
    assert scrub(f"see {text}, now", name) == f"see {text}, now"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [SECRET]"),
        ('{"api_key": "abcdefghijklmnop1234"}', '{"api_key": "[SECRET]"}'),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [SECRET]"),
        ("password=hunter22;", "password=[SECRET];"),
        ("postgres://app:hunter22@db/x", "postgres://app:[SECRET]@db/x"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=[SECRET]"),
    ],
)
def test_of_an_assignment_only_the_value_goes(text: str, kept: str) -> None:
    """The name stays, so that one sees what was there."""
    assert scrub(text, "secret") == kept


@pytest.mark.parametrize("gap", "\xa0\u2007\u2009\u200b\u202f\u2010\u2011\u2012\u2013\u2014\u2015", ids=ascii)
@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("payment_card", "4111 1111 1111 1111"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("phone", "+49 170 1234567"),
        ("phone", "(030) 901 820 12"),
        ("phone", "415 555 2671"),
    ],
)
def test_groups_of_digits_are_found_whatever_stands_between(name: str, groups: str, gap: str) -> None:
    """Blanks that do not break, thin ones and typographic dashes are as good as a blank, also as escapes of JSON."""
    text = groups.replace(" ", gap)
    assert scrub(f"see {text}, now", name) == f"see [{name.upper()}], now"
    assert scrub(json.dumps(f"see {text}, now"), name) == f'"see [{name.upper()}], now"'


def test_letters_that_only_fold_to_ascii_are_no_iban() -> None:
    """The Kelvin sign is no K, and stops nothing."""
    text = "see \u212aL89370400440532013000, now"
    assert scrub(text, *PATTERN_NAMES) == text


@pytest.mark.parametrize("times", range(1, 6))
def test_percent_signs_are_undone_again_and_again(times: int) -> None:
    """An address that was percent-encoded several times is found all the same."""
    at = "%" + "25" * (times - 1) + "40"
    assert scrub(f"see john{at}x.org, now", "email") == "see [EMAIL], now"


@pytest.mark.parametrize("name", ["password", "db_passwd", "API-Key", "token", "Authorization"])
@given(value=st.text(st.characters(codec="utf-8"), min_size=16), depth=st.integers(0, 3))
def test_a_secret_in_json_is_taken_whole(name: str, value: str, depth: int) -> None:
    """Whatever characters it has, and however deep in JSON the JSON is: JSON stays JSON, and nothing of it is left."""
    # With its escapes undone a backslash at the end seems to escape the quote: what stands behind goes too.
    assume(not value.endswith("\\"))
    text = json.dumps({"a": [{name: value}], "b": "kept"})
    for _ in range(depth):
        text = json.dumps({"inner": text})
    redacted = Redactor(RedactionSettings(patterns=["secret"], key="a key of the tests")).redact(
        Rejection(reason="not_json", message=text, raw=b"")
    )
    assert isinstance(redacted, Rejection)
    left = redacted.message
    for _ in range(depth):
        left = json.loads(left)["inner"]
    assert json.loads(left) == {"a": [{name: "[SECRET]"}], "b": "kept"}


@pytest.mark.parametrize("first", sorted(SECRETS.keys() & set(PATTERN_NAMES)))
@given(data=st.data())
def test_two_that_stand_side_by_side_are_both_found(first: str, data: st.DataObject) -> None:
    """A match that reaches too far does not hide the next one."""
    second = data.draw(st.sampled_from(sorted(SECRETS.keys() & set(PATTERN_NAMES))))
    text = f"{data.draw(SECRETS[first])}, {data.draw(SECRETS[second])}"
    left = scrub(text, *PATTERN_NAMES)
    assert not set("0123456789@").intersection(left), left


@given(st.integers(0, 10**18), st.integers(0, 17), st.integers(1, 9))
def test_luhn_notices_every_wrong_digit(number: int, place: int, change: int) -> None:
    """With the right check digit it holds, with any one digit changed it does not."""
    digits = f"{number:018d}"
    whole = next(f"{digits}{last}" for last in range(10) if luhn(f"{digits}{last}".encode()))
    wrong = f"{whole[:place]}{(int(whole[place]) + change) % 10}{whole[place + 1 :]}"
    assert not luhn(wrong.encode())


def test_mod_97_is_that_of_the_standard() -> None:
    """The examples of the IBAN registry hold, and not with a digit changed."""
    assert all(map(mod_97, ("DE89370400440532013000", "GB29NWBK60161331926819", "NO9386011117947")))
    assert not mod_97("DE89370400440532013001")


@pytest.mark.parametrize("text", ["4 ", "a@", "DE12", "1:", "\\", '"pwd":"', "%25", "4\xa0"])
def test_no_text_takes_long(text: str) -> None:
    """Time grows with the length, not with its square: eight times the text takes far less than 64 times as long."""
    tool = scrubber(*PATTERN_NAMES)

    def seconds(part: str) -> float:
        began = time.process_time()
        tool.find(part.encode())
        return time.process_time() - began

    short = max(min(seconds(text * 5_000) for _ in range(3)), 0.003)
    # What else the machine does may slow down one try.
    assert any(seconds(text * 40_000) < 24 * short for _ in range(5))


def test_an_own_pattern_is_taken_whole_and_may_match_nothing_in_between() -> None:
    """Groups of an own pattern mean nothing, and a pattern that finds empty places replaces none."""
    tool = Scrubber([own("staff", r"(?P<a>EMP)-(\d+)"), own("odd", r"\bx*"), own("again", r"(?P<a>ZZ)")], b"key")
    assert tool.scrub(b"EMP-123 and ZZ, no") == b"[STAFF] and [AGAIN], no"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"own": {"staff": "(a"}}, "staff is no regular expression of RE2: missing \\)"),
        ({"own": {"staff": "(?=a)b"}}, "RE2 has no look-around"),
        ({"own": {"staff": "a*"}}, "matches the empty text"),
        ({"own": {"email": "a"}}, "cannot be called 'email'"),
        ({"own": {"Staff No": "a"}}, "cannot be called 'Staff No'"),
        ({"patterns": ["mail"]}, "email"),
        ({"patterns": ["email"], "key": None}, "DIALWATCH_COLLECTOR__REDACTION__KEY"),
        ({"patterns": ["email"], "key": "short"}, "16 characters"),
        ({"presidio": {"model": "m", "entities": ["EMAIL_ADDRESS"]}}, "asks the network"),
    ],
)
def test_a_wrong_setting_is_refused_at_the_start(settings: dict[str, object], message: str) -> None:
    """The message says which and what to do, and shows no key."""
    with pytest.raises(ValueError, match=message) as refused:
        RedactionSettings.model_validate({"key": "0123456789abcdef"} | settings)
    assert "0123456789abcdef" not in str(refused.value)
