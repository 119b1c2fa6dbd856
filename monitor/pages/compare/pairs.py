"""Pairs of answers to the same question: which belong together, how they differ, and by how much on average."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import numpy as np
from rapidfuzz.distance import Indel

from lake.queries.ground_truth.question_keys import normalised_question
from monitor.pages.texts import Span
from runtime.sign_test import sign_test

Preferred = Literal["before", "after", "neither"]

SHOWN = 20
"""Pairs that are shown, those that differ most first."""
MOST_CHARACTERS = 2_000
"""Characters of an answer whose words are compared."""
_Z = 1.96
_ENOUGH = 10
_WORD = re.compile(r"\w+|[^\w\s]+")
_SMALLEST = 1e-9


@dataclass(frozen=True)
class ComparedFact:
    """A fact of the case to the question; `is_found` says whether a context of the answer holds it, None if unknown."""

    text: str
    is_found: bool | None


@dataclass(frozen=True)
class ComparedAnswer:
    """One side of a pair. `date` and `event_id` are None for a replay; texts are None for who may not read them."""

    value: float
    question: str | None
    answer: str | None
    date: date | None
    event_id: str | None = None
    deployment: str | None = None
    case_id: str | None = None
    contexts: Sequence[str] | None = None
    facts: Sequence[ComparedFact] = ()
    """Those of the accepted or proposed case to the question."""
    answers: int = 1
    """How many answers its side has to the question."""
    mean: float | None = None
    """The mean of these; None of one alone."""


@dataclass(frozen=True)
class AnswerPair:
    """Answers to one question before and after; `difference` is positive where the later one is better.

    `preferred` is the one that a judge prefers, null where it was not asked, or did not decide.
    """

    before: ComparedAnswer
    after: ComparedAnswer
    difference: float
    preferred: Preferred | None = None


@dataclass(frozen=True)
class PairedComparison:
    """All pairs together: the mean of their differences with its 95 % interval (normal approximation), and counts.

    `pairs` are the worst of them. `unpaired` counts the questions of either side that the other does not have.
    `probability` is that of the sign test of `better` and `worse`.
    """

    count: int
    before_mean: float
    after_mean: float
    mean_difference: float
    lower: float
    upper: float
    better: int
    worse: int
    same: int
    unpaired: int
    probability: float
    pairs: tuple[AnswerPair, ...]

    @property
    def is_enough(self) -> bool:
        """Whether an interval of these pairs means anything."""
        return self.count >= _ENOUGH

    def without_texts(self) -> PairedComparison:
        """Return the comparison for readers who may not read texts."""
        return replace(self, pairs=tuple(_without_texts(one) for one in self.pairs))


def pairs_of(
    before: Iterable[tuple[str, ComparedAnswer]],
    after: Iterable[tuple[str, ComparedAnswer]],
    *,
    lower_is_better: bool,
    largest: float = math.inf,
    preferred: Mapping[tuple[str | None, str | None], Preferred | None] | None = None,
) -> PairedComparison | None:
    """Pair answers by their keys, and return what the pairs say; None where there is no pair.

    Of several answers with one key on a side the mean of their values counts. The one nearest to it is shown; of the
    later side the worst one where the question has got worse. Where a judge has compared two of them, these are shown.
    `preferred` is what it said, by the event ids of both. `largest` is the largest difference that there can be.
    """
    old, new = _by_key(before), _by_key(after)
    sign = -1.0 if lower_is_better else 1.0
    said_of = preferred or {}
    partners = dict(said_of.keys())
    found = []
    for key in old.keys() & new.keys():
        mean_before, mean_after = _mean(old[key]), _mean(new[key])
        difference = sign * (mean_after - mean_before)
        worst = min(new[key], key=lambda one: sign * one.value)
        later = worst if difference < -_SMALLEST else _nearest(new[key], mean_after)
        one, other = _compared(old[key], new[key], partners) or (_nearest(old[key], mean_before), later)
        said = said_of.get((one.event_id, other.event_id))
        one, other = _counted(one, old[key], mean_before), _counted(other, new[key], mean_after)
        found.append((AnswerPair(one, other, difference, said), mean_before, mean_after))
    if not found:
        return None
    differences = np.array([pair.difference for pair, _, _ in found])
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else math.inf
    ordered = sorted((pair for pair, _, _ in found), key=lambda pair: pair.difference)
    better, worse = int((differences > _SMALLEST).sum()), int((differences < -_SMALLEST).sum())
    return PairedComparison(
        count=len(found),
        before_mean=float(np.mean([value for _, value, _ in found])),
        after_mean=float(np.mean([value for _, _, value in found])),
        mean_difference=mean,
        lower=max(mean - _Z * error, -largest),
        upper=min(mean + _Z * error, largest),
        better=better,
        worse=worse,
        same=int((np.abs(differences) <= _SMALLEST).sum()),
        unpaired=len(old.keys() ^ new.keys()),
        probability=sign_test(better, worse),
        pairs=tuple(ordered[:SHOWN]),
    )


def question_key(question: str | None) -> str:
    """Return what two questions have in common that are the same but for their spelling; empty for none."""
    return normalised_question(question) if question else ""


def different_words(one: str, other: str) -> tuple[list[Span], list[Span]]:
    """Return the places of the words of two texts that the other does not have at that place."""
    words = [list(_WORD.finditer(text[:MOST_CHARACTERS])) for text in (one, other)]
    old, new = ([word[0] for word in some] for some in words)
    places: tuple[list[Span], list[Span]] = ([], [])
    # A text of two signs by turns costs difflib minutes, and this at most milliseconds.
    for step in Indel.opcodes(old, new):
        for side, (begin, end) in enumerate(((step.src_start, step.src_end), (step.dest_start, step.dest_end))):
            if step.tag != "equal" and end > begin:
                places[side].append((words[side][begin].start(), words[side][end - 1].end()))
    return places


def _by_key(some: Iterable[tuple[str, ComparedAnswer]]) -> dict[str, list[ComparedAnswer]]:
    found: dict[str, list[ComparedAnswer]] = defaultdict(list)
    for key, answer in some:
        if key:
            found[key].append(answer)
    return found


def _mean(some: Sequence[ComparedAnswer]) -> float:
    return math.fsum(one.value for one in some) / len(some)


def _nearest(some: Sequence[ComparedAnswer], value: float) -> ComparedAnswer:
    return min(some, key=lambda one: abs(one.value - value))


def _counted(shown: ComparedAnswer, some: Sequence[ComparedAnswer], mean: float) -> ComparedAnswer:
    return replace(shown, answers=len(some), mean=mean) if len(some) > 1 else shown


def _compared(
    old: Sequence[ComparedAnswer], new: Sequence[ComparedAnswer], partners: Mapping[str | None, str | None]
) -> tuple[ComparedAnswer, ComparedAnswer] | None:
    """Return the answers to a question that a judge has compared; `partners` are the later ids by the earlier."""
    later = {one.event_id: one for one in new}
    known = ((one, later.get(partners[one.event_id])) for one in old if one.event_id in partners)
    return next(((one, other) for one, other in known if other is not None), None)


def _without_texts(pair: AnswerPair) -> AnswerPair:
    before, after = (
        replace(one, question=None, answer=None, contexts=None, facts=()) for one in (pair.before, pair.after)
    )
    return replace(pair, before=before, after=after)
