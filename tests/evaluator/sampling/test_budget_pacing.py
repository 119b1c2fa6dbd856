"""Samples that a budget makes smaller: what the weighted mean makes of them."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from evaluator.judges.settings import JudgeSettings
from evaluator.sampling import BudgetPacing, allowance, is_sampled
from evaluator.sampling.budget_pacing import LEAST_SHARE

MIDNIGHT = datetime(2026, 11, 20, tzinfo=UTC)
COST = 0.01
EVERY = 60.0
ShareOf = Callable[[BudgetPacing, int, float, datetime], float]


def judge(**budgets: float) -> JudgeSettings:
    given = {"base_url": "http://judge", "model": "m", "prompt_price": 1, "completion_price": 10}
    return JudgeSettings.model_validate(given | budgets)


def test_an_allowance_is_the_share_of_what_is_left_that_the_time_has() -> None:
    """Half an hour's answers at half past may take half of what is left, be it of the hour or of the day."""
    half_past = MIDNIGHT + timedelta(minutes=30)
    assert allowance(judge(budget_per_hour=3), (1, 9), half_past, 1800) == 1
    assert allowance(judge(budget_per_day=24), (1, 0), half_past, 1800) == 24 / 48
    assert allowance(judge(budget_per_hour=3, budget_per_day=24), (1, 0), half_past, 1800) == 24 / 48
    assert allowance(judge(budget_per_hour=3), (4, 4), half_past, 60) == 0
    assert allowance(judge(), (1, 1), half_past, 60) == math.inf


def test_the_share_heeds_what_other_deployments_wanted() -> None:
    """What a whole sample costs is measured; before that it is what an answer is taken to cost."""
    each = 5 * COST
    spread = BudgetPacing(each, EVERY)
    assert spread.share("a", 100, 0.5, money=math.inf, now=MIDNIGHT) == 1
    assert spread.share("a", 100, 0.5, money=25 * each, now=MIDNIGHT) == 0.5
    spread.learn("a", answers=100, expected=50, judged=10, cost=10 * COST)
    assert spread.share("a", 200, 1.0, money=100 * COST, now=MIDNIGHT) == 1
    spread.learn("b", answers=10, expected=10, judged=10, cost=10 * COST)
    assert spread.share("b", 300, 1.0, money=100 * COST, now=MIDNIGHT) == 0.25
    assert spread.share("b", 300, 1.0, money=0, now=MIDNIGHT) == LEAST_SHARE


@pytest.mark.parametrize(("every", "half"), [(60.0, timedelta(hours=1)), (1800.0, timedelta(hours=5))])
def test_a_deployment_that_falls_silent_gives_its_part_back(every: float, half: timedelta) -> None:
    """Half of it an hour, or ten passes, after its last answers; after a day nothing of it is left."""
    spread = BudgetPacing(COST, every)
    spread.share("silent", 100, 1.0, money=100 * COST, now=MIDNIGHT)
    shares = [spread.share("a", 100, 1.0, 100 * COST, now=MIDNIGHT + wait) for wait in (0 * half, half, 24 * half)]
    assert shares == [0.5, pytest.approx(1 / 1.5), pytest.approx(1.0, abs=1e-6)]


@dataclass
class Day:
    """Answers of a day, several a conversation, whose quality falls where there are many of them, and their samples."""

    seed: int
    budget_per_hour: float
    spent: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    values: list[float] = field(default_factory=list)
    weighted: list[tuple[float, float]] = field(default_factory=list)
    refused: int = 0

    def live(self, share_of: ShareOf) -> None:
        chance, spread = random.Random(self.seed), BudgetPacing(2 * COST, EVERY)
        for minute in range(24 * 60):
            now = MIDNIGHT + timedelta(minutes=minute)
            busy = 1 + math.sin(minute / 90)
            answers = list(self._answers(chance, minute, busy))
            spent = self.spent[minute // 60]
            money = allowance(judge(budget_per_hour=self.budget_per_hour), (spent, 0), now, EVERY)
            share = share_of(spread, len(answers), money, now)
            self._judge(spread, answers, share, minute // 60)

    def _answers(self, chance: random.Random, minute: int, busy: float) -> Iterator[tuple[str, float]]:
        for _ in range(int(chance.expovariate(1 / (5 * busy + 0.1)))):
            yield f"{self.seed}-{minute // 10}-{chance.randrange(40)}", float(chance.random() > 0.1 + 0.3 * busy)

    def _judge(self, spread: BudgetPacing, answers: list[tuple[str, float]], share: float, hour: int) -> None:
        before, judged = self.spent[hour], 0
        for conversation, value in answers:
            self.values.append(value)
            if not is_sampled(conversation, share):
                continue
            if self.spent[hour] + COST > self.budget_per_hour:
                self.refused += 1
                continue
            judged += 1
            self.spent[hour] += COST
            self.weighted.append((value, 1 / share))
        spread.learn("a", len(answers), len(answers), judged, self.spent[hour] - before)

    @property
    def error(self) -> float:
        mean = sum(value * weight for value, weight in self.weighted) / sum(weight for _, weight in self.weighted)
        return mean - sum(self.values) / len(self.values)


def errors(share_of: ShareOf, days: int = 20) -> tuple[float, float, list[Day]]:
    """Mean error, its standard error, and the days; the budget pays for a fifth of the answers."""
    lived = [Day(seed, budget_per_hour=60 * 5 * COST / 5) for seed in range(days)]
    for day in lived:
        day.live(share_of)
    found = [day.error for day in lived]
    mean = sum(found) / days
    deviation = math.sqrt(sum((one - mean) ** 2 for one in found) / (days - 1))
    return mean, deviation / math.sqrt(days), lived


def test_a_budget_for_a_fifth_leaves_the_weighted_mean_without_bias() -> None:
    """Where quality falls with traffic: the error of 20 days is noise, hardly a call is refused, the budget is used."""
    mean, noise, days = errors(lambda spread, answers, money, now: spread.share("a", answers, 1.0, money, now))
    assert abs(mean) < 3 * noise
    assert noise < 0.01
    assert sum(day.refused for day in days) < 0.01 * sum(len(day.weighted) for day in days)


def test_a_budget_that_is_spent_as_answers_come_does_not() -> None:
    """The same days, first come first judged: the busy ends of hours are missing, and the mean is too high."""
    mean, noise, _ = errors(lambda spread, answers, money, now: 1.0, days=10)
    assert mean > 10 * noise
