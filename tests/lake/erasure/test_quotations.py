from __future__ import annotations

import functools
import json
import random
import re
import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.erasure.quotations import DEEPEST_ESCAPE, Quotations, _unescaped

TEXT = 'She said "no" \\ and left,\nthen wrote: façade 😀.'
CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from('/\\"Ü😀\n')
TEXTS = st.text(CHARACTERS, min_size=20, max_size=60)
SHORT = {'"': r"\"", "\\": r"\\", "/": r"\/", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
FRAMES = ["%s", '{"messages":[{"content":"%s"}]}', 'data: {"id":"1","choices":["%s"]}\n\ndata: [DONE]\n', "See <%s>."]


def in_json_string(chance: random.Random, text: str) -> str:
    """The text as the inside of a JSON string, each character by any of its escapes that JSON allows."""
    return "".join(chance.choice(escapes(character)) for character in text)


@functools.cache
def escapes(character: str) -> list[str]:
    units = character.encode("utf-16-be")
    codes = [f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)]
    mixed = codes[0].upper().replace("\\U", "\\u") + "".join(codes[1:])
    bare = [] if character < " " or character in '"\\' else [character]
    return [*bare, *([SHORT[character]] if character in SHORT else []), "".join(codes), mixed]


@st.composite
def in_lines(draw: st.DrawFn, text: str) -> str:
    """The text somewhere in a line: as a string of JSON, that as a string of JSON again, and so on."""
    # One draw for all characters: a draw for each takes a hundred times as long.
    chance, said = random.Random(draw(st.integers(0, 10**6))), text
    for frame in draw(st.lists(st.sampled_from(FRAMES), max_size=5)):
        said = frame.replace("%s", in_json_string(chance, said))
    return said


@given(st.data(), TEXTS, st.text(max_size=30), st.text(max_size=30))
def test_a_text_is_found_wherever_it_stands(data: st.DataObject, text: str, before: str, after: str) -> None:
    """A text is found at any place and level of JSON within JSON, whichever escapes of JSON its writer chose."""
    line = data.draw(in_lines(text))
    assert Quotations([TEXT, text]).occur_in(f"{before} {line} {after}".encode("utf-8", "replace"))


@given(st.data(), st.text(CHARACTERS, min_size=8, max_size=40))
def test_an_id_is_found_wherever_it_stands(data: st.DataObject, one: str) -> None:
    """An id is found as a text is, and percent-encoded too."""
    small = re.sub("%..", lambda code: code[0].lower(), quote(one, safe=""))
    said = data.draw(st.sampled_from([f'"{one}"', f'"{quote(one, safe="")}"', f"/{small}?a"]))
    assert Quotations([], [one]).occur_in(f" {data.draw(in_lines(said))} ".encode())


@pytest.mark.parametrize(
    "line",
    [
        rb'{"messages":[{"content":"Is 24\/7 support of \u00DCberlingen open?"}]}',
        rb'{"body":"{\"content\":\"Is 24\\/7 support of \\u00DCberlingen open?\"}"}',
        rb'{"body":"{\u0022content\u0022:\u0022Is 24\u005c\/7 support of \u005Cu00DCberlingen open?',
        b"Is 24/7 support of \xc3\x9cberlingen open?",
    ],
)
def test_what_core_and_others_escape_is_found(line: bytes) -> None:
    """Core's escaped slashes, codes in capitals and escaped backslashes hide no text."""
    assert Quotations(["Is 24/7 support of Überlingen open?"]).occur_in(line)


@given(TEXTS, st.integers(0, 11))
def test_what_a_table_holds_replaced_is_found(text: str, at: int) -> None:
    """A text whose row holds U+FFFD for a control character or a lone surrogate is found in the line that holds it."""
    held = text[:at] + "\ufffd" + text[at:]
    for said in ("\x01", r"\u0001", r"\uD800"):
        assert Quotations([held]).occur_in(f"{json.dumps(text[:at])[1:-1]}{said}{json.dumps(text[at:])[1:-1]}".encode())


@given(st.data(), st.text("ab", min_size=20, max_size=24), st.text("ab/", max_size=60))
def test_what_is_not_said_is_found_by_no_escape(data: st.DataObject, text: str, said: str) -> None:
    """However it is escaped, a line that does not hold the text holds nothing."""
    line = data.draw(in_lines(said))
    assert Quotations([text]).occur_in(line.encode()) == (text in said)


def test_escapes_without_end_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is nothing but escapes within escapes is read a limited number of times."""
    read = []
    monkeypatch.setattr("lake.erasure.quotations._unescaped", lambda text: (read.append(1), _unescaped(text))[1])
    assert not Quotations([TEXT]).occur_in(b"\\" + b"u005c" * 1_000)
    assert len(read) <= DEEPEST_ESCAPE + 1


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('{"chat":{"id":"chat-123"}}', True),
        (r"{\"id\":\"chat-123\"}", True),
        ("of chat-123, and", True),
        ("chat-123", True),
        (r"it is:\nchat-123\n", True),
        ("conversations%2Fchat-123", True),
        ("chat-1234", False),
        ("achat-123", False),
        ("my-chat-123", False),
        ("échat-123", False),
        ("chat-123-4", False),
    ],
)
def test_an_id_is_no_part_of_a_longer_word(said: str, found: bool) -> None:
    """An id is found where it stands alone, and not within a longer word."""
    assert Quotations([], ["chat-123"]).occur_in(said.encode()) is found


def test_an_id_is_found_as_an_address_writes_it() -> None:
    """An id with slashes is found percent-encoded too."""
    quotations = Quotations([], ["conversations/b1/é"])
    assert quotations.occur_in(b'"id":"conversations%2Fb1%2F%C3%A9"')
    assert quotations.occur_in('"id":"conversations/b1/é"'.encode())


def test_what_is_short_is_not_looked_for() -> None:
    """Texts under 20 characters and ids under 8 are in everybody's lines."""
    assert not Quotations(["a" * 19], ["b" * 7]).occur_in(b"a" * 19 + b" " + b"b" * 7)
    assert Quotations(["a" * 20], []).occur_in(b"a" * 20)
    assert Quotations([], ["b" * 8]).occur_in(b"b" * 8)


def test_many_texts_are_looked_for_at_the_cost_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many texts there are, bytes that repeat none of them are not compared with any."""
    chance = random.Random(1)
    texts = ["".join(chance.choices(string.ascii_lowercase + " \n", k=1000)) for _ in range(1000)]
    body = "".join(chance.choices(string.ascii_lowercase + " ", k=58_000)).encode()
    quotations = Quotations(texts[1:])
    compared = []
    monkeypatch.setattr("lake.erasure.quotations._Literal.matches_at", lambda *_: compared.append(1))
    assert not quotations.occur_in(body)
    assert len(compared) < 10
