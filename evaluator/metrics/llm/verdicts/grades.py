"""Numbers of a judge's grades, and of the probabilities of the words that it could have said."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evaluator.metrics.llm.verdicts.judged import Judged

_LEAST_PROBABILITY = 0.01
_ROUNDING = 1e-12
"""Probabilities are sums of exponentials: one of 1 % is a bit less."""
_YES, _NO = ("true", "yes"), ("false", "no")


def weighted_grade(probabilities: Mapping[str, float], low: int, high: int) -> float | None:
    """Mean of the grades that a judge could have given, weighted by their probabilities; None where none is known.

    `probabilities` are those of words in the place of the grade. Words that are no grade from `low` to `high`, and
    those of less than 1 %, are left out: .9 of 8 and .005 of 9 is 8.

    Formula: Σ over grades: probability * grade; / Σ over grades: probability
    Source: G-Eval, arXiv 2303.16634; deepeval (GEval)
    On nothing: no grade of 1 % or more: None
    Missing verdicts: a grade that is not among the words counts as none
    Packages: deepeval reads the first token anywhere that looks as the grade does; here the one in the grade's place
    """
    given = {int(word): one for word, one in probabilities.items() if word.isdecimal()}
    likely = {
        grade: one for grade, one in given.items() if low <= grade <= high and one >= _LEAST_PROBABILITY - _ROUNDING
    }
    if not likely:
        return None
    return math.fsum(grade * one for grade, one in likely.items()) / math.fsum(likely.values())


def probability_of_yes(probabilities: Mapping[str, float]) -> float | None:
    """Probability that a judge says yes, of yes and no alone, 0 to 1; None where neither is known.

    Formula: P(yes) / (P(yes) + P(no)); true counts as yes, false as no
    Source: dialwatch
    On nothing: neither yes nor no: None
    Missing verdicts: a word that is not there has probability 0
    Packages: none was found that gives it
    """
    yes, no = (math.fsum(probabilities.get(word, 0.0) for word in words) for words in (_YES, _NO))
    return yes / (yes + no) if yes + no > 0 else None


def mean_grade(grades: Sequence[float | None]) -> Judged:
    """Mean of grades from 0 to 1.

    Formula: Σ grades / grades
    Source: dialwatch
    On nothing: no grades: null with `judge_failed`, from 0 to 1
    Missing verdicts: null with `judge_failed`, the bounds take a missing grade as 0 and as 1
    Packages: G-Eval without probabilities takes the mean of 20 grades, drawn with temperature 1
    """
    if not grades:
        return Judged.between(0.0, 1.0)
    low, high = (math.fsum(end if one is None else one for one in grades) / len(grades) for end in (0.0, 1.0))
    return Judged.between(low, high)
