"""Whether a chunk is another version of one that a case was made of, in which a fact was replaced or left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from evaluator.metrics import tokens

_LEAST_SHARE = 0.5
"""Of the words of the shorter of two versions of a chunk, so many stand in the other, in the same order."""
_MOST_WORDS = 2_000
"""Longer chunks are not compared: it takes quadratic time."""
_LEAST_NAME = 3
_OF_REQUEST = re.compile(r"\d+\.\d+")
"""DIAL RAG's ids: the number of the document in the request, and that of the chunk in it."""
_PAGE = re.compile(r"#page=\d+$")


def document_of(url: str | None) -> str | None:
    """Return the address of a chunk's document: the chunk's without its page."""
    return _PAGE.sub("", url) if url else None


def names_chunk(chunk_id: str, url: str | None) -> bool:
    """Return whether the id of a chunk that an application gave names its document and, in it, the chunk.

    A bare rank or page does not, and other applications' ids are taken for that: the id must hold the name of the
    document's file, and something more.
    """
    document = document_of(url)
    if document is None or names_place(chunk_id, url):
        return False
    file, plain = PurePosixPath(unquote(urlsplit(document).path).casefold()), unquote(chunk_id).casefold()
    rest = plain.replace(file.name, "").replace(file.stem, "")
    return len(file.stem) >= _LEAST_NAME and rest != plain and any(map(str.isalnum, rest))


def names_place(chunk_id: str, url: str | None) -> bool:
    """Return whether the id tells only together with a question and its documents.

    It is the document's address, with its page where there is one, which several chunks may have; or it counts the
    documents of the request.
    """
    document = document_of(url)
    return document is not None and (document_of(chunk_id) == document or bool(_OF_REQUEST.fullmatch(chunk_id)))


def has_lost(old: str, new: str, fact: str) -> bool:
    """Return whether `new` is `old` with the fact replaced by something else, or taken out.

    Where a fact only lies beyond the border of `new`, the document was cut into other chunks: that says nothing of it.
    The fact must stand in `old`, and not in `new`.
    """
    before, after, wanted = tokens(old), tokens(new), tokens(fact)
    if not wanted or max(len(before), len(after)) > _MOST_WORDS:
        return False
    start = _place_of(wanted, before)
    if start is None:
        return False
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    if common < _LEAST_SHARE * min(len(before), len(after)):
        return False
    end = start + len(wanted)
    return any(
        (tag == "replace" or (tag == "delete" and 0 < there < len(after))) and first < end and last > start
        for tag, first, last, there, _ in matcher.get_opcodes()
    )


def _place_of(wanted: Sequence[str], words: Sequence[str]) -> int | None:
    for start in range(len(words) - len(wanted) + 1):
        if words[start : start + len(wanted)] == wanted:
            return start
    return None
