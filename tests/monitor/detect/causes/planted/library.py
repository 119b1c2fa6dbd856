"""Documents that come and go, their chunks, and questions about them in several languages."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import numpy as np

TOPICS = ("travel", "leave", "pension", "insurance", "security", "hardware", "training", "bonus", "parking", "visa")
_NOUNS = ("employee", "request", "approval", "limit", "manager", "form", "period", "allowance", "contract", "office")
_VERBS = ("needs", "covers", "excludes", "replaces", "requires", "extends", "limits", "follows")
_QUESTIONS = {
    "en": ("What is the {} rule for {} and when do I have to ask?", "How many days of {} are there with the {}?"),
    "de": ("Was ist die Regel {} für {} und wann muss ich das beantragen?", "Wie viele Tage {} gibt es mit der {}?"),
    "fr": ("Quelle est la règle {} pour les {} et quand dois-je la demander ?", "Combien de jours de {} avec la {} ?"),
    "uk": ("Яке правило {} для {} і коли я маю про це попросити?", "Скільки днів {} є у нас, якщо це {}?"),
    "pl": ("Jaka jest zasada {} dla {} i kiedy muszę o to poprosić?", "Ile dni {} jest w roku, jeśli to {}?"),
}
LANGUAGES = ("en", "de", "fr")
NEW_LANGUAGES = ("uk", "pl")
_CHUNKS_OF_A_DOCUMENT = 10
_MOST_DOCUMENT_AGE = 30


@dataclass(frozen=True)
class Document:
    """A text of one topic; `published` is in its address, its title and its chunks."""

    topic: int
    name: str
    published: datetime
    weight: float
    chunks: tuple[str, ...] = field(repr=False)
    begin: datetime
    end: datetime

    @property
    def url(self) -> str:
        return f"files/policies/{TOPICS[self.topic]}/{self.name}-{self.published:%Y-%m}.pdf"

    def context(self, chunk: int, length: float) -> dict[str, Any]:
        text = self.chunks[chunk]
        return {
            "text": text[: max(40, int(len(text) * length))],
            "title": f"{self.name} ({self.published:%Y-%m-%d})",
            "url": self.url,
            "page": chunk + 1,
            "id": None,
        }


class Library:
    """All documents of a period; each week some are added and some are taken out."""

    def __init__(self, random: np.random.Generator, begin: datetime, end: datetime) -> None:
        self._random = random
        self.documents: list[Document] = []
        for topic in range(len(TOPICS)):
            for _ in range(7):
                leaves = begin + timedelta(days=float(random.exponential(300)))
                self.add(
                    topic, begin, leaves, begin - timedelta(days=float(random.uniform(10, 30 * _MOST_DOCUMENT_AGE)))
                )
        at = begin
        while at < end:
            at += timedelta(days=float(random.exponential(4)))
            self.add(int(random.integers(len(TOPICS))), at, datetime.max.replace(tzinfo=at.tzinfo), at)

    def add(self, topic: int, begin: datetime, end: datetime, published: datetime) -> None:
        """Add a document of a few chunks."""
        random = self._random
        name = f"{TOPICS[topic]}-{_NOUNS[random.integers(len(_NOUNS))]}-{len(self.documents)}"
        chunks = tuple(_text(random, TOPICS[topic], published) for _ in range(_CHUNKS_OF_A_DOCUMENT))
        weight = float(random.lognormal(0, 0.7))
        self.documents.append(Document(topic, name, published, weight, chunks, begin, end))

    def retrieve(
        self, topic: int, at: datetime, chunks: int, length: float, oldest_only: datetime | None
    ) -> list[dict[str, Any]]:
        """Give chunks of the documents that are there: mostly of the topic, and some of any other."""
        there = [one for one in self.documents if one.begin <= at < one.end]
        if oldest_only is not None:
            there = [one for one in there if one.published < oldest_only]
        weights = np.array([one.weight * (1.0 if one.topic == topic else 0.02) for one in there])
        found = self._random.choice(len(there), chunks, p=weights / weights.sum())
        numbers = self._random.integers(_CHUNKS_OF_A_DOCUMENT, size=chunks)
        return [there[one].context(int(number), length) for one, number in zip(found, numbers, strict=True)]


def question(random: np.random.Generator, topic: int, language: str, length: float) -> str:
    """Give a question about a topic, longer by some sentences where `length` says so."""
    pattern = _QUESTIONS[language][random.integers(2)]
    sentences = 1 + int(random.poisson(0.6 * length))
    texts = (pattern.format(TOPICS[topic], _NOUNS[random.integers(len(_NOUNS))]) for _ in range(sentences))
    return " ".join(texts)


def _text(random: np.random.Generator, topic: str, published: datetime) -> str:
    sentences = [f"As of {published:%B %Y}."]
    for _ in range(int(random.integers(6, 12))):
        one, other, verb = random.integers([len(_NOUNS), len(_NOUNS), len(_VERBS)])
        sentences.append(
            f"For {topic} the {_NOUNS[one]} {_VERBS[verb]} the {_NOUNS[other]} of {random.integers(2, 90)} days."
        )
    return " ".join(sentences)
