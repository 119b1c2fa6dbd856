"""Text in one Unicode form, and where each of its characters stood: what PDF parsers and models write differently.

The form is NFKC, without soft hyphens and other invisible characters, with ASCII dashes, quotation marks and spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, groupby

Span = tuple[int, int]
"""Characters of a text: start and end."""

# Soft hyphen, joiners, marks of direction, the stretched line of Arabic letters, selectors of a glyph, byte order mark.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u0640\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff"
)
# At the end of a line a soft hyphen is where a word was broken.
_IGNORED = rf"(?:\u00ad[ \t]*\r?\n[ \t]*|[{_INVISIBLE}])"
_LONG_DASHES = "\u2014\u2015"
_OWN = {
    **dict.fromkeys("\u02d7\u2010\u2011\u2012\u2013\u2043\u2212", "-"),
    **dict.fromkeys(_LONG_DASHES, " - "),
    **dict.fromkeys("\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201a\u201b\u2032\u2039\u203a", "'"),
    **dict.fromkeys("\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u301d\u301e\u301f", '"'),
    **dict.fromkeys("\u0085\u2028\u2029", "\n"),
    "\u2044": "/",
    # As letters these signs would run into the word before.
    "\u2120": "\u2120",
    "\u2122": "\u2122",
}
_DIGITS_OF_A_NUMBER = ("<wide>", "<narrow>", "<font>")
_SUPERSCRIPT = "<super>"
_IS_CHANGED = re.compile(f"[{_INVISIBLE}{''.join(_OWN)}]")


@dataclass(frozen=True)
class UnicodeForm:
    """A text in one form, and the parts of it that differ: start and end in `original`, and the text of the form."""

    original: str
    text: str
    changed: tuple[tuple[Span, str], ...] = ()

    @classmethod
    def of(cls, original: str) -> UnicodeForm:
        """Bring a text to its form; ASCII has it."""
        if _is_in_form(original):
            return cls(original, original)
        changed = tuple(_changed(original))
        parts, done = list[str](), 0
        for (start, end), form in changed:
            parts += [original[done:start], form]
            done = end
        return cls(original, "".join([*parts, original[done:]]), changed)

    def span(self, start: int, end: int) -> Span:
        """Return the characters of the original that became these of `text`, no fewer than whole letters with marks."""
        if not self.changed:
            return start, end
        starts, ends = self._borders
        first = starts[start] if start < len(starts) else len(self.original)
        return first, ends[end - 1] if start < end else first

    @cached_property
    def _borders(self) -> tuple[list[int], list[int]]:
        starts, ends, done = list[int](), list[int](), 0
        for (start, end), form in self.changed:
            starts += [*range(done, start), *[start] * len(form)]
            ends += [*range(done + 1, start + 1), *[end] * len(form)]
            done = end
        rest = range(done, len(self.original))
        return [*starts, *rest], [*ends, *(at + 1 for at in rest)]


def in_one_form(text: str) -> str:
    """Return a text in the form: `Cafe\\u0301` and `Café`, `\\ufb01nd` and `find` are the same."""
    return text if text.isascii() else UnicodeForm.of(text).text


def _is_in_form(text: str) -> bool:
    return text.isascii() or (unicodedata.is_normalized("NFKC", text) and _IS_CHANGED.search(text) is None)


def _changed(text: str) -> Iterator[tuple[Span, str]]:
    pattern, form_of = _pattern(), _form_of_character
    for found in pattern.finditer(text):
        form = form_of(found[0]) if len(found[0]) == 1 else _form_of_several(found[0])
        if form != found[0]:
            yield found.span(), form


@cache
def _form_of_character(character: str) -> str:
    if character in _OWN:
        return _OWN[character]
    if re.fullmatch(f"[{_INVISIBLE}]", character):
        return ""
    # NFKC makes a mark that stands by itself a space and a combining mark.
    if unicodedata.decomposition(character).startswith("<compat> 0020 "):
        return character
    return "".join(_OWN.get(one, one) for one in unicodedata.normalize("NFKC", character))


def _form_of_several(piece: str) -> str:
    """Return the form of a letter with marks, of dashes between digits, or of a number with a raised or other digit.

    `10²` is `10^2` and `2½` is `2 1/2`, which by NFKC are 102 and 21/2.
    """
    forms, before = list[str](), ""
    characters = re.sub(_IGNORED, "", piece)
    for at, character in enumerate(characters):
        form = _form_of_character(character)
        if character in _LONG_DASHES and before and characters[at + 1 : at + 2].isdecimal():
            form = "-"
        elif before and _is_digit_apart(character):
            is_raised = unicodedata.decomposition(character).startswith(_SUPERSCRIPT)
            if not is_raised:
                forms.append(" ")
            elif not unicodedata.decomposition(before).startswith(_SUPERSCRIPT):
                forms.append("^")
        forms.append(form)
        before = character if character.isdigit() or _is_digit_apart(character) else ""
    return unicodedata.normalize("NFC", "".join(forms))


@cache
def _is_digit_apart(character: str) -> bool:
    """Whether a character has a digit of its own, which belongs to no number before it: ², ½, ①."""
    kind = unicodedata.decomposition(character).partition(" ")[0]
    form = unicodedata.normalize("NFKC", character)[0]
    if kind == _SUPERSCRIPT:
        return form in "0123456789+\u2212"
    return kind.startswith("<") and kind not in _DIGITS_OF_A_NUMBER and form in "0123456789"


@cache
def _pattern() -> re.Pattern[str]:
    """Find what may differ: a character, a letter and its marks, digits with what is raised or between them."""
    every = [chr(code) for code in chain(range(0x80, 0xD800), range(0xE000, 0x20000), range(0x2F800, 0x2FA20))]
    apart = _class(every, _is_digit_apart)
    marks = _class(every, _joins_the_letter_before)
    changing = _class(every, lambda one: _form_of_character(one) != one)
    return re.compile(
        r"(?=.?[^\x00-\x7f])(?:"
        rf"[\d{apart}](?:[{apart}{marks}]|{_IGNORED})+|\d(?:[{_LONG_DASHES}]\d)+"
        rf"|.(?:[{marks}]|{_IGNORED})+|[{changing}])",
        re.DOTALL,
    )


def _joins_the_letter_before(character: str) -> bool:
    first = unicodedata.normalize("NFKD", character)[0]
    is_part_of_syllable = "\u1160" <= first <= "\u11ff"
    return is_part_of_syllable or unicodedata.category(first).startswith("M")


def _class(characters: list[str], is_in: Callable[[str], bool]) -> str:
    """Return the characters of a set in a pattern, as ranges."""
    codes = sorted(ord(one) for one in characters if is_in(one))
    runs = groupby(enumerate(codes), lambda pair: pair[1] - pair[0])
    ranges = [(run[0][1], run[-1][1]) for run in (list(run) for _, run in runs)]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
