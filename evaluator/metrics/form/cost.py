"""Cost: what did the answer cost, by DIAL's price table?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from evaluator.metrics.cells import amount
from evaluator.metrics.description import Description, OddCases
from evaluator.metrics.metric import Metric, Score, ScoredBy, Scores, score_rows
from evaluator.metrics.options import option
from lake.spec.vocabulary import UnscoredReason

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Cost:
    """Price of the answer in the currency of DIAL's price table, 0 or more, lower is better.

    `price` is that of the call and all that it called, which is what an answer costs. `deployment_price` is that of
    the call alone: DIAL gives it for models only.
    """

    column: Literal["price", "deployment_price"] = field(
        default="price", metadata=option("`price`: the call and all that it called; `deployment_price`: it alone")
    )

    name = "cost"
    judge = ScoredBy.LEXICAL
    about = Description(
        asks="What did the answer cost?",
        formula="price of the call and all that it called",
        source="dialwatch; DIAL Core computes it from its price table",
        odd_cases=OddCases(),
        high=math.inf,
        direction="down",
    )

    @property
    def needs(self) -> tuple[str, ...]:
        """The column with the price."""
        return (self.column,)

    @property
    def version(self) -> str:
        """Version of the arithmetic; the two prices are not comparable."""
        return "1" if self.column == "price" else f"1-{self.column}"

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row of the price; a missing one is null with `no_price`."""
        return score_rows(self, frame, self._score_row)

    def _score_row(self, cell: object) -> Score:
        price = amount(cell, self.column)
        return Score(None, UnscoredReason.NO_PRICE) if price is None else Score(price)


METRICS: tuple[Metric, ...] = (Cost(),)
