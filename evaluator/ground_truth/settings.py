"""Settings of ground truth: which answers become cases, which cases answers are compared with, and how one is found."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from evaluator.answers import CaseMatching, SimilarByEncoder
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.models import Models
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus


class GroundTruthSettings(BaseModel):
    """Which answers become cases, which cases answers are compared with, and how the case of an answer is found.

    With `use_proposed` cases that nobody has accepted score answers too; their scores are marked and never page.

    With `match_by_embedding` a question that is no case's own may be that of a case in other words: the sentence
    encoder of `evaluator.models` finds their cosine to be at least `least_similarity`, and they have the same numbers,
    names and negations. The default was measured for all-MiniLM-L6-v2; another encoder has another scale.

    `judge` is the name of one of `evaluator.judges`, which names the facts of proposed cases; without it they are the
    sentences of the contexts that have the words of the answer. With `facts_by_embedding`, where there are none of
    those, they are the sentences that the encoder finds to be nearest, from a cosine of `least_fact_similarity` on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    least_confidence: Annotated[float, Field(gt=0, le=1)] = 0.8
    """What the signals of an answer must come to: a like, and nobody and nothing of weight against it."""
    most_per_day: Annotated[int, Field(ge=0)] = 50
    """Cases of a deployment that are made of the answers of one day; 0 makes none."""
    use_proposed: bool = True
    judge: Annotated[str, Field(min_length=1)] | None = None
    facts_by_embedding: bool = False
    least_fact_similarity: Annotated[float, Field(gt=0, le=1)] = 0.5
    match_by_embedding: bool = False
    least_similarity: Annotated[float, Field(gt=0, le=1)] = 0.95

    def matching(self, models: Models) -> CaseMatching:
        """Give what finds the case that an answer is compared with."""
        status = USABLE_STATUS if self.use_proposed else (CaseStatus.ACCEPTED,)
        similar = SimilarByEncoder(models, self.least_similarity) if self.match_by_embedding else None
        return CaseMatching(status, similar)

    def similar_sentences(self, models: Models) -> SimilarSentences | None:
        """Give what finds the facts of answers in other words, if anything."""
        return SimilarSentences(models, self.least_fact_similarity) if self.facts_by_embedding else None
