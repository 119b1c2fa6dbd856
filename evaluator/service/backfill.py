"""Backfill: scores of old answers on request, by metrics that came later or could not run at the time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from typing import TypeVar

from evaluator.answers import (
    BackfillPass,
    DeploymentTables,
    LoggedAnswer,
    Period,
    answers,
    answers_a_day,
    old_answers,
    wait_behind_interceptor,
    with_late_contexts,
)
from evaluator.engines import engine_of
from evaluator.metrics import Metric, is_of_conversations
from evaluator.sampling import ALL, Sampling, SamplingSettings
from evaluator.scoring import ScoreCounts, Scorer, answers_at_once, held_score_ids
from evaluator.service.class_decisions import ClassDecisions
from evaluator.service.judge_pool import JudgePool, question_images
from evaluator.service.passes import Failure
from evaluator.service.pending_scores import pending_probabilities
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import LostRaceError
from lake.queries.child_contexts import ChildContexts
from lake.queries.ground_truth.question_keys import QuestionKeys
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

_ATTEMPTS = 20
T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with how many answers were looked at, and of how many."""


class UnknownDeploymentError(ValueError):
    """The lake holds nothing of this deployment."""


@dataclass
class Backfilled:
    """What a backfill did for one deployment.

    `answers` is how many the period has, `counts` what was written, `held` how many scores were there before, `left`
    how many answers were left to the service, which has yet to read them or lets them wait for their contexts.
    `budget_spent` says that it stopped early for want of money; run again later, it goes on from there.
    """

    deployment: str
    answers: int = 0
    counts: ScoreCounts = field(default_factory=ScoreCounts)
    held: int = 0
    left: int = 0
    budget_spent: bool = False


@dataclass(frozen=True)
class BackfillResult:
    """What became of each deployment, and those whose backfill failed; run it again for these."""

    deployments: tuple[Backfilled, ...]
    failures: tuple[Failure, ...]


