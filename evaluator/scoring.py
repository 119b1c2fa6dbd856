"""Scores of new answers, in one commit a deployment that also says how far the log was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa

from evaluator.answers import IS_ANSWER, Answer, answers
from evaluator.cases import Case, CaseBook, first_earlier, source_times
from evaluator.identity import identity
from evaluator.late_contexts import Grace, with_late_contexts
from evaluator.metrics import MEASURED_COLUMNS, Metric, needs_ground_truth
from evaluator.new_answers import FROM_LOGS, POSITIONS, new_answers
from evaluator.positions import is_far
from evaluator.tables import DeploymentTables
from lake import PASSES, SCORES

WAITED_UNTIL = "evaluate:waited_until"


@dataclass
class ScoreCounts:
    """How many scores were written with a value, and how many without one, by reason."""

    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)


def score_new_answers(
    tables: DeploymentTables,
    metrics: Sequence[Metric],
    context_grace: float,
    now: datetime,
    is_stopping: Callable[[], bool] = lambda: False,
) -> ScoreCounts:
    """Score the answers that were logged since the last time, and remember that, in one commit.

    Where none was, a commit is made only now and then. An answer whose contexts may still come waits for
    `context_grace` seconds. Once `is_stopping` says so, all is left to the next time.

    Metrics that need ground truth score only answers to a question for which there is an earlier case.

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
    written = [SCORES.schema.empty_table()]
    for found in answers(ready):
        if is_stopping():
            return ScoreCounts()
        some = with_late_contexts(tables, found)
        rows = [*_reference_free(some, metrics, now), *_against_cases(tables, some, metrics, cases, now)]
        for row in rows:
            counts.scored += row["value"] is not None
            counts.unscored.update([row["reason"]] if row["value"] is None else [])
        written.append(SCORES.rows(rows))
    # The number of the pass makes any two evaluators collide here, whichever of the two each has moved.
    ahead = {name: position for name, position in reached.items() if position != committed.get(name)}
    tables.scores.append(pa.concat_tables(written), progress=ahead | {PASSES: passes + 1})
    return counts


def _reference_free(some: Sequence[Answer], metrics: Sequence[Metric], now: datetime) -> Iterator[dict[str, Any]]:
    contexts = [answer.contexts for answer in some]
    frame = _frame(some, contexts=contexts)
    for metric in metrics:
        if not needs_ground_truth(metric):
            yield from _rows(metric, frame, [(answer, None) for answer in some], now)


def _against_cases(
    tables: DeploymentTables, some: Sequence[Answer], metrics: Sequence[Metric], cases: CaseBook, now: datetime
) -> Iterator[dict[str, Any]]:
    candidates = [(answer, about) for answer in some if (about := cases.about(answer))]
    asked_at = source_times(tables, (case for _, about in candidates for case in about))
    pairs = [(answer, case) for answer, about in candidates if (case := first_earlier(answer, about, asked_at))]
    if not pairs:
        return
    frame = _frame(
        [answer for answer, _ in pairs],
        # Cited chunks are a part of what was retrieved: too little to say what retrieval missed.
        contexts=[None if answer.cited_only else answer.contexts for answer, _ in pairs],
        facts=[list(case.facts) for _, case in pairs],
        reference_answers=[[case.answer] for _, case in pairs],
    )
    for metric in metrics:
        if needs_ground_truth(metric):
            yield from _rows(metric, frame, pairs, now)


def _frame(some: Sequence[Answer], **columns: list[Any]) -> pd.DataFrame:
    columns |= {"question": [answer.question for answer in some], "answer": [answer.text for answer in some]}
    columns |= {"duration_ms": [answer.duration_ms for answer in some], "price": [answer.price for answer in some]}
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def _rows(
    metric: Metric, frame: pd.DataFrame, pairs: Sequence[tuple[Answer, Case | None]], now: datetime
) -> Iterator[dict[str, Any]]:
    scores = metric.score(frame)
    is_measured = MEASURED_COLUMNS.issuperset(metric.needs)
    results = zip(scores.values, scores.reasons, scores.details, pairs, strict=True)
    for value, reason, details, (answer, case) in results:
        # What the log does not hold was not seen, and so not even "nothing was retrieved" can be said of it.
        seen = is_measured or answer.text is not None
        known = seen and value == value
        told = dict(details) | ({"case_id": case.case_id} if case else {})
        yield {
            "score_id": identity(answer.event_id, metric.name, metric.version),
            "response_id": answer.response_id,
            "event_id": answer.event_id,
            "deployment": answer.deployment,
            "date": answer.date,
            "requested_at": answer.requested_at,
            "chat_id": answer.chat_id,
            "metric": metric.name,
            "metric_version": metric.version,
            "value": value if known else None,
            "reason": None if known else (reason if seen else "no_answer"),
            "details": orjson.dumps(told).decode() if told else None,
            "judge": metric.judge,
            "cost": 0.0,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "sampling_probability": 1.0,
            "scored_at": now,
        }
