"""Semantic similarity: does the answer mean what a reference answer means?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluator.metrics.cells import text, texts
from evaluator.metrics.description import Description
from evaluator.metrics.metric import Metric, Score, ScoredBy
from evaluator.metrics.model_metric import ModelMetric
from evaluator.metrics.text.reference_metric import odd_cases
from evaluator.models import sentence_encoder
from lake.spec.vocabulary import UnscoredReason


def cosine(one: npt.ArrayLike, other: npt.ArrayLike) -> float | None:
    """Give the cosine of two vectors, -1 to 1; None where one of them is 0."""
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    lengths = float(np.linalg.norm(first)) * float(np.linalg.norm(second))
    return min(max(float(first @ second) / lengths, -1.0), 1.0) if lengths else None


@dataclass(frozen=True)
class SemanticSimilarity(ModelMetric[tuple[str, str], float | None]):
    """Cosine of the embeddings of answer and reference, of several references the best; -1 to 1, higher is better.

    Any sentence encoder serves (a bi-encoder, not a cross-encoder). Of a text longer than the encoder reads only the
    beginning counts. Texts that contradict each other about the same thing are similar.
    """

    role = "sentence_encoder"
    name = "semantic_similarity"
    needs = ("answer", "reference_answers")
    judge = ScoredBy.EMBEDDING
    about = Description(
        asks="Does the answer mean what a reference answer means?",
        formula="max over references: e(answer) · e(reference) / (|e(answer)| |e(reference)|)",
        source="ragas 0.4.3 (SemanticSimilarity)",
        odd_cases=odd_cases("0.0 with `no_answer`, null with it for a missing cell"),
        low=-1.0,
        disagreement="ragas embeds an empty answer as one space and so gives it some number; silence is 0 here.",
        aliases=("answer_similarity",),
    )

    def inputs(self, *cells: object) -> Sequence[tuple[str, str]] | Score:
        """Pair the answer with each reference."""
        answer, references = text(cells[0], "answer"), texts(cells[1], "reference_answers")
        if not references:
            return Score(None, UnscoredReason.NO_GROUND_TRUTH)
        if answer is None:
            return Score(None, UnscoredReason.NO_ANSWER)
        if not answer.strip():
            return Score(0.0, UnscoredReason.NO_ANSWER)
        return [(answer, reference) for reference in references]

    def run(self, inputs: Sequence[tuple[str, str]]) -> Sequence[float | None]:
        """Give the cosine of each pair."""
        encoder = sentence_encoder(self.models)
        distinct = list(dict.fromkeys(text for pair in inputs for text in pair))
        vectors = dict(zip(distinct, encoder.vectors(distinct), strict=True))
        return [cosine(vectors[one], vectors[other]) for one, other in inputs]

    def row_score(self, found: Sequence[tuple[tuple[str, str], float | None]]) -> Score:
        """Give the best cosine."""
        known = [value for _, value in found if value is not None]
        return Score(max(known)) if known else Score(None, UnscoredReason.ZERO_VECTOR)


METRICS: tuple[Metric, ...] = (SemanticSimilarity(),)
