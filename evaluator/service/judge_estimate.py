"""Estimate of the calls of judges for a sample of answers, counted from the very prompts; no judge is asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import reduce

from evaluator.judge_binding import Jury, judges_itself, judges_of_all, with_judges
from evaluator.judges.blocking_client import BoundJudge
from evaluator.judges.dry_run import COMPLETION_TOKENS, DryRunClient, seconds_for
from evaluator.metrics import CellFrame, Metric, scores_of
from evaluator.sampling import Sampling, SamplingSettings, flagged
from evaluator.scoring import Work
from evaluator.service.judge_pool import opened_calls
from lake.tables.table import Table


@dataclass(frozen=True)
class Judging:
    """What a metric asks of a judge, about so many answers.

    `prompt_tokens` are an upper bound for most texts. `completion_tokens` are the average of the replies that are kept,
    or 300 a call. `seconds` take a call for 5 and heed the judge's limits and budgets. Requests that were answered
    before cost nothing and count all the same; replies that do not fit and are asked for again do not.
    """

    judge: str
    answers: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    seconds: float


class JudgeEstimate:
    """Counts for the metrics of one deployment, one after the other: what several ask is counted once."""

    def __init__(self, metrics: Sequence[Metric], sampling: SamplingSettings, signals: Table, logs: Table) -> None:
        self._sampling = Sampling(sampling)
        self._signals, self._logs = signals, logs
        self._counted = [_CountedJudge(judge) for judge in judges_of_all(metrics)]

    def of(self, work: Work, number: int) -> Judging:
        """Count on the answers of some work, which stand for so many; judges of an ensemble are added up."""
        may = [i for i, (answer, _) in enumerate(work.pairs) if not judges_itself(work.metric, answer)]
        expected = self._rate(work) * number
        scale = expected / len(work.pairs)
        each = [judge.of(work.metric, work.frame.rows(may), scale, expected) for judge in self._counted]
        return reduce(_together, each)

    def _rate(self, work: Work) -> float:
        some = [answer for answer, _ in work.pairs]
        uses_flags = self._sampling.settings.uses_flags
        suspicious = flagged(some, [], self._signals, self._logs) if uses_flags else set()
        return sum(self._sampling.probability(flagged=answer.event_id in suspicious) for answer in some) / len(some)


class _CountedJudge:
    def __init__(self, judge: BoundJudge) -> None:
        self._name, self._settings = judge.name, judge.settings
        self._client = DryRunClient(judge.client)
        with closing(opened_calls(judge.client.calls)) as calls:
            self._completion = calls.averages(judge.name)[1] or COMPLETION_TOKENS

    def of(self, metric: Metric, frame: CellFrame, scale: float, expected: float) -> Judging:
        before = self._client.counted
        if len(frame):
            scores_of(with_judges(metric, Jury((BoundJudge(self._client, self._name),))), frame)
        asked = self._client.counted - before
        calls, prompt = scale * asked.calls, scale * asked.prompt_tokens
        completion = calls * self._completion
        cost = self._settings.cost(round(prompt), round(completion))
        return Judging(
            judge=self._name,
            answers=round(expected),
            calls=round(calls),
            prompt_tokens=round(prompt),
            completion_tokens=round(completion),
            cost=cost,
            seconds=seconds_for(self._settings, calls, prompt + completion, cost),
        )


def _together(one: Judging, other: Judging) -> Judging:
    return Judging(
        judge=f"{one.judge}+{other.judge}",
        answers=one.answers,
        calls=one.calls + other.calls,
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cost=one.cost + other.cost,
        seconds=one.seconds + other.seconds,
    )
