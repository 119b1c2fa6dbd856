"""Words of the questions and of the documents of the worst answers that good answers do not have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lake.queries.ground_truth.question_keys import normalised_question
from lake.queries.worst_answers.compared_answers import ComparedAnswer, ComparedAnswers
from lake.queries.worst_answers.telling_words import TellingWord, telling_words
from runtime.words import words

_MOST_WORDS = 8
_BETWEEN = re.compile(r"[-_.]+")
"""In names of files there are no spaces: `leave-policy_2026.pdf` is four words."""


@dataclass(frozen=True)
class AnswerWords:
    """Words that the worst answers have more often than good ones, the clearest first.

    `worst` and `good` are the answers that were compared: of each, a conversation and a question count once.
    """

    worst: int
    good: int
    questions: tuple[TellingWord, ...] = ()
    documents: tuple[TellingWord, ...] = ()


def words_of(answers: ComparedAnswers) -> AnswerWords:
    """Return the words that tell the worst answers from the good ones."""
    worst, good = list(_apart(answers.worst)), list(_apart(answers.good))
    questions, documents = (
        telling_words([one[place] for one in worst], [one[place] for one in good], _MOST_WORDS, tests=2)
        for place in (0, 1)
    )
    return AnswerWords(len(worst), len(good), questions, documents)


def _apart(answers: Iterable[ComparedAnswer]) -> Iterator[tuple[set[str], set[str]]]:
    """Yield the words of question and documents, of a conversation and of a question once: others say no more."""
    seen: set[str] = set()
    for one in answers:
        keys = {f"chat {one.chat_id}"} if one.chat_id else set()
        if said := normalised_question(one.question):
            keys.add(f"asked {said}")
        if keys.isdisjoint(seen):
            seen |= keys
            names = (_BETWEEN.sub(" ", name) for name in one.documents)
            yield set(words(one.question)), {word for name in names for word in words(name)}
