"""Texts of strangers as HTML: escaped, marked, cut where too long, with control characters written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

MOST_CHARACTERS = 50_000
"""Characters of one text on a page; the JSON of the page has the rest."""

Span = tuple[int, int]
"""Characters of a text: start and end."""

# Controls but tab and line feed, what turns the direction of the text after it, what nobody sees, and halves of
# characters, which UTF-8 cannot write.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class Mark:
    """A class of the style sheet, the places of a text that get it, and their tooltip."""

    style: str
    places: Sequence[Span]
    title: str


def visible(text: str) -> str:
    """Give the text with the code point of each character that one does not see, as in `[U+202E]`."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text.replace("\r\n", "\n"))


def shown(text: object, most: int = MOST_CHARACTERS) -> Markup:
    """Give a text as HTML that is shown as it is: no tag, no turn of direction, no unseen character."""
    return marked(str(text), (), most)


def marked(text: str, marks: Iterable[Mark], most: int = MOST_CHARACTERS) -> Markup:
    """Give a text as HTML with `<mark>` around the places; where places overlap, the first mark of them is used."""
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


def _written(piece: str) -> Markup:
    parts, done = [], 0
    for found in _UNSEEN.finditer(piece := piece.replace("\r\n", "\n")):
        parts.append(escape(piece[done : found.start()]))
        parts.append(Markup('<span class="unseen">U+{}</span>').format(f"{ord(found[0]):04X}"))
        done = found.end()
    return Markup("").join([*parts, escape(piece[done:])])


def _pieces(text: str, marks: Iterable[Mark]) -> Iterator[tuple[str, Mark | None]]:
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
