"""Base of the metrics that count shared tokens: those of all rows of a frame are counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.metrics.decorator import AskingMetric, Decorator, made_metric
from evaluator.metrics.description import Description
from evaluator.metrics.language.token_overlap import Compared, Overlap, overlaps
from evaluator.metrics.language.tokens import Tokenisation


@dataclass(frozen=True)
class OverlapMetric(AskingMetric):
    """A metric whose function yields what is to be compared, and gets the overlap; it has an option `tokenisation`."""

    def answers(self, asked: Sequence[Compared]) -> Sequence[Overlap]:
        """Count the tokens."""
        tokenisation: Tokenisation = self.tokenisation  # type: ignore[attr-defined]  # an option of each of them
        return overlaps(asked, tokenisation)


def overlap_metric(about: Description, *, needs: tuple[str, ...], **more: Any) -> Decorator:
    """Make a metric of a function that asks for an overlap; see `OverlapMetric`, and `made_metric` for the rest."""
    return made_metric(OverlapMetric, about, needs=needs, **more)
