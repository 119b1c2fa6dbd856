"""Faithfulness by many calls, as other packages ask: for a team with labels that wants to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.llm.claim_metric import ClaimMetric, ClaimSpecification
from evaluator.metrics.llm.claims import CUT, RowTexts, ask_claim_by_claim, prompts_claim_by_claim
from evaluator.metrics.llm.verdicts import supported_share
from evaluator.metrics.scores import Metric, Score

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge


_SPECIFICATION = ClaimSpecification(
    "faithfulness_claims_apart",
    supported_share,
    of=("grounded",),
    asks="Does what was retrieved support what the answer claims, asked claim by claim?",
    formula="claims of the answer that the contexts support / claims of the answer",
    source="RAGAS, arXiv 2309.15217; a call a claim, as in aidial-rag-eval a call a sentence",
    reads=("answer", "contexts"),
    claims_of=("answer",),
    disagreement="the contexts are sent once for each claim; `faithfulness_claims` sends them once.",
)


@dataclass(frozen=True)
class FaithfulnessClaimsApart(ClaimMetric):
    """Share of the answer's claims that the contexts support, each checked in a call of its own, 0 to 1.

    One call for the claims, which does not show the contexts, and one for each of them. `dialwatch judge calibrate
    --compare` says whether `faithfulness_claims`, which asks all at once, is as good on your labels.
    """

    specification: ClaimSpecification = _SPECIFICATION

    @property
    def prompts(self) -> tuple[str, ...]:
        """Those of both steps."""
        return (*prompts_claim_by_claim(reasons=self.gives_reasons), CUT)

    def score_all(self, judge: BoundJudge, tasks: Sequence[RowTexts]) -> Iterator[Score]:
        """Ask about rows, together."""
        return map(self.row_score, ask_claim_by_claim(judge, tasks))


METRICS: tuple[Metric, ...] = (FaithfulnessClaimsApart(),)
