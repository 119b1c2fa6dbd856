"""Majority of the votes of a judge that was asked several times."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.metrics.llm.verdicts.judged import Judged, Verdict, flags


def odd_strictness(strictness: int) -> int:
    """Give how many votes to ask for: `strictness`, or one more where that is even and a tie would be possible.

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
