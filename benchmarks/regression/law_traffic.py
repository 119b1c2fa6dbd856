"""Traffic of the laws: when there are answers, of which class, and with which scores."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
HOURLY = 20.0
_MEAN = 0.8
_BY_HOUR = np.where((np.arange(24) >= 8) & (np.arange(24) < 20), 1.42, 0.58)
_WEEKEND = 0.6
_LANGUAGES = {"en": 0.7, "de": 0.2, "fr": 0.1}
_LENGTHS = {"short": 0.5, "medium": 0.35, "long": 0.15}


@dataclass(frozen=True)
class Traffic:
    """Answers: `at` in hours from the begin, which is a Wednesday; `kinds` are places in `classes`."""

    at: Floats
    chats: Integers
    questions: Integers
    values: Floats
    kinds: Integers
    classes: tuple[str, ...]

    def where(self, chosen: NDArray[np.bool_]) -> Traffic:
        """Give some of them."""
        return replace(
            self,
            at=self.at[chosen],
            chats=self.chats[chosen],
            questions=self.questions[chosen],
            values=self.values[chosen],
            kinds=self.kinds[chosen],
        )

    def and_more(self, at: Floats, values: Floats, *, chats: Integers, questions: Integers, name: str) -> Traffic:
        """Add answers of one class, given as its JSON; chats and questions have numbers of their own."""
        classes = (*self.classes, name)
        chats = chats + self.chats.max() + 1
        return Traffic(
            np.concatenate([self.at, at]),
            np.concatenate([self.chats, chats]),
            np.concatenate([self.questions, questions + self.questions.max() + 1]),
            np.concatenate([self.values, values]),
            np.concatenate([self.kinds, np.full(len(at), len(classes) - 1)]),
            classes,
        )


def hours_of(generator: np.random.Generator, days: int, hourly: float = HOURLY) -> Floats:
    """Draw times of answers, in hours, with day and night and quieter weekends."""
    rates = expected_answers(days, hourly)
    at = np.repeat(np.arange(len(rates)), generator.poisson(rates)).astype(np.float64)
    return np.sort(at + generator.uniform(0.0, 1.0, len(at)))


def expected_answers(days: int, hourly: float = HOURLY) -> Floats:
    """How many answers each hour has on average; shape (hours,)."""
    hours = np.arange(days * 24)
    return np.asarray(hourly * _BY_HOUR[hours % 24] * np.where(is_weekend(hours.astype(np.float64)), _WEEKEND, 1.16))


def is_weekend(at: Floats) -> NDArray[np.bool_]:
    """Whether hours from the begin are of a Saturday or Sunday."""
    return np.asarray((at // 24 + 2) % 7 >= 5)


def scores(generator: np.random.Generator, harder: Floats) -> Floats:
    """Draw scores, right or wrong, whose mean is lower than usual by that much, or higher where it is negative."""
    return (generator.uniform(size=len(harder)) < _MEAN - harder).astype(np.float64)


@dataclass(frozen=True)
class Classes:
    """Class of each answer, by language and length of the question."""

    languages: NDArray[np.str_]
    lengths: NDArray[np.str_]

    @classmethod
    def usual(cls, generator: np.random.Generator, number: int) -> Classes:
        """Draw the usual ones: three languages and three lengths."""
        return cls(
            generator.choice(list(_LANGUAGES), number, p=list(_LANGUAGES.values())),
            generator.choice(list(_LENGTHS), number, p=list(_LENGTHS.values())),
        )

    @property
    def encoded(self) -> tuple[Integers, tuple[str, ...]]:
        """Places and the classes as JSON."""
        both = np.char.add(np.char.add(self.languages, " "), self.lengths)
        names, places = np.unique(both, return_inverse=True)
        return places, tuple(segment(*name.split()) for name in names.tolist())


def segment(language: str, length: str) -> str:
    """Give a class as it stands in `scores.segment`."""
    return json.dumps({"language": language, "question_length": length})


def traffic(
    generator: np.random.Generator,
    at: Floats,
    harder: Floats,
    classes: Classes | None = None,
    values: Floats | None = None,
    chats: Integers | None = None,
) -> Traffic:
    """Answers at these times, each a chat and a question of its own by default."""
    of_each = classes or Classes.usual(generator, len(at))
    alone = np.arange(len(at), dtype=np.intp)
    found = scores(generator, harder) if values is None else values
    return Traffic(at, alone if chats is None else chats, alone, found, *of_each.encoded)
