"""Words of an answer as a reader counts them."""

from __future__ import annotations

import re

from evaluator.metrics.language.scripts import has_unspaced, split_unspaced

# Not "all but \w": vowel signs of Indian scripts are no \w, and words would fall apart.
_BREAK = re.compile(r"[\s|/\\()\[\]{}<>\"\u201c-\u201f«»:;!?\u2013\u2014\u2026]+")
_OUTER_MARKS = re.compile(r"^[\W_]+|[\W_]+$")


def words(text: str) -> list[str]:
    """Give the words of a text in lower case: `state-of-the-art`, `don't` and `3.14` are one each.

    Runs of Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut as `split_unspaced` does.
    """
    found = [word for piece in _BREAK.split(text.lower()) if (word := _OUTER_MARKS.sub("", piece))]
    return [piece for word in found for piece in split_unspaced(word)] if has_unspaced(text) else found
