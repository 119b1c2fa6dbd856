"""Sentences of a chunk or an answer, among them headings, items of lists, rows of tables and lines of code.

In doubt a sentence is not ended: a fact that was cut says half of it, one that is two sentences says both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import yaml

Span = tuple[int, int]
"""Characters of a text: start and end."""

_CLOSING = "\"'\u201c\u201d\u2019\u00bb)\\]*_"
_OPENING = "\"'\u201c\u201e\u2018\u00ab([*_\u00bf\u00a1"
_MARK = re.compile(
    rf"(?<![.!?\u2026])[.!?\u2026\u061f\u06d4\u0964\u0965]++(?:[{_CLOSING}]|\s\u00bb)*+(?=\s)"
    # Chunks are often joined without a space.
    r"|(?<=[^\W_])[.!?](?=[^\W\d_])"
    # Full-width marks, and brackets and quotation marks that close after them.
    r"|(?:[\u3002\uff01\uff1f]|\uff0e(?!\d))++[\u300d\u300f\u201d\u2019\uff09]*+"
)
_NEAR = 60
"""Characters around a mark that decide whether it ends a sentence."""
_WORD = re.compile(r"[^\W\d_]+")
_JOINED = re.compile(r"[\"'(]?(?:[^\W\d_]{2,}|\d{1,4})\)?[.!?][^\W\d_]+[,;:]?")
_SHORT_WORDS = re.compile(r"(?:(?<![^\W_])[^\W\d_]{1,3}\.[\s-]?)+[^\W\d_]{1,3}\Z")
_ARTICLE = re.compile(r"\A[^\W\d_]{1,5}['\u2019](?=\w)")
_LETTERS = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")
_CLOSED_QUOTE_IS_WITHIN = re.compile(r"[\u300d\u300f\uff09]\Z")
_HIRAGANA = re.compile(r"[\u3041-\u3096]")

_FENCE = re.compile(r"\s*(?:```|~~~)")
_ROW = re.compile(r"\s*\|")
_LONGEST_CODE = 300
_CODE = re.compile(
    r"\s*(?:\$|>>>|#!|//)\s?\S"
    r"|\s*(?:import|from|def|class|return|const|let|var|function|public|private)\b.*[(){};=:.]\s*\Z"
    r"|.*(?:[{}]|\w\([^\s(]*\)|[)\]\w\"'];|\)\s*:)\s*\Z"
    r"|\s*(?:(?:const|let|var|final|int|auto) )?[\w.\[\]\"']+ [-+*]?= \S.*[^.!?]\Z"
)
_CODE_SIGN = re.compile(
    r"[{}]|[^\W\d]\w*\([^\s(]*\)| [-+*]?= |[=-]>|::|==|\A\s*(?:\$|>>>|#!|//|import|from|def|class)\s?"
)
_ITEM = re.compile(
    r"\s*(?:[-*+\u2013\u2014\u00b7]\s|[\u2022|]|#{1,6}\s|\(?(?:\d{1,3}|[^\W\d_])\)\s|\d{1,3}(?:\.\d{1,3}){0,3}\.\s+(\w*))"
)
_GOES_ON = re.compile(r"[,;/(&+\u2013\u2014-]\s*\Z")
_ROOM = 0.75
"""A line that with the next word would be no longer than this share of the longest was ended by its writer."""


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, headings, items, rows and lines of code, each a slice of it without outer spaces.

    A line break ends one before an item, a row or a heading, after a colon, around code, and where the line had room
    for the next word; elsewhere a line was wrapped. A full stop ends none after an abbreviation, an initial or an
    ordinal, of English, German, French, Spanish, Italian, Polish, Ukrainian or Russian.
    """
    return [sentence for start, end in _pieces(text) if (sentence := text[start:end].strip())]