class Backfill:
    """Scores the answers of a period by each metric that has not scored them yet.

    `metrics` are names, by default those that the service scores of each deployment; `deployments` are all by default.
    A score is written once, also where this is run again, cut off, or run beside the service, whose place in the logs
    it does not move. Cases of ground truth are those of now, and compared with as the service does.

    Judges are asked about the sample that is configured, and where a budget is spent, a deployment's part stops there.
    Where metrics ask judges, it must be closed.

    Raises UnknownDeploymentError for a deployment that the lake does not hold, UnknownMetricError and ValueError for
    metrics that cannot be used, and JudgeCallsError where the calls of judges cannot be kept.
    """

    def __init__(
        self,
        lake: Lake,
        settings: EvaluatorSettings,
        period: Period,
        metrics: Sequence[str] | None = None,
        deployments: Sequence[str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._lake = lake
        self._settings = settings
        self._metrics = None if metrics is None else _of_answers(settings.metrics_named(metrics))
        self._engine = engine_of(settings.engine, settings.workers, settings.ray)
        self._classes = ClassDecisions(lake, settings)
        self._classes.look()
        self._scorer = Scorer(QuestionKeys(lake), self._engine, self._classes.retrieves, question_images(settings))
        self._clock = clock
        self._judges = JudgePool(settings, lake)
        self.period = period
        self.deployments = _known(lake, deployments)
        for deployment in self.deployments:
            self._metrics_of(deployment)

    def close(self) -> None:
        """End the part of the judges and of the engine."""
        self._judges.close()
        self._engine.close()

    @property
    def anchors_a_day(self) -> float:
        """How many anchors of a deployment and metric the service scores in a day."""
        return self._settings.anchors.scored_a_day

    @property
    def why(self) -> dict[str, str]:
        """Why the metrics of each deployment are what they are, where nobody named them here and its class is known."""
        if self._metrics is not None:
            return {}
        return {name: why for name in self.deployments if (why := self._classes.why(name)) is not None}

    def tasks(self) -> Iterator[DeploymentBackfill]:
        """Yield what there is to do, deployment by deployment; nothing is written yet."""
        children = ChildContexts(self._lake, wait_behind_interceptor(self._settings.context_grace), self._clock)
        matching = self._settings.ground_truth.matching(self._settings.models)
        for deployment in self.deployments:
            tables = DeploymentTables.of(self._lake, deployment, children, matching=matching)
            metrics, grace = self._metrics_of(deployment), self._settings.context_grace
            sampling = self._settings.sampling_of(deployment)
            yield DeploymentBackfill(tables, metrics, self.period, self._scorer, grace, self._clock, sampling)

    def run(self, on_progress: Progress | None = None) -> BackfillResult:
        """Score the answers, day by day from the latest on; a deployment that fails does not stop the others."""
        results: list[Backfilled] = []
        failures: list[Failure] = []
        tasks = [task for task in self.tasks() if self._try(task, task.count, failures) is not None]
        total, begun = sum(sum(task.days.values()) for task in tasks), 0
        for task in tasks:
            report = _from(begun, lambda seen: on_progress(seen, total) if on_progress else None)
            done = self._try(task, partial(task.run, report), failures)
            results += [] if done is None else [done]
            begun += sum(task.days.values())
        return BackfillResult(tuple(results), tuple(failures))

    def _metrics_of(self, deployment: str) -> list[Metric]:
        classes, settings, named = self._classes, self._settings, self._metrics
        chosen = classes.kept_metrics(deployment) if named is None else settings.with_topics(named, deployment)
        return self._judges.bound([one for one in chosen if not is_of_conversations(one)], deployment)

    def _try(self, task: DeploymentBackfill, step: Callable[[], T], failures: list[Failure]) -> T | None:
        try:
            return step()
        except Exception as error:  # what is wrong with one deployment's tables is not wrong with the others'
            failures.append(Failure(task.deployment, f"{type(error).__name__}: {error}"))
            log_failure(logger, error, "the backfill of deployment %r was cut off; run it again", task.deployment)
            return None


class DeploymentBackfill:
    """A backfill's part of one deployment."""

    def __init__(
        self,
        tables: DeploymentTables,
        metrics: Sequence[Metric],
        period: Period,
        scorer: Scorer,
        context_grace: float,
        clock: Callable[[], datetime],
        sampling: SamplingSettings = ALL,
    ) -> None:
        self.deployment = tables.deployment
        self.tables = tables
        self.metrics = metrics
        self.period = period
        self.days: dict[date, int] = {}
        self.sampling = sampling
        self._scorer = scorer
        self._context_grace = context_grace
        self._clock = clock

    def count(self) -> int:
        """Count the answers of the period, day by day, which comes before all else."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                self.days = answers_a_day(self.tables, self.period)
            except FileNotFoundError:  # replaced since it was looked at
                if not left:
                    raise
            else:
                break
        return sum(self.days.values())

    def run(self, on_progress: Callable[[int], None]) -> Backfilled:
        """Score what lacks a score; raises LostRaceError where others change the tables all the time."""
        done, begun = Backfilled(self.deployment, sum(self.days.values())), 0
        for day, number in self.days.items():
            self._run_day(day, done, _from(begun, on_progress))
            begun += number
            if done.counts.is_budget_spent:
                done.budget_spent = True
                break
        return done

    def _run_day(self, day: date, done: Backfilled, on_progress: Callable[[int], None]) -> None:
        written, attempts, before = ScoreCounts(), 0, 0
        while attempts < _ATTEMPTS:
            try:
                held, left = self._try_day(day, written, on_progress)
            except (LostRaceError, FileNotFoundError) as error:
                logger.info("the answers of %r of %s are looked at again: %s", self.deployment, day, error)
                # Those that a metric left out are then counted anew.
                written.left_out.clear()
                written.not_sampled = 0
                attempts = attempts + 1 if written.total == before else 0
                before = written.total
                continue
            done.counts.add(written)
            done.held += held
            done.left += left
            return
        raise LostRaceError(
            f"{self.tables.scores.uri} was changed by others {_ATTEMPTS} times before a batch of {day} was written; "
            "run the backfill again when no erasure and no other backfill is at work"
        )

    def _try_day(self, day: date, written: ScoreCounts, on_progress: Callable[[int], None]) -> tuple[int, int]:
        """Score a day's answers, a commit a batch; return how many scores were there before, and answers were left."""
        now = self._clock()
        # First of all: who erases what is read below moves what this looks at.
        begun = self.begin()
        held = self.held_on(day)
        cases = self.tables.cases()
        seen, left = 0, 0
        were_held = max(0, len(held) - written.total)
        known = pending_probabilities(self.tables.scores, self.metrics, self.period.requests(day))
        sampling = Sampling(self.sampling, known=known)

        def batches() -> Iterator[Sequence[LoggedAnswer]]:
            nonlocal seen, left
            for batch in old_answers(self.tables, self.period, day, begun):
                for found in answers(batch.rows, answers_at_once(self.metrics)):
                    yield with_late_contexts(self.tables, found)
                left += batch.left
                seen += batch.rows.num_rows + batch.left
                on_progress(seen)

        scored = self._scorer.scored(
            self.tables, batches(), self.metrics, cases, now, held=held, is_backfill=True, sampling=sampling
        )
        with closing(scored):
            for rows, counts in scored:
                if rows.num_rows:
                    begun.transaction.append(rows)
                written.add(counts)
                if counts.is_budget_spent:
                    break
        return were_held, left

    def begin(self) -> BackfillPass:
        """Begin a pass over the positions of now; the model calls that were read before are forgotten."""
        self.tables.children.forget()
        return BackfillPass.of(self.tables, self._clock(), self._context_grace)

    def held_on(self, day: date) -> frozenset[str]:
        """Read which scores a day's answers have; some 150 bytes each."""
        return held_score_ids(self.tables.scores, self.metrics, self.period.requests(day))


def _from(begun: int, on_progress: Callable[[int], None]) -> Callable[[int], None]:
    return lambda seen: on_progress(begun + seen)


def _known(lake: Lake, asked: Sequence[str] | None) -> list[str]:
    there = [name for name in lake.deployments() if name is not None]
    for name in asked or ():
        if name not in there:
            raise UnknownDeploymentError(
                f"the lake has no deployment {name!r}; `dialwatch lake ls --lake {lake.root}` lists those that it has"
            )
    return there if asked is None else list(dict.fromkeys(asked))


def _of_answers(named: Sequence[Metric]) -> Sequence[Metric]:
    """Return the metrics as they are; raises ValueError for one that no backfill can score."""
    for metric in filter(is_of_conversations, named):
        raise ValueError(
            f"metric {metric.name!r} scores conversations as they close, and no old ones; leave it out of --metrics"
        )
    return named
