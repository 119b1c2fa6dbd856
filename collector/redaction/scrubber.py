"""Scrubber of texts: replaces personal data and secrets by marks, also inside escaped text."""

from __future__ import annotations

import hashlib
import hmac
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import re2

from collector.redaction.patterns import Pattern, Span
from collector.redaction.settings import compile_options
from collector.redaction.views import View, views

Entities = Callable[[str], Sequence[tuple[int, int, str]]]
"""Finds named things in a text: start, end and what it is, in characters."""

_ROUNDS = 3
_LETTERS = bytes.maketrans(b"0123456789abcdef", b"abcdefghijklmnop")


@dataclass(frozen=True, slots=True)
class Find:
    """A match: its span in the original text, its mark, and its value after escapes are undone."""

    start: int
    end: int
    mark: str
    value: bytes
    quoted: bool = False


class Scrubber:
    """Replaces what the patterns and `entities` find by marks such as `[EMAIL]`."""

    def __init__(self, patterns: Sequence[Pattern], key: bytes, entities: Entities | None = None) -> None:
        self._key = key
        self._finders = [pattern.compiled() for pattern in patterns]
        # Nearly all texts match no pattern: one pass for all patterns then saves the passes for each of them.
        options = compile_options()
        options.never_capture = True
        expression = "|".join(f"(?:{pattern.expression})" for pattern in patterns)
        self._any = re2.compile(expression, options) if patterns else None
        self._entities = entities

    @property
    def reads_words(self) -> bool:
        """Whether words are searched, too; the structure of a text must then be kept out of the search."""
        return self._entities is not None

    def scrub(
        self, raw: bytes, levels: Sequence[View] | None = None, *, named: bool = False, words: bool = True
    ) -> bytes:
        """Replace all matches in UTF-8 text; with `named` each mark has the pseudonym of the value that it replaced.

        `levels` are the text's `views`, where they are at hand. Without `words` only the patterns are looked for.
        """
        for _ in range(_ROUNDS):
            finds = self.find(raw, levels, words=words)
            if not finds:
                break
            parts, position = [], 0
            for find in finds:
                parts += [raw[position : find.start], self.mark(find.mark, find.value if named else None)]
                position = find.end
            parts.append(raw[position:])
            raw, levels = b"".join(parts), None
        return raw

    def mark(self, name: str, value: bytes | None) -> bytes:
        """Mark that replaces a match: `[NAME]`, or `[NAME pseudonym]` with the pseudonym of its value."""
        return f"[{name}]".encode() if value is None else f"[{name} {self.pseudonym(value)}]".encode()

    def pseudonym(self, value: bytes) -> str:
        """Sixteen letters that stand for a value: the first 64 bits of its HMAC-SHA-256 under the key."""
        return self.digest(value)[:16].translate(_LETTERS).decode()

    def digest(self, value: bytes) -> bytes:
        """A value's HMAC-SHA-256 under the key, as 64 hex digits."""
        return hmac.new(self._key, value, hashlib.sha256).hexdigest().encode()

    def find(self, raw: bytes, levels: Sequence[View] | None = None, *, words: bool = True) -> list[Find]:
        """Return the matches, in order and without overlaps."""
        levels = views(raw) if levels is None else levels
        found: defaultdict[str, list[Find]] = defaultdict(list)
        for depth in reversed(range(len(levels))):
            below = levels[depth + 1] if depth + 1 < len(levels) else None
            new: defaultdict[str, list[Find]] = defaultdict(list)
            for find in self._find_in(levels[depth], below, words=words and below is None):
                # The deeper level knows better where it begins: `\njohn@x.org` does not begin with an n.
                if find.quoted or not _meets(find, found[find.mark]):
                    new[find.mark].append(find)
            for mark, finds in new.items():
                found[mark] = _merged(found[mark] + finds)
        return _merged([find for finds in found.values() for find in finds])

    def _find_in(self, view: View, below: View | None, *, words: bool) -> list[Find]:
        spans: list[tuple[Span, str, bool]] = []
        if self._any is not None and self._any.search(view.text) is not None:
            spans = [
                (span, finder.pattern.mark, finder.pattern.quoted)
                for finder in self._finders
                for span in finder.find(view.text)
            ]
        if self._entities is not None and words:
            spans += [(*found, False) for found in self._find_entities(view.text)]
        finds = []
        for span, mark, quoted in spans:
            start, end = span if below is None else below.widened(*span)
            finds.append(Find(*view.origin(start, end), mark, view.text[slice(*span)], quoted))
        return _merged(finds)

    def _find_entities(self, raw: bytes) -> list[tuple[Span, str]]:
        assert self._entities is not None  # noqa: S101
        text = raw.decode("utf-8", "replace")
        found = []
        for start, end, name in self._entities(text):
            begin = len(text[:start].encode())
            found.append(((begin, begin + len(text[start:end].encode())), name))
        return found


def _meets(find: Find, others: list[Find]) -> bool:
    """Whether it overlaps one of the others, which are in order and apart."""
    after = bisect_right(others, find.start, key=lambda other: other.start)
    return (after > 0 and others[after - 1].end > find.start) or (
        after < len(others) and others[after].start < find.end
    )


def _merged(finds: list[Find]) -> list[Find]:
    """Join finds that overlap; the longest gives the mark."""
    merged: list[Find] = []
    for find in sorted(finds, key=lambda find: (find.start, -find.end)):
        if merged and find.start < merged[-1].end:
            last = merged.pop()
            longest = max(last, find, key=lambda one: one.end - one.start)
            quoted = last.quoted or find.quoted
            find = Find(last.start, max(last.end, find.end), longest.mark, longest.value, quoted)
        merged.append(find)
    return merged
