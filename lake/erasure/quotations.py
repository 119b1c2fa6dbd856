"""Search for many texts and ids in raw bytes, however escaped, in time that hardly depends on their number."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import numpy as np
import numpy.typing as npt

SHORTEST_TEXT = 20
"""Characters; a shorter text is not looked for, as other people write the same."""
SHORTEST_ID = 8
"""Characters; a shorter id is not looked for, it may be any word or number."""
DEEPEST_ESCAPE = 12
"""Levels of JSON strings within JSON strings in which a text is found; log, envelope and tools make about five."""

# Window sizes in bytes, each with the integer type of that size. The searched bytes are cut into windows; a text of at
# least 2 * size - 1 bytes covers a whole window, wherever it begins.
_WINDOWS: dict[int, type[np.unsignedinteger]] = {8: np.uint64, 4: np.uint32}
_ENDS_IN_WORD = re.compile(rb"[\w\x80-\xff-]\Z")
_SHORT_ESCAPES = (
    (b'\\"', b'"'),
    (b"\\/", b"/"),
    (b"\\b", b"\b"),
    (b"\\f", b"\f"),
    (b"\\n", b"\n"),
    (b"\\r", b"\r"),
    (b"\\t", b"\t"),
)
_UNICODE_ESCAPES = re.compile(rb"(?:\\u[0-9A-Fa-f]{4})+")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_NO_UTF8 = b"\xff"
_REPLACED = "\ufffd".encode()
_CONTROLS_AS_SPACES = bytes(32 if code < 32 or code == 127 else code for code in range(256))


@dataclass(frozen=True, slots=True)
class _Literal:
    """Bytes to find; `offset` is the position in them of the window that is looked up."""

    written: bytes
    offset: int
    is_id: bool

    def matches_at(self, data: bytes, at: int) -> bool:
        begin = at - self.offset
        return begin >= 0 and data.startswith(self.written, begin) and not (self.is_id and self._is_part(data, begin))

    def _is_part(self, data: bytes, begin: int) -> bool:
        """Whether it stands within a longer word."""
        end = begin + len(self.written)
        before, after = data[max(0, begin - 1) : begin], data[end : end + 1]
        return bool(_ENDS_IN_WORD.search(before) or _ENDS_IN_WORD.search(after))


class Quotations:
    """Whole texts, and ids that are no part of a longer word.

    They are found plain and in JSON within JSON down to `DEEPEST_ESCAPE` levels, by whatever escapes JSON allows, and
    percent-encoded at any of these levels. Control characters, blanks and what is no Unicode count as the same: the
    tables hold U+FFFD for some of it. Texts under `SHORTEST_TEXT` and ids under `SHORTEST_ID` are left out.
    """

    def __init__(self, texts: Iterable[str], ids: Iterable[str] = ()) -> None:
        self._found_by: dict[int, dict[int, list[_Literal]]] = {window: defaultdict(list) for window in _WINDOWS}
        for text in {text for text in texts if len(text) >= SHORTEST_TEXT}:
            self._add(text, is_id=False)
        for one in {one for one in ids if len(one) >= SHORTEST_ID}:
            self._add(one, is_id=True)
        self._keys = {
            window: np.array(sorted(found), _WINDOWS[window]) for window, found in self._found_by.items() if found
        }

    def occur_in(self, data: bytes) -> bool:
        """Whether any of them stands in these bytes."""
        return bool(self._keys) and any(
            self._occur_in(decoding, window) for decoding in _decodings(data) for window in self._keys
        )

    def _occur_in(self, data: bytes, window: int) -> bool:
        found_by = self._found_by[window]
        here = _numbers(data, window)
        keys = self._keys[window]
        places = keys.searchsorted(here)
        places[places == len(keys)] = 0
        for place in np.flatnonzero(keys[places] == here).tolist():
            at = place * window
            if any(literal.matches_at(data, at) for literal in found_by[int(here[place])]):
                return True
        return False

    def _add(self, text: str, *, is_id: bool) -> None:
        written = _normalized(text.encode("utf-8", "replace"))
        window = next(window for window in _WINDOWS if len(written) >= 2 * window - 1)
        for offset in range(window):
            key = int(_numbers(written[offset : offset + window], window)[0])
            self._found_by[window][key].append(_Literal(written, offset, is_id))


def strings_in(data: bytes) -> set[str]:
    """Return what stands between two quotation marks, however escaped: the strings of JSON are among it."""
    return {one.decode("utf-8", "replace") for decoding in _decodings(data) for one in decoding.split(b'"')}


def _numbers(data: bytes, window: int) -> npt.NDArray[np.unsignedinteger]:
    return np.frombuffer(data, _WINDOWS[window], len(data) // window)


def _decodings(data: bytes) -> Iterator[bytes]:
    """Yield the bytes as they are, as they are without their escapes, without the escapes within these, and so on."""
    text = data.decode("utf-8", "replace").encode()
    for _ in range(DEEPEST_ESCAPE + 1):
        yield _normalized(text)
        if _PERCENT.search(text):
            yield _normalized(unquote_to_bytes(text).decode("utf-8", "replace").encode())
        outer, text = text, _unescaped(text)
        if text == outer:
            return


def _unescaped(text: bytes) -> bytes:
    """Take JSON's escapes out of UTF-8, once; a backslash that begins none stays."""
    if b"\\" not in text:
        return text
    # Backslashes pair from the left. Without the pairs every other one begins an escape, wherever that stands.
    text = text.replace(b"\\\\", _NO_UTF8)
    for escape, character in _SHORT_ESCAPES:
        text = text.replace(escape, character)
    if b"\\u" in text:
        text = _UNICODE_ESCAPES.sub(_characters, text)
    return text.replace(_NO_UTF8, b"\\")


def _characters(codes: re.Match[bytes]) -> bytes:
    units = bytes.fromhex(codes[0].replace(b"\\u", b"").decode())
    return units.decode("utf-16-be", "replace").encode()


def _normalized(text: bytes) -> bytes:
    return text.replace(_REPLACED, b" ").translate(_CONTROLS_AS_SPACES)
