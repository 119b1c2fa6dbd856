"""Words of an answer as a reader counts them, and texts without the marks that are no part of what they say."""

from __future__ import annotations

import re

from evaluator.metrics.language.scripts import has_unspaced, split_unspaced

# Not "all but \w": vowel signs of Indian scripts are no \w, and words would fall apart.
_BREAK = re.compile(r"[\s|/\\()\[\]{}<>\"\u201c-\u201f«»:;!?\u2013\u2014\u2026]+")
_OUTER_MARKS = re.compile(r"^[\W_]+|[\W_]+$")
_CITATION_MARK = re.compile(r"\[\d+\]")


def words(text: str) -> list[str]:
    """Give the words of a text in lower case: `state-of-the-art`, `don't` and `3.14` are one each.

    Runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut as `split_unspaced` does.
    """
    found = [word for piece in _BREAK.split(text.lower()) if (word := without_outer_marks(piece))]
    return [piece for word in found for piece in split_unspaced(word)] if has_unspaced(text) else found


def without_outer_marks(text: str) -> str:
    """Cut off what stands before the first letter or digit of a text, and after the last."""
    return _OUTER_MARKS.sub("", text)


def without_citation_marks(text: str) -> str:
    """Put a blank in place of each citation mark such as [1]."""
    return _CITATION_MARK.sub(" ", text)
