"""Finds texts and ids in bytes as they came, at a cost that hardly grows with their number."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

SHORTEST_TEXT = 20
"""Characters; a shorter text is not looked for, too many others say the same."""
SHORTEST_ID = 8
"""Characters; a shorter id is not looked for, it may be any word or number."""

# Bytes. What has twice as many, less one, holds a whole window wherever the windows of the searched bytes begin.
_WINDOWS = (10, 4)
_ENDS_IN_WORD = re.compile(rb"[\w\x80-\xff-]\Z")
_ENDS_IN_ESCAPE = re.compile(rb"(?:\\[bfnrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})\Z")
_LONGEST_ESCAPE = 6


@dataclass(frozen=True, slots=True)
class _Literal:
    """Bytes to find; `offset` is where in them the window begins that they are found by."""

    written: bytes
    offset: int
    is_id: bool

    def stands_around(self, said: bytes, at: int) -> bool:
        begin = at - self.offset
        return begin >= 0 and said.startswith(self.written, begin) and not (self.is_id and self._is_part(said, begin))

    def _is_part(self, said: bytes, begin: int) -> bool:
        """Whether it stands within a longer word."""
        end = begin + len(self.written)
        before, after = said[max(0, begin - _LONGEST_ESCAPE) : begin], said[end : end + 1]
        return bool(_ENDS_IN_WORD.search(after)) or bool(
            _ENDS_IN_WORD.search(before) and not _ENDS_IN_ESCAPE.search(before)
        )


class Quotations:
    """Whole texts, and ids that are no part of a longer word: plain, in JSON, and in JSON within JSON.

    Texts under `SHORTEST_TEXT` and ids under `SHORTEST_ID` are left out.
    """

    def __init__(self, texts: Iterable[str], ids: Iterable[str] = ()) -> None:
        self._found_by: dict[int, dict[bytes, list[_Literal]]] = {window: defaultdict(list) for window in _WINDOWS}
        for text in texts:
            if len(text) >= SHORTEST_TEXT:
                self._add(_written(text), is_id=False)
        for one in ids:
            if len(one) >= SHORTEST_ID:
                self._add([*_written(one), quote(one, safe="", errors="replace")], is_id=True)

    def occur_in(self, said: bytes) -> bool:
        """Whether any of them stands in these bytes."""
        return any(self._occur_in(said, window) for window in _WINDOWS if self._found_by[window])

    def _occur_in(self, said: bytes, window: int) -> bool:
        found_by = self._found_by[window]
        for at in range(0, len(said) - window + 1, window):
            here = said[at : at + window]
            if here in found_by and any(literal.stands_around(said, at) for literal in found_by[here]):
                return True
        return False

    def _add(self, forms: Iterable[str], *, is_id: bool) -> None:
        for written in {form.encode("utf-8", "replace") for form in forms}:
            window = next(window for window in _WINDOWS if len(written) >= 2 * window - 1)
            for offset in range(window):
                key = written[offset : offset + window]
                self._found_by[window][key].append(_Literal(written, offset, is_id))


def _written(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield from (text, once, json.dumps(once, ensure_ascii=ascii_only)[1:-1])
