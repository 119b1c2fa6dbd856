"""Answer correctness by claims: the right claims, and the same meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from evaluator.metrics.llm.claim_metric import ClaimMetric, ClaimSpecification
from evaluator.metrics.llm.claims import RowClaims, RowTexts
from evaluator.metrics.llm.verdicts import Judged, answer_correctness, factual_f_beta_of_verdicts
from evaluator.metrics.model_metric import MODELS_MEANING
from evaluator.metrics.options import option
from evaluator.metrics.scores import Metric, Score
from evaluator.metrics.text.models import cosine
from evaluator.models import DEFAULT_MODELS, Models, sentence_encoder

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge


_SPECIFICATION = ClaimSpecification(
    "answer_correctness_claims",
    factual_f_beta_of_verdicts,
    of=("matrix.answer_in_reference", "matrix.reference_in_answer"),
    asks="Does the answer state the facts of the reference answer, and mean the same?",
    formula="0.75 F + 0.25 cosine; F as in `factual_correctness`, the cosine as in `semantic_similarity`",
    source="ragas 0.4.3 (AnswerCorrectness)",
    reads=("answer", "reference"),
    claims_of=("answer", "reference"),
    low=-0.25,
    disagreement="an answer without claims has the factual part 0, in ragas' newer interface 1.",
    aliases=("ragas_answer_correctness",),
)


@dataclass(frozen=True)
class AnswerCorrectnessClaims(ClaimMetric):
    """Three parts of factual F1 and one part of semantic similarity; 0 to 1, or below by similarity, higher is better.

    The similarity is the cosine of the embeddings of answer and reference answer, by any sentence encoder; the details
    have both parts. Without a model use `factual_correctness`.
    """

    specification: ClaimSpecification = _SPECIFICATION
    _: KW_ONLY
    models: Models = option(DEFAULT_MODELS, MODELS_MEANING)

    @property
    def version(self) -> str:
        """The version of a judged metric, and the encoder."""
        return f"{super().version}-{self.models.version('sentence_encoder')}"

    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Embed all texts together, so that no judge is paid where there is no encoder, and ask."""
        sentence_encoder(self.models).vectors([one for row in tasks for one in _texts(row)])
        return super().score_all(judge, tasks)

    def value(self, claims: RowClaims) -> Judged:
        """Give the weighted mean."""
        return answer_correctness(super().value(claims), self._similarity(claims.row))

    def details(self, claims: RowClaims) -> dict[str, Any]:
        """Give the claims, and the similarity."""
        return super().details(claims) | {"similarity": self._similarity(claims.row)}

    def _similarity(self, row: RowTexts) -> float | None:
        return cosine(*sentence_encoder(self.models).vectors(_texts(row)))


def _texts(row: RowTexts) -> list[str]:
    return [" ".join(row.answer), " ".join(row.reference)]


METRICS: tuple[Metric, ...] = (AnswerCorrectnessClaims(),)
