"""Scores of conversations that are closed, committed together with how far the log was looked at.

A conversation is closed once no row of it was written for some time. A row that comes later opens it: closed again, it
is scored again, under its new last turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import DeploymentTables, LoggedAnswer
from evaluator.answers.conversations import (
    MOST_REQUESTS,
    MOST_TURNS,
    REQUEST_COLUMNS,
    Conversation,
    answers_of,
    conversations,
    without_busy_chats,
)
from evaluator.judge_binding import asks_judge
from evaluator.metrics import Metric
from evaluator.sampling import Sampling
from evaluator.scoring import ScoreCounts, Scorer, held_score_ids, ids_of
from lake.queries.answer_rows import IS_ENTRY
from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.pass_transaction import PassTransaction, UncommittedPositions
from lake.tables.positions import read_new, was_replaced

logger = logging.getLogger(__name__)

FROM_LOGS = "conversations:parsed_logs"
NEWEST = "conversations:newest_ingested_at"
"""Microseconds since 1970: where to go on if the log of `parsed_logs` no longer reaches back to FROM_LOGS."""
CLOSED_UNTIL = "conversations:closed_until"
"""Microseconds since 1970: conversations whose last row was written until then were looked at."""

_DAY = timedelta(days=1)
"""So much of the log is looked at at once: a look at what came in weeks is committed day by day."""
_LOOKS = 4
"""So often within the time of silence is looked for conversations that are closed: each look reads the log."""
_REQUESTS_AT_ONCE = 10_000
_TURNS_AT_ONCE = 2_000
_COMMIT_SECONDS = 60.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

SamplingOf = Callable[[pa.Table], Sampling]
"""From rows with `requested_at` to their sample."""


class ConversationScores:
    """Scores conversations of deployments, each once for its last turn and the version of a metric.

    What was closed before the first look at a deployment, at a log that was made anew, or while no metric of
    conversations was asked for, is not scored. A look reads
    the rows of the log that came since the last one, those that have waited long enough since then, and the requests of
    their chats, of two days; texts are read of the conversations that are in the sample.
    """

    def __init__(self, idle: float, scorer: Scorer) -> None:
        """`idle` is the time of silence in seconds."""
        self._idle = timedelta(seconds=idle)
        self._scorer = scorer
        self._uncommitted = UncommittedPositions()
        self._looked: dict[str, int] = {}
        """By deployment until when the last look of this process reached."""
        self._warned: set[str] = set()

    def score(
        self,
        tables: DeploymentTables,
        metrics: Sequence[Metric],
        now: datetime,
        sampling_of: SamplingOf = lambda _: Sampling(),
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> ScoreCounts:
        """Score what was closed since the last look, if it is time for one.

        Raises LostRaceError where another evaluator, or an erasure, was there first.
        """
        until = _microseconds(now - self._idle)
        if not metrics and until - self._looked.get(tables.deployment, 0) < _DAY // _MICROSECOND:
            return ScoreCounts()
        if (version := tables.logs.version()) is None:
            return ScoreCounts()
        names = FROM_LOGS, NEWEST, CLOSED_UNTIL
        transaction = PassTransaction(tables.scores, names, uncommitted=self._uncommitted)
        seen = transaction.positions
        begun = {FROM_LOGS: version, NEWEST: _microseconds(now), CLOSED_UNTIL: until}
        if not metrics:
            self._leave_out(transaction, begun)
            self._looked[tables.deployment] = until
            return ScoreCounts()
        if CLOSED_UNTIL not in seen:
            transaction.append(SCORES.schema.empty_table(), begun)
            return ScoreCounts()
        before = self._before(tables.deployment, seen[CLOSED_UNTIL], until)
        if until - before < self._idle // _MICROSECOND // _LOOKS:
            return ScoreCounts()
        change = read_new(tables.logs, seen[FROM_LOGS], REQUEST_COLUMNS, _EPOCH + seen[NEWEST] * _MICROSECOND)
        if change.version is not None and was_replaced(seen[FROM_LOGS], change.version):
            # All its rows come as new ones.
            transaction.append(SCORES.schema.empty_table(), begun | {FROM_LOGS: change.version})
            return ScoreCounts()
        reached = {FROM_LOGS: change.version or seen[FROM_LOGS]}
        reached |= {NEWEST: max(_microseconds(change.newest), seen[NEWEST])} if change.newest is not None else {}
        late, counts = change.rows, ScoreCounts()
        for end in _ends_of_days(before, until):
            due = _due(tables, late, before, end)
            look = _Look(self._scorer, tables, metrics, now, end, sampling_of, transaction)
            is_done = look.scored_all(due, is_stopping)
            counts.add(look.counts)
            self._warn_busy(tables.deployment, len(look.busy))
            reached_here = reached | {CLOSED_UNTIL: max(end, seen[CLOSED_UNTIL])}
            rows = pa.concat_tables(look.rows)
            if is_done and not due.num_rows and not transaction.is_far(reached_here, [FROM_LOGS]):
                transaction.remember(reached_here)
            elif is_done or rows.num_rows:
                transaction.append(rows, reached_here if is_done else None)
            if not is_done:
                break
            self._looked[tables.deployment] = end
            before, late = end, late.slice(0, 0)
        return counts

    def _leave_out(self, transaction: PassTransaction, begun: Mapping[str, int]) -> None:
        """Move the positions on, once a day: what is closed while no metric is asked for is not scored later."""
        committed = transaction.committed
        if CLOSED_UNTIL in committed and begun[CLOSED_UNTIL] - committed[CLOSED_UNTIL] >= _DAY // _MICROSECOND:
            transaction.append(SCORES.schema.empty_table(), begun)

    def _warn_busy(self, deployment: str, chats: int) -> None:
        if chats and deployment not in self._warned:
            logger.warning(_BUSY, deployment, chats, MOST_REQUESTS, extra={"deployment": deployment})
            self._warned.add(deployment)

    def _before(self, deployment: str, committed: int, until: int) -> int:
        """Return until when the last look reached.

        A clock that was ahead has committed a moment to come. Until then looks follow the last one of this process, or
        begin with the time of silence; what was looked at before has its scores and is left out.
        """
        if committed <= until:
            return committed
        looked = self._looked.get(deployment, committed)
        return looked if looked <= until else until - self._idle // _MICROSECOND


_BUSY = (
    "deployment %r: %d chats have more than %d requests in two days and are not scored as conversations; does a client "
    "send the same chat_id with all its requests?"
)


def _ends_of_days(before: int, until: int) -> Iterator[int]:
    """Yield the moments between which a day or less passed; the last one is `until`."""
    day = _DAY // _MICROSECOND
    yield from range(before + day, until, day)
    yield until


def _due(tables: DeploymentTables, new: pa.Table, before: int, until: int) -> pa.Table:
    """Return the requests that have waited long enough since the last look, those of a chat side by side.

    What became visible after its time had passed is due at once.
    """
    at = ds.field("ingested_at")
    is_late = at.is_null() | (at <= _moment(before))
    waited = (at > _moment(before)) & (at <= _moment(until))
    late, ended = new.filter(IS_ENTRY & is_late), tables.logs.read(REQUEST_COLUMNS, IS_ENTRY & waited)
    return pa.concat_tables([late, ended]).sort_by("chat_id")


@dataclass
class _Look:
    """One look at a deployment: what is closed, and the rows of its scores that are not yet committed."""

    scorer: Scorer
    tables: DeploymentTables
    metrics: Sequence[Metric]
    now: datetime
    until: int
    sampling_of: SamplingOf
    transaction: PassTransaction
    counts: ScoreCounts = field(default_factory=ScoreCounts)
    rows: list[pa.Table] = field(default_factory=lambda: [SCORES.schema.empty_table()])
    done: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    """Chats that are left out."""
    since: float = field(default_factory=monotonic)

    def scored_all(self, due: pa.Table, is_stopping: Callable[[], bool]) -> bool:
        """Score the closed conversations of these requests; False where that was stopped."""
        due, busy = without_busy_chats(due)
        self.busy |= busy
        for start in range(0, due.num_rows, _REQUESTS_AT_ONCE):
            if is_stopping():
                return False
            closed = [*self._closed(due.slice(start, _REQUESTS_AT_ONCE))]
            if closed and not self._score(closed, is_stopping):
                return False
        return True

    def _closed(self, due: pa.Table) -> Iterator[Conversation]:
        for one in conversations(self.tables.logs, due.to_pylist(), self.busy.update):
            last = one.last["event_id"]
            if _microseconds(one.written) <= self.until and last not in self.done:
                self.done.add(last)
                yield one

    def _score(self, closed: Sequence[Conversation], is_stopping: Callable[[], bool]) -> bool:
        left, held = self._without_held(closed)
        if not left:
            return True
        times = pa.table({"requested_at": [one.last["requested_at"] for one in left]}, _TIMES)
        sampling = self.sampling_of(times)
        is_sample = all(map(asks_judge, self.metrics))
        drawn = [one for one in left if not is_sample or sampling.may_have(one.last["chat_id"] or one.last["event_id"])]
        self._count_others(sampling, len(left) - len(drawn))
        stopped: list[bool] = []

        def batches() -> Iterator[list[LoggedAnswer]]:
            for some in _portions(drawn):
                if is_stopping():
                    stopped.append(True)
                    return
                yield answers_of(self.tables.logs, some)

        cases = self.tables.cases()
        parts = self.scorer.scored(self.tables, batches(), self.metrics, cases, self.now, held=held, sampling=sampling)
        with closing(parts):
            for rows, counts in parts:
                self.counts.add(counts)
                self._add(rows)
        return not stopped

    def _without_held(self, closed: Sequence[Conversation]) -> tuple[list[Conversation], frozenset[str]]:
        """Return those that lack a score, and the ids of the scores that are there."""
        days, ids = {one.last["date"] for one in closed}, [one.last["event_id"] for one in closed]
        where = ds.field("date").isin(sorted(days)) & ds.field("event_id").isin(ids)
        held = held_score_ids(self.tables.scores, self.metrics, where)
        left = [
            one
            for one in closed
            if any(held.isdisjoint(ids_of(one.last["event_id"], metric)) for metric in self.metrics)
        ]
        return left, held

    def _count_others(self, sampling: Sampling, others: int) -> None:
        self.counts.not_sampled += others
        self.counts.expected += others * Sampling(sampling.settings).probability(flagged=False)

    def _add(self, rows: pa.Table) -> None:
        self.rows.append(rows)
        if monotonic() - self.since >= _COMMIT_SECONDS:
            self.transaction.append(pa.concat_tables(self.rows))
            self.rows, self.since = self.rows[:1], monotonic()


_TIMES = pa.schema([PARSED_LOGS.schema.field("requested_at")])


def _portions(some: Sequence[Conversation]) -> Iterator[list[Conversation]]:
    """Yield conversations so many at a time that their texts are not too many."""
    portion: list[Conversation] = []
    turns = 0
    for one in some:
        portion.append(one)
        turns += min(len(one.turns), MOST_TURNS)
        if turns >= _TURNS_AT_ONCE:
            yield portion
            portion, turns = [], 0
    if portion:
        yield portion


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def _moment(microseconds: int) -> pa.Scalar:
    return pa.scalar(_EPOCH + microseconds * _MICROSECOND, PARSED_LOGS.schema.field("ingested_at").type)
