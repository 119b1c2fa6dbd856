"""A simulated RAG application: what it is asked, what it retrieves, and how often it makes its answer up."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dialwatch.demo.questions import Question
from dialwatch.demo.rag_answer import Passage

HALLUCINATED_SHARE = 0.04
HALLUCINATED_SHARE_AFTER_DROP = 0.7
ASKED_AGAIN_SHARE = 0.15


@dataclass(frozen=True)
class Exchange:
    """A question and its answer; `retrieved` are the passages that the answer was made from, best first.

    `cited` is the place in `retrieved` of the passage that the answer names. `candidates` are what the
    inner searches found before they were combined.
    """

    question: str
    answer: str
    hallucinated: bool
    retrieved: tuple[Passage, ...]
    candidates: tuple[Passage, ...]
    cited: int


class Assistant:
    """An application over the shipped questions; from `drop_at` on it makes most answers up."""

    def __init__(
        self, documents: Sequence[str], questions: Sequence[Question], rng: random.Random, drop_at: datetime | None
    ) -> None:
        """Index the questions' knowledge under the URLs `documents`."""
        self._rng = rng
        self._drop_at = drop_at
        self._questions = questions
        self._passages = [_passages(number, question, documents) for number, question in enumerate(questions)]
        self._unasked: list[int] = []
        self._liked: list[tuple[datetime, int]] = []

    def answer(self, moment: datetime) -> Exchange:
        """Take the next question and answer it; some were asked and liked at least ten minutes earlier."""
        number = self._next_question(moment)
        question, own = self._questions[number], self._passages[number]
        others = [self._passages[other][0] for other in self._rng.sample(range(len(self._questions)), 5)]
        unrelated = [passage for passage in others if passage not in own]
        retrieved = [*own, *unrelated[: self._rng.randint(1, 2)]]
        if self._rng.random() < 0.2:
            retrieved.insert(0, retrieved.pop())
        hallucinated = self._rng.random() < self._hallucinated_share(moment)
        source = next(passage for passage in own if question.grounded_answer in passage.text)
        return Exchange(
            question=question.text,
            answer=question.hallucinated_answer if hallucinated else question.grounded_answer,
            hallucinated=hallucinated,
            retrieved=tuple(retrieved),
            candidates=tuple(self._rng.sample([*own, *unrelated], len(own) + len(unrelated))[:7]),
            cited=retrieved.index(source),
        )

    def remember_like(self, exchange: Exchange, moment: datetime) -> None:
        """Let the question be asked again by others once its like is ten minutes old."""
        number = next(i for i, question in enumerate(self._questions) if question.text == exchange.question)
        self._liked.append((moment, number))

    def _hallucinated_share(self, moment: datetime) -> float:
        dropped = self._drop_at is not None and moment >= self._drop_at
        return HALLUCINATED_SHARE_AFTER_DROP if dropped else HALLUCINATED_SHARE

    def _next_question(self, moment: datetime) -> int:
        known = [number for liked_at, number in self._liked if liked_at <= moment - timedelta(minutes=10)]
        if known and self._rng.random() < ASKED_AGAIN_SHARE:
            return self._rng.choice(known)
        if not self._unasked:
            self._unasked = self._rng.sample(range(len(self._questions)), len(self._questions))
        return self._unasked.pop()


def _passages(number: int, question: Question, documents: Sequence[str]) -> tuple[Passage, ...]:
    """Cut a question's knowledge into one to three passages, the same whenever it is asked."""
    sentences = question.knowledge
    count = min(len(sentences), 1 + number % 3)
    bounds = [len(sentences) * cut // count for cut in range(count + 1)]
    document, page = number % len(documents), 1 + number // len(documents)
    url = documents[document]
    return tuple(
        Passage(
            text=" ".join(sentences[bounds[cut] : bounds[cut + 1]]),
            name=url.rsplit("/", 1)[-1],
            url=url,
            page=page,
            document=document,
            chunk=3 * page + cut,
        )
        for cut in range(count)
    )
