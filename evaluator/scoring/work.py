"""Work that metrics have to do: which answers each of them scores, in the columns that metrics read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers import AT_ONCE, LoggedAnswer
from evaluator.metrics import CellFrame, Metric, needs_ground_truth
from lake.queries.ground_truth.cases import CaseBook, Reference
from lake.spec.vocabulary import JudgeKind
from lake.tables.table import Table
from runtime.identity import identity

Pair = tuple[LoggedAnswer, Reference]


@dataclass(frozen=True)
class Work:
    """A metric and the rows that it is to score, with the answer of each, and the case if it is compared with one."""

    metric: Metric
    frame: CellFrame
    pairs: Sequence[tuple[LoggedAnswer, Reference | None]]


def answers_at_once(metrics: Sequence[Metric]) -> int:
    """Return how many answers to score between two looks at whether to stop or to commit: few where models work."""
    return AT_ONCE if all(metric.judge == JudgeKind.LEXICAL for metric in metrics) else 50


def score_id(answer: LoggedAnswer, metric: Metric) -> str:
    """Return the id that the one score of an answer by a version of a metric has."""
    return ids_of(answer.event_id, metric)[0]


def pending_id(answer: LoggedAnswer, metric: Metric) -> str:
    """Return the id of the row that says that a score is pending; the score itself comes later under its own id."""
    return ids_of(answer.event_id, metric)[1]


def ids_of(event_id: str, metric: Metric) -> tuple[str, str]:
    """Return the `score_id` of an answer's score by a version of a metric, and that while it is pending."""
    parts = event_id, metric.name, metric.version
    return identity(*parts), identity(*parts, "owed")  # the word is a part of ids that are stored


def held_score_ids(scores: Table, metrics: Sequence[Metric], where: ds.Expression | None = None) -> frozenset[str]:
    """Read which scores by these very versions of metrics a table has, among the rows that `where` lets through."""
    versions = {(metric.name, metric.version) for metric in metrics}
    if not versions:
        return frozenset()
    named = ds.field("metric").isin([name for name, _ in versions])
    rows = scores.read(["score_id", "metric", "metric_version"], named if where is None else named & where)
    held: set[str] = set()
    for name, version in versions:
        of_version = pc.and_(pc.equal(rows["metric"], name), pc.equal(rows["metric_version"], version))
        held.update(rows["score_id"].filter(of_version).to_pylist())
    return frozenset(held)


def is_about_retrieval(metric: Metric) -> bool:
    """Whether a metric scores what was retrieved, and not the answer."""
    return "answer" not in metric.needs and not {"contexts", "context_ids"}.isdisjoint(metric.needs)


def references(some: Sequence[LoggedAnswer], metrics: Sequence[Metric], cases: CaseBook) -> Sequence[Pair]:
    """Return the answers to questions for which there is an earlier case, with it; none where no metric needs one."""
    return cases.earlier(some) if any(map(needs_ground_truth, metrics)) else []


def work_on(
    some: Sequence[LoggedAnswer], metrics: Sequence[Metric], pairs: Sequence[Pair], held: Collection[str] = ()
) -> Iterator[Work]:
    """Yield what there is to do for answers: each metric with answers that it can score and whose score is not held.

    `pairs` are the answers with a case (`references`): a metric that needs ground truth can score only those.
    """
    free = [metric for metric in metrics if not needs_ground_truth(metric)]
    compared = [metric for metric in metrics if needs_ground_truth(metric)]
    if free and some:
        contexts, ids = [answer.contexts for answer in some], [_known_ids(answer) for answer in some]
        yield from _without_held(free, _frame(some, contexts=contexts, context_ids=ids), list(some), held)
    if not pairs or not compared:
        return
    frame = _frame(
        [answer for answer, _ in pairs],
        # Cited chunks are a part of what was retrieved: too little to say what retrieval missed.
        contexts=[None if answer.cited_only else answer.contexts for answer, _ in pairs],
        context_ids=[None if answer.cited_only else _known_ids(answer) for answer, _ in pairs],
        facts=[list(found.case.facts) for _, found in pairs],
        reference_answers=[[found.case.answer] for _, found in pairs],
        is_answerable_label=[found.case.is_answerable_label for _, found in pairs],
        reference_tool_calls=[found.case.tool_calls for _, found in pairs],
        reference_context_ids=[list(found.case.context_ids) for _, found in pairs],
    )
    yield from _without_held(compared, frame, pairs, held)


def _without_held(
    metrics: Sequence[Metric],
    frame: CellFrame,
    given: Sequence[LoggedAnswer | tuple[LoggedAnswer, Reference]],
    held: Collection[str],
) -> Iterator[Work]:
    pairs = [one if isinstance(one, tuple) else (one, None) for one in given]
    for metric in metrics:
        new = [i for i, (answer, _) in enumerate(pairs) if not held or score_id(answer, metric) not in held]
        if new:
            yield Work(metric, frame if len(new) == len(pairs) else frame.rows(new), [pairs[i] for i in new])


def _known_ids(answer: LoggedAnswer) -> list[str | None] | None:
    """Return the ids of what was retrieved; None where chunks were, and none of them has an id."""
    ids = answer.context_ids
    return ids if not ids or any(ids) else None


def _frame(some: Sequence[LoggedAnswer], **columns: list[Any]) -> CellFrame:
    columns |= {"question": [answer.question for answer in some], "answer": [answer.text for answer in some]}
    if any(answer.images for answer in some):
        columns |= {"images": [answer.images for answer in some]}
    columns |= {"tool_calls": [answer.tool_calls for answer in some]}
    columns |= {"conversation": [answer.conversation for answer in some]}
    columns |= {"duration_ms": [answer.duration_ms for answer in some], "price": [answer.price for answer in some]}
    return CellFrame(columns, len(some))
