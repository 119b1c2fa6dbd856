"""Scores of new answers, in one commit a deployment that also says how far the log was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import pyarrow as pa

from evaluator.answers import IS_ANSWER, answers
from evaluator.cases import CaseBook
from evaluator.late_contexts import Grace, with_late_contexts
from evaluator.metrics import Metric
from evaluator.new_answers import FROM_LOGS, POSITIONS, WAITED_UNTIL, new_answers
from evaluator.positions import is_far
from evaluator.scores import ScoreCounts, Scorer, held_score_ids
from evaluator.tables import DeploymentTables
from lake import PASSES, SCORES


def score_new_answers(
    tables: DeploymentTables,
    metrics: Sequence[Metric],
    scorer: Scorer,
    context_grace: float,
    now: datetime,
    is_stopping: Callable[[], bool] = lambda: False,
) -> ScoreCounts:
    """Score the answers that were logged since the last time, and remember that, in one commit.

    Where none was, a commit is made only now and then. An answer whose contexts may still come waits for
    `context_grace` seconds. Once `is_stopping` says so, all is left to the next time.

    Metrics that need ground truth score only answers to a question for which there is an earlier case. A metric that
    cannot run is left out, and the answers count as done.

    Raises LostRaceError where another evaluator has just done so.
    """
    counts = ScoreCounts()
    if tables.logs.version() is None:
        return counts
    committed = tables.scores.progress((*POSITIONS, WAITED_UNTIL, PASSES))
    passes = committed.get(PASSES, 0)
    seen = tables.uncommitted.since(tables.scores, committed, passes)
    grace = Grace.of(now, context_grace, seen.get(WAITED_UNTIL))
    ended = grace.ended(tables)
    new = new_answers(tables, seen)
    reached = {**new.reached, WAITED_UNTIL: grace.until}
    ready = grace.ready(ended, new.rows).filter(IS_ANSWER)
    if not ready.num_rows and not is_far(reached, committed, [FROM_LOGS]):
        tables.uncommitted.note(tables.scores, reached, passes)
        return counts
    cases = CaseBook.read(tables)
    # A backfill that came before the first pass may have scored some of them.
    may_be_held = FROM_LOGS not in committed or new.repeats
    held = held_score_ids(tables.scores, metrics) if may_be_held else frozenset()
    written = [SCORES.schema.empty_table()]
    for found in answers(ready):
        if is_stopping():
            return ScoreCounts()
        some = with_late_contexts(tables, found)
        rows, of_some = scorer.rows(tables, some, metrics, cases, now, held=held)
        counts.add(of_some)
        written.append(rows)
    # The number of the pass makes any two evaluators collide here, whichever of the two each has moved.
    ahead = {name: position for name, position in reached.items() if position != committed.get(name)}
    tables.scores.append(pa.concat_tables(written), progress=ahead | {PASSES: passes + 1})
    return counts
