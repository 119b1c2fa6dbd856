"""Texts of a row as a judge is shown them: answer and reference answer cut into the sentences that it numbers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluator.judges.exchange import JudgeRequest
from evaluator.judges.fence import fenced
from evaluator.metrics.language.sentences import sentences

AT_ONCE = 20
"""Sentences or claims that are judged in one call; contexts are never split, as a claim may need two of them."""

CUT = "sentences/2"
"""Version of how texts are cut into sentences."""

_USUAL_CLAIMS = 2
_FENCES = ("```", "~~~")
_HEADING = re.compile(
    r"#{1,6}\s.*|(?!(?:(?:\S+\s+){2,}\S*[.!?]|\S*[。！？])[*_]+$)(?:\*{2,3}[^*]+\*{2,3}|__[^_]+__):?"
    r"|[^\n]+\n\s*(?:={3,}|-{3,})"
    r"|[^.!?]*:|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)]|</?\w[^<>\n]*>",
    re.IGNORECASE,
)
"""A heading of Markdown, a line in bold, what a list follows, a list's mark or a tag of HTML in a line of its own.

A line in bold of three words or more with a full stop is a sentence.
"""

_ITEM = re.compile(r"\s*(?:[-*+•·–—]|\d{1,9}[.)]|\(?(?:\d{1,3}|[A-Za-z])\))\s+")
_ROW = re.compile(r"\s*\|.*\|\s*")
_ENDS_SENTENCE = re.compile(r"[.!?。！？][\s*_\"'”’»)]*\Z")
_BELOW_HEADS = re.compile(r"\|?:?-+:?(?:\|:?-+:?)*\|?")
_INDENT = 4
"""Spaces before a line of code, as Markdown has it."""


@dataclass(frozen=True)
class RowTexts:
    """A question, its contexts in rank order, and the sentences of the answer and of the reference answer.

    `not_prose` are the numbers, from 1, of those of the answer that are code, rows of a table, a heading or a list's
    mark. `images` are data URLs; each is a context behind the texts, whose text says which image it is.
    """

    question: str
    contexts: tuple[str, ...]
    answer: tuple[str, ...]
    reference: tuple[str, ...] = ()
    not_prose: frozenset[int] = frozenset()
    images: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, question: str, contexts: Sequence[str], answer: str, reference: str = "", images: Sequence[str] = ()
    ) -> RowTexts:
        """Cut the texts into sentences."""
        cut = sentences_of(answer)
        shown = tuple(f"(image {number} of those above)" for number in range(1, len(images) + 1))
        return cls(question, (*contexts, *shown), cut, sentences_of(reference), _not_prose(answer), tuple(images))

    @cached_property
    def prefix(self) -> tuple[str, str]:
        """What all prompts about the row begin with, whatever the answer: the contexts, and the question."""
        return fenced("chunk", *self.contexts), fenced("question", self.question)

    @cached_property
    def answer_key(self) -> str:
        """A digest of question, contexts and answer."""
        return _digest(self.question, self.contexts, self.answer, *self.images)

    @cached_property
    def key(self) -> str:
        """A digest of all of it."""
        return _digest(self.answer_key, self.reference)


def portions(count: int) -> Iterator[range]:
    """Yield the numbers from 1 to `count` in portions of `AT_ONCE`; one that is empty where there are none."""
    for first in range(1, max(count, 1) + 1, AT_ONCE):
        yield range(first, min(first + AT_ONCE, count + 1))


def in_halves(
    request: Callable[..., JudgeRequest], *asked: range
) -> Callable[[], tuple[JudgeRequest, JudgeRequest]] | None:
    """Return what gives the requests for the first and the second half of the numbers; None for one number alone."""
    if max(map(len, asked)) < 2:
        return None
    middles = [(len(numbers) + 1) // 2 for numbers in asked]
    return lambda: (
        request(*(numbers[:middle] for numbers, middle in zip(asked, middles, strict=True))),
        request(*(numbers[middle:] for numbers, middle in zip(asked, middles, strict=True))),
    )


def usual_claims(sentence: str) -> tuple[str, ...]:
    """Return claims as many and as long as a sentence usually has: two, of its length."""
    return tuple(f"{sentence} ({number})" for number in range(1, _USUAL_CLAIMS + 1))


def numbered(what: str, numbers: range) -> str:
    """Return the words for some numbered things: `sentences 1 to 6`."""
    return f"{what} {numbers[0]} to {numbers[-1]}" if numbers else f"no {what} (an empty list)"


def sentences_of(text: str) -> tuple[str, ...]:
    """Cut a text into sentences; what has no letter and no digit, as a ruled line, is none."""
    return tuple(one for one in sentences(text) if any(map(str.isalnum, one)))


def _not_prose(text: str) -> frozenset[int]:
    found, number, at, first = set[int](), 0, 0, 0
    lines = list(_lines_of_code_and_tables(text))
    for sentence in sentences(text):
        begin = text.index(sentence, at)
        first += text.count("\n", at, begin)
        if any(map(str.isalnum, sentence)):
            number += 1
            if _HEADING.fullmatch(sentence) or all(lines[first : first + sentence.count("\n") + 1]):
                found.add(number)
        first += sentence.count("\n")
        at = begin + len(sentence)
    return frozenset(found)


def _lines_of_code_and_tables(text: str) -> Iterator[bool]:
    """Yield for each line whether it is code, between fences or indented, or a row of a table.

    An item of a list and a line that ends as a sentence does are no code by their indent, and a row has another beside
    it.
    """
    lines = text.expandtabs(_INDENT).split("\n")
    in_fence = in_table = False
    above, is_code, item = "", False, 0
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        indent = len(line) - len(line.lstrip(" "))
        is_fence = line.lstrip().startswith(_FENCES)
        if is_fence and any(fence in line.lstrip()[len(fence) :] for fence in _FENCES):
            # It ends in its own line, where a sentence may follow.
            is_fence = line.rstrip().endswith(_FENCES)
        else:
            in_fence ^= is_fence
        if not line.strip():
            in_table = False
        elif not (is_fence or in_fence):
            may_be_code = indent >= item + _INDENT and (is_code or not above.strip())
            mark = None if may_be_code and is_code else _ITEM.match(line)
            is_code = may_be_code and mark is None
            # Within a list, the text of an item is indented too.
            item = mark.end() if mark else min(item, indent)
            in_table = "|" in line and (
                in_table or ("|" in below and bool(_BELOW_HEADS.fullmatch("".join(below.split()))))
            )
        is_row = in_table or (_is_row(line) and (_is_row(above) or _is_row(below)))
        above = line
        yield is_fence or in_fence or (bool(line.strip()) and (is_row or (is_code and not _ENDS_SENTENCE.search(line))))


def _is_row(line: str) -> bool:
    return _ROW.fullmatch(line) is not None


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
