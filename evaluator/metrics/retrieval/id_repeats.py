"""Repeated ids: how much of what was retrieved came back more than once?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluator.metrics.cells import ids
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class IdRepeats:
    """Share of the ranks whose id stands higher up already, from 0 to 1, lower is better.

    Precision counts repeats of a gold id as right, so this stands beside it. A context without an id is no repeat.
    Nothing retrieved is null with `no_contexts`: it is neither free of repeats nor full of them.
    """

    name = "id_repeats"
    version = "1"
    needs = ("context_ids",)
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="Which share of what was retrieved is a repeat?",
        formula="|ranks whose id stands higher up| / n",
        source="dialwatch",
        odd_cases=OddCases(no_contexts="null with `no_contexts`", duplicate_contexts="what it counts"),
        direction="down",
    )

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of `context_ids`."""
        return score_rows(self, frame, _score_row)


def _score_row(cell: object) -> Score:
    retrieved = ids(cell, "context_ids")
    if not retrieved:
        return Score(None, UnscoredReason.NO_CONTEXTS)
    named = [identifier for identifier in retrieved if identifier]
    return Score((len(named) - len(set(named))) / len(retrieved))


METRICS: tuple[Metric, ...] = (IdRepeats(),)
