"""Citations that a judge gives: each is checked to stand in a context, and dropped where it does not.

Nothing is matched fuzzily: a quote stands in its sentence character by character, or but for white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.metrics import CITATION
from evaluator.metrics import sentences as cut_in_sentences
from evaluator.metrics.language.words import without_outer_marks

_LEAST_LETTERS = 8
"""A quote of fewer letters and digits says too little by itself: its whole sentence is the fact then."""
_LETTERS = re.compile(r"[^\W_]")
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b[^.!?]{0,40}\b(?:above|previous|prior|earlier|instructions?|prompts?)\b",
    re.IGNORECASE,
)
"""A sentence that gives orders to a model is no fact, whoever cites it."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a context; `chunk` is the context's place, from 0, and `start` where it begins there."""

    chunk: int
    start: int
    text: str


@dataclass(frozen=True)
class CitedFact:
    """A fact that stands in a context, from `start` to `end`, and what it says in the judge's words."""

    text: str
    statement: str
    chunk: int
    start: int
    end: int


@dataclass(frozen=True)
class CheckedFacts:
    """The facts whose citations are right, each once, and how many were given and dropped."""

    facts: tuple[CitedFact, ...] = ()
    dropped: int = 0

    @property
    def given(self) -> int:
        """All citations."""
        return len(self.facts) + self.dropped


def numbered_sentences(contexts: Sequence[str]) -> list[Sentence]:
    """Give the sentences of the contexts, in order; the first has the number 1 in a prompt."""
    found = []
    for chunk, context in enumerate(contexts):
        at = 0
        for text in cut_in_sentences(context):
            at = context.index(text, at)
            found.append(Sentence(chunk, at, text))
            at += len(text)
    return found


def checked_facts(given: Iterable[Mapping[str, Any]], sentences: Sequence[Sentence]) -> CheckedFacts:
    """Give the facts whose quotes, or else whole sentences, stand where the judge says that they do.

    `given` are `{"statement", "sentences", "quote"}` of the reply, numbers from 1. A fact is dropped where a number
    does not exist, where none of its sentences holds the quote as whole words, and where its sentence gives orders.
    """
    facts: dict[tuple[int, str], CitedFact] = {}
    dropped = 0
    for one in given:
        fact = _checked(one, sentences)
        if fact is None:
            dropped += 1
        else:
            facts.setdefault((fact.chunk, fact.text), fact)
    return CheckedFacts(tuple(facts.values()), dropped)


def _checked(given: Mapping[str, Any], sentences: Sequence[Sentence]) -> CitedFact | None:
    numbers = given["sentences"]
    if not numbers or any(not 1 <= number <= len(sentences) for number in numbers):
        return None
    cited = [sentences[number - 1] for number in numbers]
    if any(_ORDERS.search(sentence.text) for sentence in cited):
        return None
    quote = given["quote"].strip()
    for sentence in cited:
        found = _place_of(quote, sentence.text) if quote else (0, len(sentence.text))
        if found is None:
            continue
        if len(_LETTERS.findall(sentence.text[slice(*found)])) < _LEAST_LETTERS:
            found = (0, len(sentence.text))
        return _fact(sentence, *found, given["statement"])
    return None


def _place_of(quote: str, sentence: str) -> tuple[int, int] | None:
    """Find a quote as whole words, with any white space where it has some."""
    pattern = r"\s+".join(map(re.escape, quote.split()))
    found = re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", sentence)
    return found.span() if found else None


def _fact(sentence: Sentence, begin: int, end: int, statement: str) -> CitedFact | None:
    """Cut the outer marks off, so that another chunking of the same text holds the fact too."""
    said = sentence.text[begin:end]
    text = without_outer_marks(said)
    if not CITATION.is_usable(text):
        return None
    start = sentence.start + begin + said.index(text)
    return CitedFact(text, " ".join(statement.split()), sentence.chunk, start, start + len(text))