def _pieces(text: str) -> Iterator[Span]:
    for start, end, is_whole in _blocks(text):
        if is_whole:
            yield start, end
        else:
            yield from _of_prose(text, start, end)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of wrapped lines, and each row of a table and line of code by itself."""
    if "\n" not in text:
        yield 0, len(text), _is_whole(text)
        return
    in_fence = False
    for lines in _paragraphs(text):
        longest = max(end - start for start, end in lines)
        first: int | None = None
        for place, (start, end) in enumerate(lines):
            line = text[start:end]
            is_fence = _FENCE.match(line) is not None
            if is_fence or in_fence or _is_whole(line):
                if first is not None:
                    yield first, lines[place - 1][1], False
                    first = None
                yield start, end, True
                in_fence ^= is_fence
                continue
            first = start if first is None else first
            following = text[slice(*lines[place + 1])] if place + 1 < len(lines) else None
            if following is None or _ends_block(line, following, longest):
                yield first, end, False
                first = None


def _paragraphs(text: str) -> Iterator[Sequence[Span]]:
    lines, at = list[Span](), 0
    for line in text.split("\n"):
        if line.strip():
            lines.append((at, at + len(line)))
        elif lines:
            yield lines
            lines = []
        at += len(line) + 1
    if lines:
        yield lines


def _is_whole(line: str) -> bool:
    """Whether a line is a row of a table or code, in which a full stop ends nothing."""
    if _ROW.match(line):
        return True
    return len(line) <= _LONGEST_CODE and _CODE.match(line) is not None and _CODE_SIGN.search(line) is not None


def _ends_block(line: str, following: str, longest: int) -> bool:
    """Whether the break after a line ends a sentence or heading, rather than wraps it."""
    if _begins_item(following) or line.rstrip().endswith(":"):
        return True
    if _GOES_ON.search(line) or following.lstrip()[:1].islower():
        return False
    first_word = following.split(maxsplit=1)[0]
    return len(line.rstrip()) + 1 + len(first_word) <= _ROOM * longest


def _begins_item(line: str) -> bool:
    item = _ITEM.match(line)
    # A wrapped date begins as an item does: 3. Mai.
    return item is not None and not (item[1] and item[1].lower() in _words("after_ordinals"))


def _of_prose(text: str, start: int, end: int) -> Iterator[Span]:
    done = start
    for mark in _MARK.finditer(text, start, end):
        before = text[max(done, mark.start() - _NEAR) : mark.start()]
        after = text[mark.end() : min(end, mark.end() + _NEAR)]
        # A span of code in backticks is one word.
        if before.count("`") % 2 == 0 and _ends_sentence(before, mark[0], after):
            yield done, mark.end()
            done = mark.end()
    yield done, end


def _ends_sentence(before: str, mark: str, after: str) -> bool:
    following = after.lstrip().lstrip(_OPENING)
    if mark[0] in "\u3002\uff01\uff1f\uff0e":
        # A quoted sentence within one, as in Japanese before "to".
        return not (_CLOSED_QUOTE_IS_WITHIN.search(mark) and _HIRAGANA.match(after))
    if not after[:1].isspace():
        return _is_joined(before, mark, after)
    if following[:1].islower() or not following:
        return False
    word = _last_word(before)
    if mark == ".":
        is_plain = len(word) > 1 and word.isalpha() and word.lower() not in _abbreviations()
        return is_plain or not _is_abbreviation(before, word, following)
    # A word by itself in brackets: (Trad.), (Hrsg.).
    return not (mark.startswith(".") and mark.endswith(")") and before.rstrip().endswith(f"({word}"))


def _is_joined(before: str, mark: str, after: str) -> bool:
    """Whether two sentences stand without a space between them, and not parts of a name or of code."""
    around = before.split()[-1] + mark + after.split(maxsplit=1)[0]
    word = _last_word(before)
    if not after[0].isupper() or not _JOINED.fullmatch(around) or word.lower() in _abbreviations():
        return False
    return word.islower() or _is_starter(_first_word(after))


def _is_abbreviation(before: str, word: str, following: str) -> bool:
    """Whether a full stop with these words before and after it ends no sentence."""
    if not before.strip() or before.rstrip().endswith((f"({word}", f"[{word}")):
        return True
    first = _first_word(following)
    rest = before.rstrip()[: -len(word)].rstrip() if word else before
    if word.isdecimal():
        return len(word) <= 3 and _is_ordinal(word, rest, first, following)
    short = _short_words(before, word)
    if len(word) == 1 and word.isalpha():
        return _is_initial(word, rest, short, first, following)
    if _has(short, "before_all") or _has(word.lower(), "before_all"):
        return True
    if _has(word.lower(), "before_numbers") and _begins_with_number(following):
        return True
    if _has(short, "before_lower") or _has(word.lower(), "before_lower"):
        return not following[:1].isupper()
    return _LETTERS.fullmatch(word) is not None and not _is_starter(first)


def _is_ordinal(word: str, rest: str, first: str, following: str) -> bool:
    """Whether a number with a full stop is the third of something, a part of a date or the number of an item."""
    is_item = not rest
    is_date = len(word) <= 2 and following[:1].isdecimal()
    last = _last_word(rest).lower()
    return is_item or is_date or _has(first.lower(), "after_ordinals") or _has(last, "before_ordinals")


def _is_initial(letter: str, rest: str, short: str, first: str, following: str) -> bool:
    last = _last_word(rest)
    if _has(short, "before_all"):
        return True
    if _has(short, "before_lower"):
        return not following[:1].isupper()
    if letter.islower():
        # A unit, or the word for a year after its number: 5 m., 1799 g.
        return not (last[-1:].isdecimal() and following[:1].isupper())
    if _has(last.lower(), "labels"):
        return False
    return not _is_starter(first)


def _begins_with_number(following: str) -> bool:
    first = following.split(maxsplit=1)[0].strip(".,;:)")
    return following[:1].isdigit() or bool(re.fullmatch(r"[IVXLC]+", first)) or following[:1] in "\u00a7\u2116"


def _last_word(before: str) -> str:
    """Return the word at the end of a text, without an article that French and Italian write to it: art of `l'art`."""
    words = before.rsplit(maxsplit=1)
    return _ARTICLE.sub("", words[-1].lstrip(_OPENING)) if words else ""


def _first_word(following: str) -> str:
    found = _WORD.search(following[:_NEAR])
    if found is None or found.start():
        return ""
    is_initial = len(found[0]) == 1 and following[found.end() : found.end() + 1] == "."
    return "" if is_initial else found[0]


def _short_words(before: str, word: str) -> str:
    """Return an abbreviation of several letters without the spaces between them: z.b of `z. B`."""
    found = _SHORT_WORDS.search(before)
    return "".join(found[0].split()).lower() if found else word.lower()


def _is_starter(word: str) -> bool:
    return word[:1].isupper() and word.lower() in _words("starters")


def _has(word: str, kind: str) -> bool:
    return word in _words(kind)


@cache
def _abbreviations() -> frozenset[str]:
    return _words("before_all") | _words("before_numbers") | _words("before_lower")


@cache
def _words(kind: str) -> frozenset[str]:
    content = yaml.safe_load(files(__package__).joinpath("abbreviations.yaml").read_text("utf-8"))
    return frozenset(content[kind].split())
