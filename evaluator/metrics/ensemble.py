"""Ensemble: one metric asked of several judges, whose scores become one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Literal, Self

from evaluator.judges.exchange import TRANSIENT, Spend
from evaluator.metrics.description import Description
from evaluator.metrics.llm.llm_metric import LlmMetric
from evaluator.metrics.llm.verdicts import aspect_critique
from evaluator.metrics.scores import Score, ScoredBy, Scores

if TYPE_CHECKING:
    import pandas as pd

Combine = Literal["mean", "median", "majority"]


def _of_those_there(combine: Callable[[Sequence[float]], float], values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return combine(there) if 2 * len(there) > len(values) else None


def _majority(values: Sequence[float | None]) -> float | None:
    return aspect_critique([None if value is None else value >= 0.5 for value in values]).value


_COMBINED: Mapping[Combine, Callable[[Sequence[float | None]], float | None]] = {
    "mean": partial(_of_those_there, fmean),
    "median": partial(_of_those_there, median),
    "majority": _majority,
}


@dataclass(frozen=True)
class Ensemble:
    """One metric asked of several judges.

    Its value is the mean or the median of theirs, or 1 where more than half of them give 0.5 or more and 0 where more
    than half give less (`majority`, of an odd number). Judges that give no answer are left out of mean and median as
    long as more than half of them gave one and none of them may answer later, so that an outage of the strictest moves
    no mean; and of a majority as long as they could not change it. Else the row is null with the reason of the first
    that did not: of one that may answer later, where that could give a value. The details have each judge's value and
    details, and `disagreement`: the mean distance of two judges' values, 0 where all agree.

    Raises ValueError for members that are not one metric, for one member, and for an even number in a majority.
    """

    members: tuple[LlmMetric[Any], ...]
    combine: Combine = "median"

    judge = ScoredBy.LLM

    def __post_init__(self) -> None:
        names = {member.name for member in self.members}
        judges = [member.judge_name for member in self.members]
        if len(names) != 1 or len(self.members) < 2 or len(set(judges)) != len(judges):
            raise ValueError(f"an ensemble asks one metric of several judges, not {sorted(names)} of {judges}")
        if self.combine == "majority" and len(self.members) % 2 == 0:
            raise ValueError(f"a majority takes an odd number of judges, not the {len(judges)} of {judges}")

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.members[0].name

    @property
    def version(self) -> str:
        """Changes with any judge, and with how they are combined."""
        parts = json.dumps([self.combine, *(member.version for member in self.members)])
        return f"{self.combine}-{hashlib.sha256(parts.encode()).hexdigest()[:8]}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The metric's columns."""
        return self.members[0].needs

    @property
    def about(self) -> Description:
        """What the metric's documentation says."""
        return self.members[0].about

    def fresh(self, draw: int) -> Self:
        """Return the same ensemble, whose judges are asked anew for each draw."""
        return type(self)(tuple(member.fresh(draw) for member in self.members), self.combine)

    def score(self, frame: pd.DataFrame) -> Scores:
        """Score every row by every judge; all judges are asked at the same time, each within its own limits."""
        with ThreadPoolExecutor(len(self.members), thread_name_prefix="ensemble") as threads:
            each = list(threads.map(lambda member: _rows(member.score(frame)), self.members))
        return Scores.of([self._of_row(row) for row in zip(*each, strict=True)], frame.index)

    def _of_row(self, scores: Sequence[Score]) -> Score:
        spend = sum((score.spend for score in scores), Spend())
        named = [(str(member.judge_name), score) for member, score in zip(self.members, scores, strict=True)]
        values = [score.value for score in scores if score.value is not None]
        details: dict[str, Any] = {
            "judges": {name: _member_details(score) for name, score in named if _member_details(score)}
        }
        if len(values) > 1:
            details["disagreement"] = fmean(abs(one - other) for one, other in combinations(values, 2))
        value = _COMBINED[self.combine]([score.value for score in scores])
        may_come = self.combine != "majority" and any(score.reason in TRANSIENT for score in scores)
        if value is None or may_come:
            return Score(None, _reason(scores), details if spend.calls or values else {}, spend)
        return Score(value, None, details, spend)


def _rows(scores: Scores) -> Sequence[Score]:
    columns = zip(scores.values, scores.reasons, scores.details, scores.spends, strict=True)
    return [Score(None if value != value else value, *rest) for value, *rest in columns]


def _reason(scores: Sequence[Score]) -> str | None:
    missing = [score.reason for score in scores if score.value is None]
    later = [reason for reason in missing if reason in TRANSIENT]
    never = len(missing) - len(later)
    return later[0] if later and 2 * never < len(scores) else missing[0]


def _member_details(score: Score) -> dict[str, Any]:
    value = {"value": score.value} if score.value is not None else {"reason": score.reason}
    return value | dict(score.details)
