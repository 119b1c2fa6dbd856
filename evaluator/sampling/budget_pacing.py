"""Budget pacing: the share of a sample that a judge's budget allows, known before an answer is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from evaluator.judges.settings import JudgeSettings

LEAST_SHARE = 0.01
"""Below it hardly anything would stand for all; what the budget then refuses is asked again later."""

_HOUR, _DAY = 3600.0, 86400.0
_DECAY = 0.9
"""What was learned counts for so much less after each further pass with answers."""
_HALF_LIFE_PASSES = 10

PROMPT_TOKENS = 2_000
"""A call's, as long as nothing was measured."""


def allowance(judge: JudgeSettings, spent: tuple[float, float], now: datetime, seconds: float) -> float:
    """Money that answers of a time of so many seconds may take, so that something is left for the rest of a period.

    Of what is left of the hour's budget (UTC) the share seconds / (seconds + what is left of the hour), of the day's in
    the same way, and the smaller of both. `spent` are the sums of this hour and this day. Infinite without a budget.
    """
    passed = now.timestamp()
    periods = zip((judge.budget_per_hour, judge.budget_per_day), spent, (_HOUR, _DAY), strict=True)
    shares = (
        max(budget - already, 0.0) * seconds / (seconds + period - passed % period)
        for budget, already, period in periods
        if budget is not None
    )
    return min(shares, default=float("inf"))


@dataclass
class _Demand:
    """What the latest passes over a deployment came to; `wanted` is the money that the last one would have taken.

    That was at `asked`, in seconds since 1970.
    """

    answers: float = 0.0
    expected: float = 0.0
    judged: float = 0.0
    cost: float = 0.0
    wanted: float = 0.0
    asked: float = 0.0


class BudgetPacing:
    """Paces one judge's budgets over the answers that come, deployment by deployment.

    The share of a sample that is asked about is the allowance, over what the whole sample would cost together with
    what other deployments wanted in their last pass with answers; at least 1 % and at most all. What one wanted halves
    with each hour since, or with each ten passes if those take longer: it may have fallen silent. The cost of an
    answer, and how likely one is to be in the whole sample, are means of the latest passes. So it depends on the number
    of answers and their times alone, not on what they say: weights of 1 / probability make up for it.
    """

    def __init__(self, cost_each: float, every: float) -> None:
        """`cost_each` is what an answer is taken to cost until that was measured; passes begin each `every` seconds."""
        self._first_cost = cost_each
        self._half_life = max(_HOUR, _HALF_LIFE_PASSES * every)
        self._demand: dict[str, _Demand] = {}

    def share(self, deployment: str, answers: int, rate: float, money: float, now: datetime) -> float:
        """Return the share of the sample of so many answers; `rate` is how likely one is in it, until that is known."""
        mine = self._demand.setdefault(deployment, _Demand())
        rate = mine.expected / mine.answers if mine.answers else rate
        mine.wanted, mine.asked = answers * rate * self._cost_each(mine), now.timestamp()
        # A clock that was set back makes nothing larger.
        ages = ((one.wanted, max(0.0, mine.asked - one.asked)) for one in self._demand.values())
        wanted = sum(part * 0.5 ** (age / self._half_life) for part, age in ages)
        return 1.0 if wanted <= money else max(LEAST_SHARE, money / wanted)

    def learn(self, deployment: str, answers: int, expected: float, judged: int, cost: float) -> None:
        """Take in a pass: so many answers, of which `expected` make the whole sample, and `judged` did cost `cost`."""
        mine = self._demand.setdefault(deployment, _Demand())
        for name, number in (("answers", answers), ("expected", expected), ("judged", judged), ("cost", cost)):
            setattr(mine, name, _DECAY * getattr(mine, name) + number)

    def _cost_each(self, mine: _Demand) -> float:
        if not mine.judged or not mine.cost:
            return self._first_cost
        return mine.cost / mine.judged
