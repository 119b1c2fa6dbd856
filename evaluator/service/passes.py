"""Pass of the evaluator: for each deployment the cases of ground truth first, then the scores of new answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from evaluator.anchors import Rescoring
from evaluator.answers import DeploymentTables, wait_behind_interceptor
from evaluator.engines import engine_of
from evaluator.ground_truth import NewFacts, propose_cases, renew_old_cases
from evaluator.metrics import Metric, is_of_conversations
from evaluator.sampling import Sampling
from evaluator.scoring import ScoreCounts, Scorer
from evaluator.service.class_decisions import ClassDecisions
from evaluator.service.conversation_scores import ConversationScores
from evaluator.service.group import Alone, Group
from evaluator.service.judge_pool import JudgePool, question_images
from evaluator.service.new_scores import score_new_answers
from evaluator.service.outside_scores import OutsideScores
from evaluator.service.pending_scores import JudgeRetries
from evaluator.service.signal_shares import SignalShares
from evaluator.settings import EvaluatorSettings
from lake.delta_log.change import LostRaceError
from lake.queries.child_contexts import ChildContexts
from lake.queries.ground_truth.question_keys import QuestionKeys
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake
from lake.tables.open_tables import OpenTables
from lake.tables.pass_transaction import UncommittedPositions
from runtime.clocks import ClockSteps

logger = logging.getLogger(__name__)

_NOT_EVALUATED = (
    "deployment %r was not evaluated and will be tried again in the next pass; if this stays, look at the table that "
    "the error names"
)


@dataclass(frozen=True)
class Failure:
    """A deployment whose part of the pass failed, and why. The next pass takes it up again."""

    deployment: str
    error: str


@dataclass
class PassResult(ScoreCounts):
    """What one pass did.

    `deployments` counts those that went well, `cases` the new cases of ground truth, `outside` the scores that other
    programs sent or caused. What a metric left out because it could not run, a backfill scores once it can.
    """

    deployments: int = 0
    cases: int = 0
    outside: int = 0
    failures: tuple[Failure, ...] = ()


_Step = Callable[[DeploymentTables, Sequence[Metric], PassResult, Callable[[], bool]], None]


class Evaluator:
    """Scores the answers of every deployment in the lake, each at most once per metric version.

    Where metrics ask judges, it must be closed. Raises JudgeCallsError where their calls cannot be kept.
    """

    def __init__(
        self,
        lake: Lake,
        settings: EvaluatorSettings,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] | None = None,
        group: Group | None = None,
    ) -> None:
        """Without `monotonic`, the seconds of a clock that is never set, `clock` is taken for such a one.

        `group` says which deployments are this evaluator's, where several share a lake.
        """
        self._lake = lake
        self._settings = settings
        self._engine = engine_of(settings.engine, settings.workers, settings.ray)
        self._open = OpenTables(lake)
        self._classes = ClassDecisions(self._open, settings)
        self._scorer = Scorer(QuestionKeys(lake), self._engine, self._classes.retrieves, question_images(settings))
        self._group = group or Alone()
        self._judges = JudgePool(settings, lake, self._group)
        self._retries = JudgeRetries(self._scorer)
        self._conversations = ConversationScores(settings.conversations.idle, self._scorer)
        self._rescoring = Rescoring(settings.anchors, self._scorer)
        self._outside = OutsideScores(settings.is_metric)
        self._shares = SignalShares(settings.signal_shares)
        self._warned_missing: set[str] = set()
        self._new_facts = NewFacts()
        self._renewed: dict[str, int | None] = {}
        """By deployment the version of its ground truth in which the cases of the first version are renewed."""
        self._tables: dict[str, DeploymentTables] = {}
        self._children = ChildContexts(self._open, wait_behind_interceptor(settings.context_grace), clock)
        self._matching = settings.ground_truth.matching(settings.models)
        self._similar = settings.ground_truth.similar_sentences(settings.models)
        self._uncommitted = UncommittedPositions()
        self._clock = clock
        self._steps = ClockSteps(clock, monotonic or (lambda: clock().timestamp()))
        for deployment in (None, *settings.deployments):
            self._judges.bound(settings.chosen_metrics(deployment or ""), deployment)

    def close(self) -> None:
        """Let the judges' calls under way end, for some seconds; a pass that is running then ends soon."""
        self._judges.close()
        self._engine.close()

    def run_once(self, is_stopping: Callable[[], bool] = lambda: False) -> PassResult:
        """Score what is new, deployment by deployment, then conversations, pending scores and anchors.

        A deployment that fails stops no other, and one that another evaluator has just done is left to it. Ends early
        once `is_stopping` says so; the next pass does the rest. Raises only where the lake's deployments cannot be
        listed.
        """
        with self._lake.noting_together():
            return self._run_once(is_stopping)

    def _run_once(self, is_stopping: Callable[[], bool]) -> PassResult:
        result = PassResult()
        self._open.look()
        self._classes.look()
        self._children.forget()
        self._retries.clock_was_set(self._steps.since_last())
        self._judges.prune(self._clock())
        # Calls that name no deployment are calls of global routes: nobody's answers.
        deployments = [name for name in self._open.deployments() if name is not None]
        self._warn_missing(deployments)
        self._look_ahead(deployments)
        reached = [name for name in deployments if self._take(self._score_new, name, result, is_stopping)]
        # No deployment's new answers wait for the conversations, retries and anchors of another.
        later = self._score_conversations, self._retry_and_rescore
        for name in reached:
            # Each is tried, whatever became of the one before.
            went_well = [is_stopping() or self._take(step, name, result, is_stopping) for step in later]
            result.deployments += all(went_well)
        return result

    def _look_ahead(self, deployments: Sequence[str]) -> None:
        """Look at the tables of all deployments together; what fails here fails again in their steps, and is told."""
        for name in filter(self._group.is_assigned, deployments):
            with suppress(Exception):
                self._tables_of(name)
        self._open.look_ahead()

    def _take(self, step: _Step, deployment: str, result: PassResult, is_stopping: Callable[[], bool]) -> bool:
        """Take a step for a deployment that is this evaluator's at this moment, and return whether it went well."""
        if is_stopping():
            return False
        if not self._group.is_assigned(deployment):
            self._tables.pop(deployment, None)
            return False
        return self._try(step, deployment, result, is_stopping)

    def _try(self, step: _Step, deployment: str, result: PassResult, is_stopping: Callable[[], bool]) -> bool:
        """Take a step for one deployment, and return whether it went well."""
        try:
            tables = self._tables_of(deployment)
            metrics = self._judges.bound(self._classes.metrics(tables, self._clock()), deployment)
            step(tables, metrics, result, is_stopping)
        except LostRaceError:
            logger.info("another evaluator does deployment %r", deployment, extra={"deployment": deployment})
        except Exception as error:  # what is wrong with one deployment's tables is not wrong with the others'
            result.failures += (Failure(deployment, f"{type(error).__name__}: {error}"),)
            log_failure(logger, error, _NOT_EVALUATED, deployment, extra={"deployment": deployment})
        else:
            return True
        # What is open may be what is broken.
        self._tables.pop(deployment, None)
        return False

    def _tables_of(self, deployment: str) -> DeploymentTables:
        if deployment not in self._tables:
            opened = DeploymentTables.of(self._open, deployment, self._children, self._uncommitted, self._matching)
            self._tables[deployment] = opened
        return self._tables[deployment]

    def _score_new(
        self, tables: DeploymentTables, metrics: Sequence[Metric], result: PassResult, is_stopping: Callable[[], bool]
    ) -> None:
        if (version := tables.truth.version()) != self._renewed.get(tables.deployment):
            # Also later: a person may accept one that was rejected.
            renew_old_cases(tables, self._clock())
            self._renewed[tables.deployment] = version
        # Cases first, so that an answer can be compared with a case from the same stretch of the log.
        result.cases += propose_cases(tables, self._clock(), self._settings.ground_truth, self._similar)
        self._name_facts(tables)
        now, deployment = self._clock(), tables.deployment
        metrics = _of_answers(metrics)
        counts = score_new_answers(
            tables,
            metrics,
            self._scorer,
            self._settings.context_grace,
            now,
            is_stopping,
            lambda ready: self._sampling(deployment, metrics, ready, now),
        )
        self._judges.learn(deployment, metrics, counts)
        result.add(counts)
        self._retries.plan(deployment, counts, now)
        result.outside += self._outside.take(tables, now) + self._shares.take(tables, now)

    def _sampling(self, deployment: str, metrics: Sequence[Metric], ready: pa.Table, now: datetime) -> Sampling:
        self._classes.came(deployment, ready.num_rows)
        return self._judges.sampling(deployment, metrics, ready, now)

    def _name_facts(self, tables: DeploymentTables) -> None:
        judge = self._settings.ground_truth.judge
        if judge is None:
            return
        try:
            self._new_facts.extract(tables, self._judges.judge(judge), self._clock())
        except LostRaceError:
            # Whoever was faster has made new cases, or changed one: the next pass looks again.
            logger.info("the facts of new cases of deployment %r are named in the next pass", tables.deployment)

    def _retry_and_rescore(
        self, tables: DeploymentTables, metrics: Sequence[Metric], result: PassResult, is_stopping: Callable[[], bool]
    ) -> None:
        result.add(self._retries.score(tables, metrics, self._clock(), is_stopping))
        self._rescoring.run(tables, _of_answers(metrics), self._clock(), is_stopping)

    def _score_conversations(
        self, tables: DeploymentTables, metrics: Sequence[Metric], result: PassResult, is_stopping: Callable[[], bool]
    ) -> None:
        metrics = [*filter(is_of_conversations, metrics)]
        now, deployment, demand = self._clock(), tables.deployment, f"{tables.deployment} conversations"
        counts = self._conversations.score(
            tables,
            metrics,
            now,
            lambda closed: self._judges.sampling(deployment, metrics, closed, now, demand),
            is_stopping,
        )
        self._judges.learn(demand, metrics, counts)
        result.add(counts)
        self._retries.plan(deployment, counts, now)

    def _warn_missing(self, deployments: Collection[str]) -> None:
        missing = self._settings.deployments.keys() - set(deployments) - self._warned_missing
        for name in sorted(missing):
            logger.warning("evaluator.deployments names %r, of which the lake holds nothing yet", name)
        self._warned_missing |= missing


def _of_answers(metrics: Sequence[Metric]) -> list[Metric]:
    return [metric for metric in metrics if not is_of_conversations(metric)]
