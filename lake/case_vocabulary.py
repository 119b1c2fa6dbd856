"""Enumerations of the values that columns about ground truth may hold; see `lake.vocabulary`."""

from __future__ import annotations

from enum import StrEnum


class CaseStatus(StrEnum):
    """`ground_truth.status`: what people, or the evaluator, decided about a case."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"


USABLE_STATUS = (CaseStatus.PROPOSED, CaseStatus.ACCEPTED)
"""Statuses of the cases that answers are compared with."""


class ReferenceMatch(StrEnum):
    """`scores.reference_match`: how the case that an answer is compared with was found, the surest way first.

    `exact`: its question is the same, character by character. `normalised`: it is so but for case, white space,
    punctuation and forms of Unicode. `embedding`: a sentence encoder finds the questions alike.
    """

    EXACT = "exact"
    NORMALISED = "normalised"
    EMBEDDING = "embedding"
