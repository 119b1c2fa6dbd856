"""Hostile texts in every column: a page shows them, and no more."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from lake.tables.lake import Lake
from monitor.pages.answers.query import AnswerQuery, Column
from monitor.pages.answers.saved_searches import save_search
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, STRANGE_NAME, ScoreColumns
from tests.monitor.pages.answers.payloads import LONG, PAYLOADS, add_rows, event_id

_TAGS = """
html head meta title link body a header img nav main footer p h1 h2 h3 section dl div dt dd span strong br ul ol li mark
blockquote table caption thead tbody tr th td details summary pre code form label select option input button
fieldset legend textarea dialog kbd
bdi wbr
"""
TAGS = frozenset(_TAGS.split())
"""Elements that our templates write."""
_ATTRIBUTES = """
lang charset name content rel href type class id src alt width height aria-label aria-labelledby aria-hidden dir value
title scope colspan action method selected inputmode size rows maxlength required pattern placeholder
checked data-label open tabindex role data-rows data-with-keys hidden start
"""
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
OWN_SCRIPT = [("src", "/static/keys.js"), ("defer", None)]
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0041]")


class Page(HTMLParser):
    """Elements, attributes and links of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.read: list[str] = []
        """What a person reads; the value of a field is what goes back to us."""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and attrs == OWN_SCRIPT:
            return
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.read += [value or "" for name, value in attrs if name != "value"]
        self.links.update(value or "" for name, value in attrs if name in ("href", "src", "action"))

    def handle_data(self, data: str) -> None:
        self.read.append(data)


OWN_LINK = re.compile(
    r"/answer/label$|/metrics-guide$|/ground-truth(/make$|\?|$)|/incident/[a-z]+(/end|/withdraw)?$|/answers/(neighbour\?|save$|remove$)|/[a-z]*(\.[a-z]+)?(\?|$|\.)|/static/|#"
)


def assert_is_plain(page: str, tags: frozenset[str] = TAGS, attributes: frozenset[str] = ATTRIBUTES) -> None:
    """Only our own elements and attributes, and links to our own pages."""
    found = Page(page)
    assert found.tags - tags == set()
    assert found.attributes - attributes == set()
    assert [link for link in found.links if not OWN_LINK.match(link)] == []
    assert not UNSEEN.search("".join(found.read))


def test_there_are_forty_payloads() -> None:
    """And one of a million characters."""
    assert (len(PAYLOADS), len(set(PAYLOADS)), len(LONG)) == (40, 40, 1_000_000)


@pytest.mark.slow
@pytest.mark.parametrize("deployment", ["rag", STRANGE_NAME])
def test_no_text_becomes_an_element_an_attribute_or_a_link(
    rows: ScoreColumns, lake: Lake, monitor: Monitor, deployment: str
) -> None:
    """Each payload in each column, in the list, on its own page, in the lookup of its id, and in the form."""
    chosen = PAYLOADS if deployment == "rag" else PAYLOADS[::8]
    add_rows(rows, lake, deployment, chosen)
    monitor.refresh()
    with TestClient(create_app(monitor), follow_redirects=False) as client:
        listed = client.get(f"/answers.json?{urlencode({'deployment': deployment})}").json()
        assert listed["total"] == len(chosen)
        for page in ("1", "2"):
            query = {"deployment": deployment, "page": page, "columns": ",".join(Column)}
            assert_is_plain(client.get(f"/answers?{urlencode(query)}").text)
        for number, text in enumerate(chosen):
            address = {"deployment": deployment, "date": NOW.date().isoformat()}
            shown = client.get(f"/answer?{urlencode(address | {'event_id': event_id(number, text)})}")
            assert shown.status_code == 200
            assert_is_plain(shown.text)
            assert_is_plain(client.get(f"/answer?{urlencode({'response_id': text})}").text)
            typed = dict.fromkeys(("deployment", "metric", "words", "id", "sort", "below", "rating", "since"), text)
            assert_is_plain(client.get(f"/answers?{urlencode(typed)}").text)
            save_search(lake, AnswerQuery(deployment, NOW.date(), NOW.date(), words=text), text, text, NOW)
            for name in ("words", "sort", "comment", "client", "user", "columns"):
                assert_is_plain(client.get(f"/answers?{urlencode({'deployment': deployment, name: text})}").text)
            assert_is_plain(
                client.get(f"/answer?{urlencode(dict.fromkeys(('deployment', 'date', 'event_id'), text))}").text
            )
        assert len(client.get("/answers/saved.json").json()["searches"]) == len(chosen)
        assert_is_plain(client.get("/answers").text)


def test_a_line_of_a_million_characters_makes_no_page_of_a_hundred_megabytes(
    rows: ScoreColumns, lake: Lake, monitor: Monitor
) -> None:
    """Each place cuts it, and says by how much."""
    add_rows(rows, lake, "rag", [LONG])
    monitor.refresh()
    with TestClient(create_app(monitor)) as client:
        address = {"deployment": "rag", "date": NOW.date().isoformat(), "event_id": event_id(0, LONG)}
        page = client.get(f"/answer?{urlencode(address)}")
        assert page.status_code == 200
        assert len(page.text) < 1_000_000
        assert "more characters" in page.text
        assert len(client.get("/answers?deployment=rag").text) < 100_000
