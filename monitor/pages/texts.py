"""Texts of strangers as HTML: escaped, marked, cut where too long, with control characters written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from runtime.searched_words import places_of, wanted_words
from runtime.unseen_characters import unseen_pieces

MOST_CHARACTERS = 50_000
"""Characters of one text on a page; the JSON of the page has the rest."""

Span = tuple[int, int]
"""Characters of a text: start and end."""


@dataclass(frozen=True)
class TextMark:
    """A class of the style sheet, the places of a text that get it, and their tooltip."""

    style: str
    places: Sequence[Span]
    title: str


def shown(text: object, most: int = MOST_CHARACTERS) -> Markup:
    """Return a text as HTML that is shown as it is: no tag, no turn of direction, no unseen character."""
    return marked(str(text), (), most)


def marked(text: str, marks: Iterable[TextMark], most: int = MOST_CHARACTERS) -> Markup:
    """Return a text as HTML with `<mark>` around the places; where places overlap, the first mark of them is used."""
    cut, parts = text[:most], []
    for piece, mark in _pieces(cut, marks):
        html = _written(piece)
        if mark is not None:
            html = Markup('<mark class="{}" title="{}">{}</mark>').format(mark.style, mark.title, html)
        parts.append(html)
    left = len(text) - len(cut)
    if left:
        parts.append(Markup(' <span class="quiet">… and {} more characters</span>').format(f"{left:,}"))
    return Markup("").join(parts)


def searched(text: str, words: str) -> Markup:
    """Return a text as HTML in which each of the words that are searched is marked."""
    cut = text[:MOST_CHARACTERS]
    return marked(text, [TextMark("searched", list(places_of(cut, wanted_words(words))), "searched")])


def _written(text: str) -> Markup:
    unseen = Markup('<span class="unseen">U+{}</span>')
    pieces = unseen_pieces(text)
    return Markup("").join(unseen.format(f"{ord(piece):04X}") if hidden else escape(piece) for piece, hidden in pieces)


def _pieces(text: str, marks: Iterable[TextMark]) -> Iterator[tuple[str, TextMark | None]]:
    places = sorted(
        ((start, end, mark) for mark in marks for start, end in mark.places if 0 <= start < end), key=lambda one: one[0]
    )
    done = 0
    for start, end, mark in places:
        begin, stop = max(start, done), min(end, len(text))
        if begin >= stop:
            continue
        if done < begin:
            yield text[done:begin], None
        yield text[begin:stop], mark
        done = stop
    if done < len(text):
        yield text[done:], None
