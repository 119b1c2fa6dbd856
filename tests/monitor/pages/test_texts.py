"""Texts of strangers as HTML, whatever they hold."""

from __future__ import annotations

import html
import re

from hypothesis import example, given
from hypothesis import strategies as st

from monitor.pages.texts import TextMark, marked, shown
from runtime.unseen_characters import visible

TEXTS = st.one_of(st.text(st.sampled_from("<>&\"'/a \n\r\t\x00\x1b\u202e\u2066\u200b\ufeff\ud800🦜")), st.text())
SPANS = st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 60)), max_size=5)


def words_of(page: str) -> str:
    """What a browser shows, with the unseen characters put back."""
    back = re.sub(r'<span class="unseen">U\+([0-9A-F]+)</span>', lambda found: chr(int(found[1], 16)), page)
    return html.unescape(re.sub(r'</?mark(?: class="absent" title="m")?>', "", back))


@example("<mark>\u202eevil", [(0, 3), (2, 9)])
@given(TEXTS, SPANS)
def test_any_text_is_shown_as_it_is(text: str, spans: list[tuple[int, int]]) -> None:
    """No tag but the marks, nothing unseen, and not a character is lost, wherever marks lie and overlap."""
    page = str(marked(text, [TextMark("absent", spans, "m")]))
    assert set(re.findall(r"<[^>]*>", page)) <= {
        '<mark class="absent" title="m">', "</mark>", '<span class="unseen">', "</span>",
    }  # fmt: skip
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", page)
    assert words_of(page).replace("\r\n", "\n") == text.replace("\r\n", "\n")
    page.encode()


@given(TEXTS)
def test_a_title_has_no_character_that_nobody_sees(text: str) -> None:
    """Where there can be no tag, the code point stands in brackets."""
    assert not re.search("[\x00-\x08\x1b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", visible(text))


def test_a_place_is_marked_and_a_long_text_is_cut() -> None:
    """The first of overlapping marks counts; a text says how much of it is left out."""
    both = [TextMark("fact", [(0, 3)], "fact 1"), TextMark("absent", [(2, 5)], "m")]
    assert marked("abcdef", both) == (
        '<mark class="fact" title="fact 1">abc</mark><mark class="absent" title="m">de</mark>f'
    )
    assert "999,990 more characters" in shown("x" * 1_000_000, 10)
    assert len(shown("<" * 1_000_000, 10)) < 200
