"""Latency: how many seconds did the answer take, as the log measured them?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import amount
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Latency:
    """Seconds from the request to the last byte of its answer, 0 or more, lower is better."""

    name = "latency"
    version = "1"
    needs = ("duration_ms",)
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="How many seconds did the answer take?",
        formula="duration_ms / 1000",
        source="dialwatch; DIAL Core measures it from the request's start to the last byte",
        odd_cases=OddCases(),
        high=math.inf,
        direction="down",
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `duration_ms`; a missing one is null with `no_duration`."""
        return score_rows(self, frame, _seconds)


def _seconds(cell: object) -> Score:
    milliseconds = amount(cell, "duration_ms")
    return Score(None, UnscoredReason.NO_DURATION) if milliseconds is None else Score(milliseconds / 1000)


METRICS: tuple[Metric, ...] = (Latency(),)
