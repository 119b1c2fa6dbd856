"""Scores of new answers, committed together with how far the log was read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from time import monotonic

import pyarrow as pa

from evaluator.answers import DeploymentTables, GracePeriod, LoggedAnswer, answers, new_answers, with_late_contexts
from evaluator.answers.new import FROM_LOGS, POSITIONS, WAITED_UNTIL
from evaluator.metrics import Metric
from evaluator.sampling import Sampling
from evaluator.scoring import ScoreCounts, Scorer, answers_at_once, held_score_ids
from lake.spec.case_vocabulary import ReferenceMatch
from lake.spec.schemas import SCORES
from lake.tables.pass_transaction import PassTransaction

logger = logging.getLogger(__name__)

PARTIAL = "evaluate:cut"
"""Odd where the scores of a stretch of the log are there in part, because it took long or was cut off."""

_COMMIT_SECONDS = 60.0


def score_new_answers(
    tables: DeploymentTables,
    metrics: Sequence[Metric],
    scorer: Scorer,
    context_grace: float,
    now: datetime,
    is_stopping: Callable[[], bool] = lambda: False,
    sampling_of: Callable[[pa.Table], Sampling] = lambda _: Sampling(),
) -> ScoreCounts:
    """Score the answers that were logged since the last time, and remember that, in one commit.

    What takes more than a minute is committed every minute, so that a crash costs no more than that; the next time
    begins with the same stretch of the log and leaves out the scores that are there. Once `is_stopping` says so, that
    is how it ends.

    Where no answer came, a commit is made only now and then. An answer whose contexts may still come waits for
    `context_grace` seconds.

    Metrics that need ground truth score only answers to a question for which there is an earlier case. A metric that
    cannot run is left out, and the answers count as done. `sampling_of` is given the answers before any of them is
    looked at, and says which of them judges are asked about.

    Raises LostRaceError where another evaluator has just done so.
    """
    counts = ScoreCounts()
    if tables.logs.version() is None:
        return counts
    transaction = PassTransaction(tables.scores, (*POSITIONS, WAITED_UNTIL, PARTIAL), uncommitted=tables.uncommitted)
    seen = transaction.positions
    grace = GracePeriod.of(now, context_grace, seen.get(WAITED_UNTIL))
    ended = grace.ended(tables)
    new = new_answers(tables, seen)
    reached = {**new.reached, WAITED_UNTIL: grace.until}
    ready = grace.ready(ended, new.rows)
    if not ready.num_rows and not transaction.is_far(reached, [FROM_LOGS]):
        transaction.remember(reached)
        return counts
    cases = tables.cases()
    # A backfill that came before the first pass may have scored some of them.
    committed = transaction.committed
    may_be_held = FROM_LOGS not in committed or committed.get(PARTIAL, 0) % 2
    held = held_score_ids(tables.scores, metrics) if may_be_held else frozenset()
    commits = _Commits(transaction)
    batches = _Batches(tables, answers(ready, answers_at_once(metrics)), is_stopping)
    sampling = sampling_of(ready)
    found = scorer.scored(tables, batches, metrics, cases, now, held=held, sampling=sampling, is_stopping=is_stopping)
    with closing(found) as scored:
        for rows, of_some in scored:
            counts.add(of_some)
            commits.add(rows)
    if batches.are_cut:
        commits.commit_part()
        return counts
    commits.end(reached)
    _log_matched(tables.deployment, counts)
    return counts


class _Batches:
    """Batches of answers with the contexts that came late; `are_cut` says whether they ended early."""

    def __init__(
        self, tables: DeploymentTables, batches: Iterable[list[LoggedAnswer]], is_stopping: Callable[[], bool]
    ) -> None:
        self._tables = tables
        self._batches = batches
        self._is_stopping = is_stopping
        self.are_cut = False

    def __iter__(self) -> Iterator[Sequence[LoggedAnswer]]:
        for batch in self._batches:
            if self._is_stopping():
                self.are_cut = True
                return
            yield with_late_contexts(self._tables, batch)


def _log_matched(deployment: str, counts: ScoreCounts) -> None:
    if counts.matched:
        kinds = ", ".join(f"{counts.matched[kind]} {kind}" for kind in ReferenceMatch if counts.matched[kind])
        text = "answers of deployment %r that were compared with a case, by how it was found: %s"
        logger.info(text, deployment, kinds, extra={"deployment": deployment})


class _Commits:
    """Commits of one pass: every minute what there is, marked as a part, and at the end how far the log was read."""

    def __init__(self, transaction: PassTransaction) -> None:
        self._transaction = transaction
        self._rows = [SCORES.schema.empty_table()]
        self._since = monotonic()

    def add(self, rows: pa.Table) -> None:
        """Take rows, and commit all that there are where the last commit was long ago."""
        self._rows.append(rows)
        if monotonic() - self._since >= _COMMIT_SECONDS:
            self.commit_part()

    def commit_part(self) -> None:
        """Commit the rows, and that more of the same stretch are to come."""
        if sum(rows.num_rows for rows in self._rows):
            self._commit({} if self._is_partial else {PARTIAL: self._partial_commits + 1})

    def end(self, reached: Mapping[str, int]) -> None:
        """Commit the rows, and how far the log was read with them."""
        self._commit({**reached, **({PARTIAL: self._partial_commits + 1} if self._is_partial else {})})

    @property
    def _partial_commits(self) -> int:
        return self._transaction.committed.get(PARTIAL, 0)

    @property
    def _is_partial(self) -> bool:
        return self._partial_commits % 2 == 1

    def _commit(self, reached: Mapping[str, int]) -> None:
        self._transaction.append(pa.concat_tables(self._rows), reached)
        self._rows, self._since = self._rows[:1], monotonic()
