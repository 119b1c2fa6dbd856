"""Share of a text's statements that follow, from its segments' shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.metrics.llm.verdicts.judged import Judged
from lake.spec.vocabulary import UnscoredReason


@dataclass(frozen=True)
class Segment:
    """A piece of a text: how many statements it makes, and the share of them that follows, 0 to 1.

    Either is None, or the share NaN, where the judge failed; the share of a piece without statements has no weight.
    """

    statements: int | None
    inference: float | None

    @property
    def is_missing(self) -> bool:
        """Whether the judge gave no share."""
        return self.inference is None or math.isnan(self.inference)


def segment_inference(segments: Sequence[Segment]) -> Judged:
    """Share of a text's statements that follow, as aidial-rag-eval has it: `inference`, `_min` and `_max`.

    Gives: the `*_inference` columns; `low` and `high` are `*_inference_min` and `*_inference_max`.
    Formula: Σ over segments: statements * inference; / Σ over segments: statements
    Source: aidial-rag-eval 0.7
    On nothing: no statements: null with `no_claims`
    Missing verdicts: null with `judge_failed`; the bounds count a segment without inference as 0 and as 1, and are 0
        and 1 where the number of a segment's statements is missing
    Packages: aidial-rag-eval says 0 where there are no statements.
    """
    statements = [segment.statements for segment in segments]
    counts = [count for count in statements if count is not None]
    if len(counts) < len(statements):
        return Judged.between(0.0, 1.0)
    if not sum(counts):
        return Judged.nothing(UnscoredReason.NO_CLAIMS)
    low = _weighted(segments, counts, 0.0)
    if any(segment.is_missing for segment in segments):
        return Judged(None, UnscoredReason.JUDGE_FAILED, low, _weighted(segments, counts, 1.0))
    return Judged.known(low)


def _weighted(segments: Sequence[Segment], counts: Sequence[int], where_missing: float) -> float:
    shares = [where_missing if segment.is_missing else segment.inference or 0.0 for segment in segments]
    return sum(count * share for count, share in zip(counts, shares, strict=True)) / sum(counts)
