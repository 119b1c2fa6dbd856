"""Estimate of a backfill: what it would do and how long it would take; nothing is written."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from evaluator.answers import ANSWER_COLUMNS, BackfillPass, LoggedAnswer, answers, old_answers, with_late_contexts
from evaluator.judge_binding import asks_judge
from evaluator.metrics import CellFrame, Metric, ModelUnavailableError, problem_of, scores_of
from evaluator.scoring import references, work_on
from evaluator.service.backfill import Backfill, DeploymentBackfill
from evaluator.service.judge_estimate import JudgeEstimate, Judging
from lake.queries.ground_truth.cases import CaseBook
from lake.spec.schemas import PARSED_LOGS

_SAMPLE_ANSWERS = 200
_SAMPLE_SECONDS = 2.0
_SAMPLE_ROWS = 5_000
_LONG = ("answer", "contexts")
_WITHOUT_TEXTS = tuple(name for name in ANSWER_COLUMNS if name not in _LONG)

Timer = Callable[[], float]


@dataclass(frozen=True)
class MetricEstimate:
    """How many answers a metric would be applied to, and in about how many seconds.

    Where it cannot run, `seconds` is None and `problem` says why. `judging` is what it asks of a judge.
    """

    deployment: str
    metric: str
    answers: int
    seconds: float | None
    problem: str | None = None
    judging: Judging | None = None


@dataclass(frozen=True)
class BackfillEstimate:
    """What a backfill of one deployment would do.

    `answers` is how many the period has, `left` how many of them are left to the service, `reading_seconds` about how
    long it takes to read all of them. `anchor_calls` and `anchor_cost` are what the service asks judges a day about
    anchors, at most, whether there is a backfill or not.
    """

    deployment: str
    answers: int
    left: int
    metrics: tuple[MetricEstimate, ...]
    reading_seconds: float
    anchor_calls: float = 0.0
    anchor_cost: float = 0.0

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return self.reading_seconds + sum(metric.seconds or 0.0 for metric in self.metrics)


def estimate(backfill: Backfill, timer: Timer = time.perf_counter) -> list[BackfillEstimate]:
    """Count what a backfill would score and time each metric on some of these very answers; write nothing.

    A metric is timed on at most 200 answers and, after the first one, some seconds. Loading its model is not counted.
    No judge is asked: see `judge_estimate`.
    """
    return [_of_deployment(task, timer, backfill.anchors_a_day) for task in backfill.tasks()]


@dataclass
class _Sample:
    """Answers of one day that a metric would score."""

    day: date
    event_ids: frozenset[str]


def _of_deployment(task: DeploymentBackfill, timer: Timer, anchors: float) -> BackfillEstimate:
    number, left = task.count(), 0
    begun = task.begin()
    cases = task.tables.cases()
    counted: Counter[str] = Counter()
    samples: dict[str, _Sample] = {}
    for day in task.days:
        held = task.held_on(day)
        for batch in old_answers(task.tables, task.period, day, begun, _WITHOUT_TEXTS):
            left += batch.left
            for some in answers(_with_null_texts(batch.rows)):
                for work in work_on(some, task.metrics, references(some, task.metrics, cases), held):
                    ids = [answer.event_id for answer, _ in work.pairs[:_SAMPLE_ANSWERS]]
                    samples.setdefault(work.metric.name, _Sample(day, frozenset(ids)))
                    counted[work.metric.name] += len(work.pairs)
    timed = _Timing(task, begun, cases, timer)
    asking = JudgeEstimate(task.metrics, task.sampling, task.tables.signals, task.tables.logs)
    metrics = [
        timed.metric(metric, counted[metric.name], samples[metric.name], asking)
        if counted[metric.name]
        else MetricEstimate(task.deployment, metric.name, 0, 0.0)
        for metric in task.metrics
    ]
    reading = timed.seconds_to_read(number) if counted else 0.0
    judged = [one.judging for one in metrics if one.judging and one.judging.answers]
    calls = sum(anchors * one.calls / one.answers for one in judged)
    cost = sum(anchors * one.cost / one.answers for one in judged)
    return BackfillEstimate(task.deployment, number, left, tuple(metrics), reading, calls, cost)


def _with_null_texts(rows: pa.Table) -> pa.Table:
    for name in _LONG:
        column = PARSED_LOGS.schema.field(name)
        rows = rows.append_column(column, pa.nulls(rows.num_rows, column.type))
    return rows


class _Timing:
    """Reads samples and times what is done with them."""

    def __init__(self, task: DeploymentBackfill, begun: BackfillPass, cases: CaseBook, timer: Timer) -> None:
        self._task = task
        self._begun = begun
        self._cases = cases
        self._timer = timer
        self._read: dict[tuple[date, frozenset[str]], list[LoggedAnswer]] = {}
        self._rows, self._seconds = 0, 0.0

    def seconds_to_read(self, number: int) -> float:
        """Return about how long it takes to read so many answers, by those that were read."""
        return self._seconds / max(self._rows, 1) * number

    def metric(self, metric: Metric, number: int, sample: _Sample, asking: JudgeEstimate) -> MetricEstimate:
        """Time a metric on a sample of the answers, so many in all, that it is to score; count what asks a judge."""
        deployment = self._task.deployment
        if problem := problem_of(metric):
            return MetricEstimate(deployment, metric.name, number, None, problem)
        try:
            some = self._answers(sample)
            for work in work_on(some, [metric], references(some, [metric], self._cases)):
                if asks_judge(metric):
                    judging = asking.of(work, number)
                    return MetricEstimate(deployment, metric.name, judging.answers, judging.seconds, judging=judging)
                seconds = self._seconds_each(metric, work.frame) * number
                return MetricEstimate(deployment, metric.name, number, seconds)
        except ModelUnavailableError as error:
            return MetricEstimate(deployment, metric.name, number, None, str(error))
        except Exception as error:  # not its message: it may quote what people wrote
            return MetricEstimate(deployment, metric.name, number, None, f"it fails with {type(error).__name__}")
        return MetricEstimate(deployment, metric.name, number, None, "the answers are gone")

    def _answers(self, sample: _Sample) -> list[LoggedAnswer]:
        key = sample.day, sample.event_ids
        if key not in self._read:
            begun = self._timer()
            self._read[key] = self._look_up(sample)
            self._seconds += self._timer() - begun
        return self._read[key]

    def _look_up(self, sample: _Sample) -> list[LoggedAnswer]:
        found: list[LoggedAnswer] = []
        # They are among the first of their day; some more are read so that opening files counts for no more than it is.
        for batch in old_answers(self._task.tables, self._task.period, sample.day, self._begun):
            self._rows += batch.rows.num_rows
            for some in answers(batch.rows):
                wanted = [answer for answer in some if answer.event_id in sample.event_ids]
                found += with_late_contexts(self._task.tables, wanted)
            if len(found) >= len(sample.event_ids) and self._rows >= _SAMPLE_ROWS:
                break
        return found

    def _seconds_each(self, metric: Metric, frame: CellFrame) -> float:
        # The first call may load a model.
        scores_of(metric, frame.rows(range(1)))
        begun, rows, size = self._timer(), 0, 1
        while rows < len(frame) and self._timer() - begun < _SAMPLE_SECONDS:
            end = min(rows + size, len(frame))
            scores_of(metric, frame.rows(range(rows, end)))
            rows, size = end, 4 * size
        return (self._timer() - begun) / rows
