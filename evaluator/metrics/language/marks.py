"""Texts without the marks that are no part of what they say."""

from __future__ import annotations

import re

from runtime.words import LETTER_MARKS

# A sign, a currency before a number and what follows one say something: -3.2%, <50, $5.
_BEFORE_FACT = re.compile(
    r"^(?:(?!(?:[-+\u2212\u2013\u00b1~#]|[<>\u2264\u2265]\s?)?(?:[$\u20ac\u00a3\u00a5]\s?)?\d)[\W_])+"
)
_AFTER_FACT = re.compile(rf"(?<=\d)(\s?[%\u2030\u20ac$\u00a3\u00a5\u00b0])[\W_]*$|(?:[^\w{LETTER_MARKS}]|_)+$")
_UNIT = re.compile(r"\s?[%\u2030\u20ac$\u00a3\u00a5\u00b0]")
_CITATION_MARK = re.compile(r"\[\d+\]")


def without_outer_marks(text: str) -> str:
    """Cut off the marks before and after what a text says.

    The sign, currency and percent of a number stay, and a bracket whose other one does.
    """
    before, after = _BEFORE_FACT.match(text), _AFTER_FACT.search(text)
    begin = before.end() if before else 0
    end = max(after.end(1) if after[1] else after.start(), begin) if after else len(text)
    for opening, closing in ("()", "[]"):
        opened, closed = (text.count(bracket, begin, end) for bracket in (opening, closing))
        if opened > closed and text.startswith(closing, end):
            end += 1
            end = unit.end() if (unit := _UNIT.match(text, end)) else end
        if closed > opened and text.endswith(opening, 0, begin):
            begin -= 1
    return text[begin:end]


def without_citation_marks(text: str) -> str:
    """Put a blank in place of each citation mark such as [1]."""
    return _CITATION_MARK.sub(" ", text)
