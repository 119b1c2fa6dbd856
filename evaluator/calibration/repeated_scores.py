"""Scores of labelled rows by a judge that is asked several times, and with the contexts in another order."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evaluator.calibration.labelled import Floats
from evaluator.judge_binding import judge_named
from evaluator.metrics.combination import Combination
from evaluator.metrics.ensemble import Ensemble
from evaluator.metrics.llm.llm_metric import LlmMetric
from evaluator.metrics.scores import Scores

_CONTEXTS = "contexts"


@dataclass(frozen=True)
class AskedJudge:
    """What was asked of whom: the metric with its version, the judge by its name, about how many answers, the price.

    `calls` are None where they were not counted, `cost`, in the currency of the judge's prices, where nobody noted it.
    """

    metric: str
    version: str
    judge: str
    answers: int
    times: int = 1
    calls: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class RepeatedScores:
    """Scores of rows, NaN where there is none: `draws` (rows, draws) of one prompt, `reordered` with other orders.

    `reordered` is None where the metric reads no contexts. `unscored` counts, by reason, the rows that the first draw
    gave no score. `cost` is in the currency of the judge's prices, and `judge` who was asked.
    """

    draws: Floats
    reordered: Floats | None
    unscored: Counter[str]
    calls: int
    cost: float
    judge: AskedJudge

    @property
    def scores(self) -> Floats:
        """The first draw."""
        first: Floats = self.draws[:, 0]
        return first


def ask(metric: LlmMetric[Any] | Ensemble | Combination, frame: pd.DataFrame, draws: int) -> RepeatedScores:
    """Ask about each row `draws` times, one at least, and, from two on, once more with the contexts in another order.

    The order is a shuffle that is the same whenever it is made. Raises MissingColumnError where the frame lacks a
    column of the metric's, and JudgeUnavailableError where the metric has no judge.
    """
    rounds = [metric.fresh(draw).score(frame) for draw in range(max(1, draws))]
    reordered = metric.score(_reordered(frame)) if draws > 1 and _CONTEXTS in metric.needs else None
    spends = [spend for one in (*rounds, reordered) if one is not None for spend in one.spends]
    calls, cost = sum(spend.calls for spend in spends), sum(spend.cost for spend in spends)
    times = len(rounds) + (reordered is not None)
    return RepeatedScores(
        draws=np.column_stack([_values(one) for one in rounds]),
        reordered=None if reordered is None else _values(reordered),
        unscored=Counter(rounds[0].reasons[rounds[0].values.isna()]),
        calls=calls,
        cost=cost,
        judge=AskedJudge(metric.name, metric.version, judge_named(metric), len(frame), times, calls, cost),
    )


def _values(scores: Scores) -> Floats:
    return scores.values.to_numpy(dtype=np.float64)


def _reordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{_CONTEXTS: pd.Series(list(map(_shuffled, frame[_CONTEXTS])), frame.index, dtype=object)})


def _shuffled(contexts: object) -> object:
    if not isinstance(contexts, list | tuple | np.ndarray):
        return contexts
    order = list(contexts)
    random.Random(len(order)).shuffle(order)  # noqa: S311 - an order, no secret
    return order
