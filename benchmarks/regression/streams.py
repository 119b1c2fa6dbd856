"""Streams of scores for the regression benchmark: what conversations there were in each hour."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVELS = np.linspace(0.0, 1.0, 5)
LAWS = {
    "five levels": np.array([0.03, 0.07, 0.15, 0.30, 0.45]),
    "binary": np.array([0.20, 0.0, 0.0, 0.0, 0.80]),
    "bimodal": np.array([0.13, 0.08, 0.02, 0.17, 0.60]),
}
"""Probability of each of the five levels, for an answer."""
BAD = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
ALL_BAD = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
ANSWERS_BY_DAY, ANSWERS_BY_NIGHT = 68, 28
"""An hour, from 8:00 to 20:00 and otherwise."""
TURNS, ICC = 4, 0.5


def worse(law: Floats, drop: float) -> Floats:
    """The law whose mean is lower by `drop`: a share of the answers turns bad; shape (5,)."""
    return blend(law, ALL_BAD if law[1:-1].sum() == 0.0 else BAD, LEVELS, drop)


def blend(law: Floats, bad: Floats, levels: Floats, drop: float) -> Floats:
    """The law with so many answers from the law `bad` that its mean is lower by `drop`."""
    share = drop / float((law - bad) @ levels)
    return (1.0 - share) * law + share * bad


def by_night(law: Floats) -> Callable[[int], Floats]:
    """The law of an hour where half of the nights' questions are hard (0.08 worse), and 30 % of the days'."""
    hard = worse(law, 0.08)

    def at(hour: int) -> Floats:
        share = 0.3 if 8 <= hour % 24 < 20 else 0.5
        return share * hard + (1.0 - share) * law

    return at


@dataclass(frozen=True)
class Kind:
    """What conversations there can be: their answers at each level (scores, rising), and their mean.

    With one turn a conversation is an answer. With four, each answer is that of the conversation's own draw with
    probability sqrt(ICC) and a draw of its own otherwise, so that two of them correlate by ICC.
    """

    turns: int
    levels: tuple[float, ...] = tuple(LEVELS)

    @property
    def answers(self) -> NDArray[np.int64]:
        """Number of answers at each level; shape (types, levels)."""
        types = combinations_with_replacement(range(len(self.levels)), self.turns)
        return np.array([np.bincount(one, minlength=len(self.levels)) for one in types])

    @property
    def means(self) -> Floats:
        """Mean score of each type; shape (types,)."""
        return np.asarray(self.answers @ np.array(self.levels) / self.turns)

    def probabilities(self, law: Floats) -> Floats:
        """How likely each type is; shape (types,)."""
        own = math.sqrt(ICC) if self.turns > 1 else 0.0
        answers = self.answers
        ways = np.array([math.factorial(self.turns) / math.prod(map(math.factorial, one)) for one in answers.tolist()])
        total = np.zeros(len(answers))
        for level, weight in enumerate(law):
            of_turn = (1.0 - own) * law + own * (np.arange(len(law)) == level)
            total += weight * ways * np.prod(of_turn**answers, axis=1)
        return total / total.sum()


def traffic(hours: int, turns: int) -> Floats:
    """Expected conversations of each hour; shape (hours,)."""
    hour = np.arange(hours) % 24
    return np.where((hour >= 8) & (hour < 20), ANSWERS_BY_DAY, ANSWERS_BY_NIGHT) / turns


def simulate(
    generator: np.random.Generator, streams: int, hours: int, kind: Kind, law_at: Callable[[int], Floats]
) -> NDArray[np.uint8]:
    """Number of conversations of each type in each hour; shape (streams, hours, types)."""
    counts = np.empty((streams, hours, len(kind.means)), dtype=np.uint8)
    for hour, rate in enumerate(traffic(hours, kind.turns)):
        number = generator.poisson(rate, streams)
        counts[:, hour] = generator.multinomial(number, kind.probabilities(law_at(hour)))
    return counts
