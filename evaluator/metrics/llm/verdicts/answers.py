"""Numbers of a whole answer: the questions that it answers, and the majority of votes about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluator.metrics.llm.verdicts.judged import Judged, Verdict, flags
from lake.spec.vocabulary import UnscoredReason

Vector = Sequence[float]


def answer_relevancy(question: Vector, generated: Sequence[Vector | None], noncommittal: Sequence[Verdict]) -> Judged:
    """Mean cosine of the question and the questions made up from the answer, -1 to 1.

    `generated` has the vector of each made-up question, `noncommittal` whether the judge found the answer evasive when
    it made up that question. It says nothing about truth.

    Formula: Σ over made-up questions: cosine(question, made-up question); / made-up questions; 0 if all of them call
        the answer noncommittal
    Source: RAGAS, arXiv 2309.15217; ragas (ResponseRelevancy)
    On nothing: no question came back: null with `judge_failed`; a vector without a direction (zeros, NaN): null
        with `zero_vector`
    Missing verdicts: null with `judge_failed`; the bounds take a question that is None as -1 and as 1, and both ways
        where a missing verdict decides whether all of them call the answer noncommittal
    Packages: where no question came back ragas' newer interface says 0.

    Raises ValueError where vectors have other lengths, or where there is not one noncommittal verdict a question.
    """
    if len(generated) != len(noncommittal):
        raise ValueError(
            f"{len(generated)} questions were made up, but {len(noncommittal)} have a noncommittal verdict"
        )
    came_back = [vector for vector in generated if vector is not None]
    if not came_back:
        return Judged(None, UnscoredReason.JUDGE_FAILED, -1.0, 1.0)
    cosines = _cosines(question, came_back)
    if cosines is None:
        return Judged.nothing(UnscoredReason.ZERO_VECTOR)
    missing = len(generated) - len(came_back)
    low, high = (sum(cosines) - missing) / len(generated), (sum(cosines) + missing) / len(generated)
    evasive = flags(noncommittal)
    if all(evasive):
        return Judged.known(0.0)
    if False in evasive:
        return Judged.between(low, high)
    return Judged.between(min(low, 0.0), max(high, 0.0))


def _cosines(question: Vector, generated: Sequence[Vector]) -> list[float] | None:
    for vector in generated:
        if len(vector) != len(question):
            raise ValueError(f"a made-up question's vector has {len(vector)} numbers, the question's {len(question)}")
    one = np.asarray(question, dtype=float)
    others = np.asarray(generated, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(others, axis=1) * np.linalg.norm(one)
    if not ((lengths > 0) & (lengths < np.inf)).all():
        return None
    cosines: list[float] = np.clip(others @ one / lengths, -1.0, 1.0).tolist()
    return cosines


def odd_strictness(strictness: int) -> int:
    """Return how many votes to ask for: `strictness`, or one more where that is even and a tie would be possible.

    Raises ValueError below 1.
    """
    if strictness < 1:
        raise ValueError(f"strictness is the number of votes, 1 or more, not {strictness!r}")
    return strictness + 1 - strictness % 2


def aspect_critique(votes: Sequence[Verdict]) -> Judged:
    """Answer of the majority of votes on whether a text has an aspect, 0 or 1.

    Formula: 1 if more than half of the votes are yes, 0 if more than half are not; an undecided vote is not a yes
    Source: ragas (AspectCritic)
    On nothing: no votes: null with `judge_failed`; as many yes as not: null with `tie`
    Missing verdicts: null with `judge_failed`, from 0 to 1, unless the votes that are there have the majority
    Packages: in ragas a tie goes to the vote that came first, and a strictness of several makes one call.
    """
    given = flags(votes)
    yes, no, missing = given.count(True), given.count(False), given.count(None)
    if yes > no + missing:
        return Judged.known(1.0)
    if no > yes + missing:
        return Judged.known(0.0)
    return Judged.between(0.0, 1.0) if missing or not given else Judged.nothing("tie")
