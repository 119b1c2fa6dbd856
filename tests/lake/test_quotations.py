from __future__ import annotations

import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake.quotations import Quotations

TEXT = 'She said "no" \\ and left,\nthen wrote: façade 😀.'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=20, max_size=60)


def forms(text: str) -> list[str]:
    in_json = [json.dumps(text), json.dumps(text, ensure_ascii=False)]
    return [text, *in_json, json.dumps(in_json[0]), json.dumps(in_json[1], ensure_ascii=False)]


@given(TEXTS, st.text(max_size=30), st.text(max_size=30))
def test_a_text_is_found_wherever_it_stands(text: str, before: str, after: str) -> None:
    """A text is found at any place: as it is, in JSON, and in JSON within JSON."""
    quotations = Quotations([TEXT, text])
    for written in forms(text):
        assert quotations.occur_in(f"{before}{written}{after}".encode("utf-8", "replace"))


@given(st.lists(st.text("ab", min_size=20, max_size=24), max_size=4), st.text("ab", max_size=60))
def test_nothing_else_is_found(texts: list[str], said: str) -> None:
    """Bytes that hold none of the texts as a whole hold nothing."""
    assert Quotations(texts).occur_in(said.encode()) == any(text in said for text in texts)


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
    monkeypatch.setattr("lake.quotations._Literal.stands_around", lambda *_: compared.append(1))
    assert not quotations.occur_in(body)
    assert len(compared) < 10
