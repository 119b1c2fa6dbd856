"""Views of a text after its escapes are undone, with the original position of each byte."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_MOST_LEVELS = 6
"""JSON in JSON in JSON ... Core's lines need three."""
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
_HEX = re.compile(rb"u([0-9a-fA-F]{4})")
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_NULS = re.compile(rb"\0+")
_Edit = tuple[int, int, bytes]


@dataclass(slots=True)
class View:
    """A text that was made from another by replacing some parts; without `parent` it is the original text."""

    text: bytes
    parent: View | None = None
    _at: list[int] = field(default_factory=list)
    _edits: list[_Edit] = field(default_factory=list)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Span of the original text that a span of this text comes from; replaced parts are included as a whole."""
        view: View = self
        while view.parent is not None:
            start, end = view._step(start, first=True), view._step(end - 1, first=False)
            view = view.parent
        return start, end

    def widened(self, start: int, end: int) -> tuple[int, int]:
        """A span of the parent's text that cuts no replaced part in two."""
        for begin, stop, _ in self._around(start, end):
            start, end = (min(start, begin) if begin < start < stop else start), (stop if begin < end < stop else end)
        return start, end

    def _around(self, start: int, end: int) -> Iterator[_Edit]:
        begins = self._edits
        low = bisect_right(begins, start, key=lambda edit: edit[0]) - 1
        high = bisect_right(begins, end, key=lambda edit: edit[0])
        return iter({begins[max(low, 0)], begins[high - 1]} if begins and high else ())

    def _step(self, position: int, *, first: bool) -> int:
        """Position of a byte in the parent: its beginning, or with `first=False` its end."""
        found = bisect_right(self._at, position) - 1
        if found < 0:
            return position if first else position + 1
        begin, end, put = self._edits[found]
        beyond = position - self._at[found] - len(put)
        if beyond < 0:
            return begin if first else end
        return end + beyond + (not first)


def views(raw: bytes) -> list[View]:
    """The original text, then the text after each further level of escapes is undone.

    NULs (UTF-16 and UTF-32 have them beside every letter) go first, then JSON's escapes, then percent-encoding, both up
    to six levels deep. Takes time linear in the size of `raw`.
    """
    found = [View(raw)]
    if b"\0" in raw:
        found.append(_edited(found[-1], [(m.start(), m.end(), b"") for m in _NULS.finditer(raw)]))
    for _ in range(_MOST_LEVELS):
        if b"\\" not in found[-1].text:
            break
        found.append(_edited(found[-1], _escapes(found[-1].text)))
    for _ in range(_MOST_LEVELS):
        if b"%" not in found[-1].text:
            break
        edits = [(m.start(), m.end(), bytes.fromhex(m[1].decode())) for m in _PERCENT.finditer(found[-1].text)]
        if not edits:
            break
        found.append(_edited(found[-1], edits))
    return found


def _edited(parent: View, edits: Iterable[_Edit]) -> View:
    """Put each edit's bytes in the place of what stands from its begin to its end; edits come in order."""
    view = View(b"", parent)
    parts, position, length = [], 0, 0
    for edit in edits:
        begin, end, put = edit
        length += begin - position
        view._at.append(length)
        view._edits.append(edit)
        parts += [parent.text[position:begin], put]
        length += len(put)
        position = end
    parts.append(parent.text[position:])
    view.text = b"".join(parts)
    return view


def _escapes(text: bytes) -> Iterator[_Edit]:
    position = text.find(b"\\")
    while position != -1:
        letter = text[position + 1 : position + 2]
        code = _HEX.match(text, position + 1) if letter == b"u" else None
        if code is not None:
            yield position, code.end(), chr(int(code[1], 16)).encode("utf-8", "replace")
        elif letter:
            yield position, position + 2, _CONTROLS.get(letter, letter)
        else:
            return
        position = text.find(b"\\", position + 2 if code is None else code.end())
