"""Answer correctness: the right facts, and the same meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluator.metrics.description import Description
from evaluator.metrics.llm.claim_metric import ClaimMetric, odd_cases
from evaluator.metrics.llm.claims import Findings, Row
from evaluator.metrics.llm.verdicts import Judged, answer_correctness, factual_f_beta_of_verdicts
from evaluator.metrics.metric import Score
from evaluator.metrics.model_metric import MODELS_MEANING
from evaluator.metrics.options import option
from evaluator.metrics.text.semantic_similarity import cosine
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge


@dataclass(frozen=True)
class AnswerCorrectnessClaims(ClaimMetric):
    """Three parts of factual F1 and one part of semantic similarity; 0 to 1, or below by similarity, higher is better.

    The similarity is the cosine of the embeddings of answer and reference answer, by any sentence encoder; the details
    have both parts. Without a model use `factual_correctness`.
    """

    models: Models = field(default=DEFAULT_MODELS, kw_only=True, metadata=option(MODELS_MEANING))

    name = "answer_correctness_claims"
    reads_contexts = False
    reads_reference = True
    shares_of = ("answer", "reference")
    about = Description(
        asks="Does the answer state the facts of the reference answer, and mean the same?",
        formula="0.75 F + 0.25 cosine; F as in `factual_correctness`, the cosine as in `semantic_similarity`",
        source="ragas 0.4.3 (AnswerCorrectness)",
        odd_cases=odd_cases(contexts=False, reference=True),
        low=-0.25,
        disagreement="an answer without claims has the factual part 0, in ragas' newer interface 1.",
        aliases=("ragas_answer_correctness",),
    )

    @property
    def version(self) -> str:
        """The version of a judged metric, and the encoder."""
        return f"{super().version}-{self.models.version('sentence_encoder')}"

    def score_all(self, judge: BoundJudge, tasks: Sequence[Row]) -> Iterator[Score]:
        """Embed all texts together, so that no judge is paid where there is no encoder, and ask."""
        sentence_encoder(self.models).vectors([one for row in tasks for one in _texts(row)])
        return super().score_all(judge, tasks)

    def judged(self, found: Findings) -> Judged:
        """Give the weighted mean."""
        matrix = found.matrix
        factual = factual_f_beta_of_verdicts(matrix.answer_in_reference, matrix.reference_in_answer)
        return answer_correctness(factual, self._similarity(found.row))

    def details(self, found: Findings) -> dict[str, Any]:
        """Give the facts, and the similarity."""
        return super().details(found) | {"similarity": self._similarity(found.row)}

    def _similarity(self, row: Row) -> float | None:
        return cosine(*sentence_encoder(self.models).vectors(_texts(row)))


def _texts(row: Row) -> list[str]:
    return [" ".join(row.answer), " ".join(row.reference)]
