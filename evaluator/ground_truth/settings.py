"""Settings of ground truth: which answers become cases, which cases answers are compared with, and how one is found."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evaluator.answers import CaseMatching, SimilarByEncoder
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.models import Models
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus
from runtime.setting import Section


class GroundTruthSettings(Section):
    """Which answers become cases, which cases answers are compared with, and how the case of an answer is found."""

    least_confidence: Annotated[float, Field(gt=0, le=1)] = 0.8
    """What the [signals](signals.md#one-number-an-answer) of an answer must come to, so that it becomes a case; above
    0, and 1 at most."""
    most_per_day: Annotated[int, Field(ge=0)] = 50
    """Cases of a deployment that are made of the answers of one day. 0 makes none."""
    use_proposed: bool = True
    """Whether cases that nobody has accepted score answers; their scores are marked and never raise an urgent alert."""
    judge: Annotated[str, Field(min_length=1)] | None = None
    """One of `evaluator.judges`, which names the [facts of cases](ground-truth.md#facts); without it they are the
    sentences of the contexts that have the words of the answer."""
    facts_by_embedding: bool = False
    """Whether an answer in other words than its contexts gets facts by the sentence encoder of `evaluator.models`."""
    least_fact_similarity: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Least cosine of such a fact, a sentence of a context, with a sentence of the answer."""
    match_by_embedding: bool = False
    """Whether a question in other words, with the same numbers, names and negations, is compared with a case: needs the
    sentence encoder of `evaluator.models`."""
    least_similarity: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Cosine from which such questions count as one; measured for all-MiniLM-L6-v2, another encoder needs another."""

    def matching(self, models: Models) -> CaseMatching:
        """Return what finds the case that an answer is compared with."""
        status = USABLE_STATUS if self.use_proposed else (CaseStatus.ACCEPTED,)
        similar = SimilarByEncoder(models, self.least_similarity) if self.match_by_embedding else None
        return CaseMatching(status, similar)

    def similar_sentences(self, models: Models) -> SimilarSentences | None:
        """Return what finds the facts of answers in other words, if anything."""
        return SimilarSentences(models, self.least_fact_similarity) if self.facts_by_embedding else None
