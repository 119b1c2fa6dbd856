"""All contexts of a row in canonical form as one text, a line each: a fact is looked for once a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from evaluator.metrics.matchers.canonical import TWO_WHEN_LOWER, canonical, canonical_origins
from evaluator.metrics.matchers.matcher import Span

_BORDER = "\uffff"
_LATIN_BORDER = "\x80"
_SPACE, _LINE_END = ord(" "), ord("\n")

Spaced = tuple[npt.NDArray[np.unsignedinteger], str]
"""Codes of a text, and the name of their encoding."""


@dataclass(frozen=True)
class CanonicalLines:
    """The canonical form of each context and a line's end, which no canonical text holds.

    `kept` says which characters of the contexts, each followed by one for its border, have one of their own in `text`;
    None where some character has two.
    """

    contexts: Sequence[str]
    text: str
    kept: npt.NDArray[np.bool_] | None

    @classmethod
    def of(cls, contexts: Sequence[str]) -> CanonicalLines:
        """Bring contexts to their canonical form."""
        spaced = _ascii(contexts) or _two_bytes_each(contexts)
        if spaced is None:
            return cls(contexts, "".join(f"{canonical(context)}\n" for context in contexts), None)
        codes, encoding = spaced
        is_other = codes != _SPACE
        kept = is_other.copy()
        kept[1:] |= is_other[:-1]
        kept[:1] = True
        return cls(contexts, codes[kept].tobytes().decode(encoding), kept)

    def places(self, fact: str) -> Iterator[tuple[int, int]]:
        """Yield each line that holds a canonical fact, from 0, and where in `text` it stands there first."""
        text, line, counted = self.text, 0, 0
        at = text.find(fact)
        # An empty fact is found behind the last line too.
        while 0 <= at < len(text):
            line += text.count("\n", counted, at)
            counted = at
            yield line, at
            at = text.find(fact, text.index("\n", at) + 1)

    def span(self, line: int, at: int, length: int) -> Span:
        """Return the characters of a context that became `length` characters of `text`.

        A run of spaces and marks at their end belongs to them as a whole.
        """
        origins, first = self._origins(line), at - self.text.rfind("\n", 0, at) - 1
        return int(origins[first]), int(origins[first + length])

    def _origins(self, line: int) -> Sequence[int] | npt.NDArray[np.intp]:
        """Return for each character of a line, and for its end, the index in the context."""
        if line not in self._known_origins:
            start = self._starts[line]
            self._known_origins[line] = (
                canonical_origins(self.contexts[line])
                if self.kept is None
                else self.kept[start : start + len(self.contexts[line]) + 1].nonzero()[0]
            )
        return self._known_origins[line]

    @cached_property
    def _known_origins(self) -> dict[int, Sequence[int] | npt.NDArray[np.intp]]:
        return {}

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(context) + 1 for context in self.contexts), initial=0))


def canonical_forms(texts: Sequence[str]) -> list[str]:
    """Return the canonical form of each text; for many short ones much faster than one by one."""
    return CanonicalLines.of(texts).text.split("\n")[:-1]


def _ascii(contexts: Sequence[str]) -> Spaced | None:
    if not all(map(str.isascii, contexts)):
        return None
    joined = _LATIN_BORDER.join([*contexts, ""]).encode("latin-1")
    return np.frombuffer(joined.translate(_latin_table()), np.uint8), "latin-1"


def _two_bytes_each(contexts: Sequence[str]) -> Spaced | None:
    """Return codes where each character has two bytes and one lower-case letter; None for emoji and the like."""
    joined = _BORDER.join([*contexts, ""])
    codes = np.frombuffer(joined.encode("utf-16-le", "surrogatepass"), "<u2")
    if len(codes) != len(joined) or TWO_WHEN_LOWER in joined or joined.count(_BORDER) != len(contexts):
        return None
    return _table().take(codes), "utf-16-le"


@cache
def _table() -> npt.NDArray[np.uint16]:
    """Return for each two-byte code its lower-case letter or digit, a space, or the line's end."""
    characters = map(chr, range(0x10000))
    codes = [ord(c.lower()) if c.isalnum() and c != TWO_WHEN_LOWER else _SPACE for c in characters]
    codes[ord(_BORDER)] = _LINE_END
    return np.array(codes, "<u2")


@cache
def _latin_table() -> bytes:
    table = bytearray(_table()[:0x80].astype(np.uint8).tobytes().ljust(0x100))
    table[ord(_LATIN_BORDER)] = _LINE_END
    return bytes(table)
