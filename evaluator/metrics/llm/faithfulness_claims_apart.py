"""Faithfulness by many calls, as other packages ask: for a team with labels that wants to compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.description import Description
from evaluator.metrics.llm.claim_metric import ClaimMetric, odd_cases
from evaluator.metrics.llm.claims import Findings, Row, find_apart, prompts_apart
from evaluator.metrics.llm.verdicts import Judged, supported_share
from evaluator.metrics.metric import Score

if TYPE_CHECKING:
    from evaluator.judges import BoundJudge


@dataclass(frozen=True)
class FaithfulnessClaimsApart(ClaimMetric):
    """Share of the answer's claims that the contexts support, each checked in a call of its own, 0 to 1.

    One call for the claims, which does not show the contexts, and one for each of them. `dialwatch judge calibrate
    --compare` tells whether `faithfulness_claims`, which asks all at once, is as good on your labels.
    """

    name = "faithfulness_claims_apart"
    shares_of = ("answer",)
    about = Description(
        asks="Does what was retrieved support what the answer claims, asked claim by claim?",
        formula="claims of the answer that the contexts support / claims of the answer",
        source="RAGAS, arXiv 2309.15217; a call a claim, as in aidial-rag-eval a call a sentence",
        odd_cases=odd_cases(),
        disagreement="the contexts are sent once for each claim; `faithfulness_claims` sends them once.",
    )

    @property
    def prompts(self) -> tuple[str, ...]:
        """Those of both steps."""
        return prompts_apart(reasons=self.gives_reasons)

    def judged(self, found: Findings) -> Judged:
        """Give the supported share."""
        return supported_share(found.grounded)

    def score_all(self, judge: BoundJudge, tasks: Sequence[Row]) -> Iterator[Score]:
        """Ask about rows, together."""
        return map(self.of_row, find_apart(judge, tasks))
