"""Citations that a judge gives: each is checked to stand in a context, and dropped where it does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.ground_truth.orders import gives_orders
from evaluator.ground_truth.quotes import place_of
from evaluator.metrics import CITATION
from evaluator.metrics import sentences as cut_in_sentences
from evaluator.metrics.language.marks import without_outer_marks

_LEAST_LETTERS = 8
"""A quote of fewer letters and digits says too little by itself: its whole sentence is the fact then."""
_LETTERS = re.compile(r"[^\W_]")
_VERB_FIRST = re.compile(
    r"(?:is|are|was|were|has|had|have|will|became|ist|sind|war|waren|hat|hatte|hatten|wird|wurde|wurden|est|sont|était"
    r"|étaient|ont|fut|es|son|fue|era|eran|tiene|tienen|è|sono|ha|hanno|é|são|foi|tem|zijn|heeft|jest|są|był|była|був"
    r"|була|был|была)\s"
)
"""A clause without its subject, which would stand in the texts of others too: `was an American film director`."""
_CLAUSE_BREAK = re.compile(r";\s+|(?<!\d):\s+")
"""Behind a digit a colon belongs to a time or a score: `9: 30`."""


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
    """The facts whose citations are right, each once, and how many citations were given and dropped."""

    facts: tuple[CitedFact, ...] = ()
    dropped: int = 0
    given: int = 0


def numbered_sentences(contexts: Sequence[str]) -> list[Sentence]:
    """Return the sentences of the contexts, in order; the first has the number 1 in a prompt."""
    found = []
    for chunk, context in enumerate(contexts):
        at = 0
        for text in cut_in_sentences(context):
            at = context.index(text, at)
            found.append(Sentence(chunk, at, text))
            at += len(text)
    return found


def checked_facts(given: Iterable[Mapping[str, Any]], sentences: Sequence[Sentence]) -> CheckedFacts:
    """Return the facts whose quotes, or else whole sentences, stand where the judge says that they do, or beside it.

    `given` are `{"statement", "sentences", "quote"}` of the reply, numbers from 1. Without a quote each of its
    sentences is a fact. A quote is looked for in its sentences, then in those before and after them; one of several
    sentences is as many facts, and one that begins with a verb gets what stands before it. A citation is dropped where
    a number does not exist, where part of its quote stands in none of these sentences, and where a sentence gives
    orders.
    """
    facts: dict[tuple[int, str], CitedFact] = {}
    dropped = count = 0
    for one in given:
        count += 1
        found = _checked(one, sentences)
        dropped += not found
        for fact in found:
            facts.setdefault((fact.chunk, fact.text), fact)
    return CheckedFacts(tuple(facts.values()), dropped, count)


def _checked(given: Mapping[str, Any], sentences: Sequence[Sentence]) -> list[CitedFact]:
    """Return the facts of a citation; none where one of them is wrong."""
    numbers, quote = given["sentences"], given.get("quote", "").strip()
    if not numbers or any(not 1 <= number <= len(sentences) for number in numbers):
        return []
    if quote:
        near = dict.fromkeys(number + step for step in (0, -1, 1) for number in numbers)
        cited = [sentences[number - 1] for number in near if 1 <= number <= len(sentences)]
        found = [_quoted(part, cited) for part in _parts(quote, cited)]
    else:
        found = [(sentences[number - 1], 0, len(sentences[number - 1].text)) for number in numbers]
    facts = [None if place is None else _fact(*place, given["statement"]) for place in found]
    return [fact for fact in facts if fact is not None] if None not in facts else []


def _parts(quote: str, cited: Sequence[Sentence]) -> Sequence[str]:
    """Cut a quote that no sentence holds into its own sentences."""
    return [quote] if _quoted(quote, cited) else cut_in_sentences(quote)


def _quoted(quote: str, cited: Iterable[Sentence]) -> tuple[Sentence, int, int] | None:
    """Return the first sentence that holds a quote, with the place; the whole sentence for a quote that says little."""
    for sentence in cited:
        found = place_of(quote, sentence.text)
        if found is not None:
            begin, end = found
            says_little = len(_LETTERS.findall(sentence.text[begin:end])) < _LEAST_LETTERS
            return (sentence, 0, len(sentence.text)) if says_little else (sentence, _subject(sentence, begin), end)
    return None


def _subject(sentence: Sentence, begin: int) -> int:
    """Return where a clause begins with its subject: at its beginning, unless that is a verb."""
    if not _VERB_FIRST.match(sentence.text, begin):
        return begin
    ends = [found.end() for found in _CLAUSE_BREAK.finditer(sentence.text, 0, begin)]
    return next((end for end in reversed(ends) if _may_be_subject(sentence.text[end:begin])), 0)


def _may_be_subject(text: str) -> bool:
    """Whether a text has a letter, and closes no bracket that was opened before it."""
    return any(map(str.isalpha, text)) and text.count(")") <= text.count("(")


def _fact(sentence: Sentence, begin: int, end: int, statement: str) -> CitedFact | None:
    """Cut the outer marks off, so that another chunking of the same text holds the fact too."""
    # A place ends with its last word; a bracket beside it stays where its other one does.
    begin = len(sentence.text[:begin].rstrip("(["))
    end = len(sentence.text) - len(sentence.text[end:].lstrip(")]"))
    said = sentence.text[begin:end]
    text = without_outer_marks(said)
    if gives_orders(sentence.text) or not CITATION.is_usable(text):
        return None
    start = sentence.start + begin + said.index(text)
    return CitedFact(text, " ".join(statement.split()), sentence.chunk, start, start + len(text))
