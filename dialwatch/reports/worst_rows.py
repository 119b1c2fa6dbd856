"""Worst rows of a scored table, as the page of an answer shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from evaluator.datasets import DatasetReport, details_of, read_rows, worst_places
from evaluator.metrics import metric_named
from lake.queries.answer_details import AnswerContext, AnswerDetails, AnswerScore
from lake.queries.comments import members_of
from lake.queries.failures import AnswerStatus
from lake.queries.ratings import AnswerLabel, AnswerRating
from lake.tables.storage import Storage
from monitor.pages.answers.answer_view import AnswerView, view_of
from monitor.pages.answers.findings import ComparedCase

MOST_BY_METRIC = 5
"""Worst rows that are named for each metric."""
MOST_ROWS = 50
"""Rows that are shown with their texts."""
MOST_CONTEXTS = 20
MOST_CHARACTERS = 3000
"""Characters of each text that are shown, so that the page stays small."""


@dataclass(frozen=True)
class WorstValue:
    """A row's value; `row` is its number in the table, from 1, and `is_shown` says whether its texts are."""

    row: int
    value: float
    is_shown: bool


@dataclass(frozen=True)
class WorstRow:
    """A row with its texts; `contexts_left_out` are those that are not shown."""

    row: int
    question: str | None
    case_id: str | None
    response_id: str | None
    view: AnswerView
    scores: Sequence[AnswerScore]
    contexts_left_out: int


@dataclass(frozen=True)
class WorstRows:
    """The worst values of each metric, and their rows in the order of the table."""

    by_metric: Mapping[str, Sequence[WorstValue]]
    rows: Sequence[WorstRow]


def worst_rows(report: DatasetReport, storage: Storage | None = None) -> WorstRows:
    """Read the worst rows of the table that was written; each is shown once, whatever number of metrics names it."""
    path, metrics = report.dataset.data_path, [line.metric for line in report.summaries()]
    found = {metric: worst_places(path, metric, MOST_BY_METRIC, storage) for metric in metrics}
    # The worst of each metric first, so that none takes the places of the others.
    in_turn = [place for turn in zip_longest(*found.values()) for one in turn if one is not None for place in one[:1]]
    shown = sorted(list(dict.fromkeys(in_turn))[:MOST_ROWS])
    rows = read_rows(path, shown, storage)
    details = details_of([rows[place] for place in shown], metrics)
    return WorstRows(
        {
            metric: [WorstValue(place + 1, value, place in rows) for place, value in values]
            for metric, values in found.items()
        },
        [_row(place + 1, rows[place], of_row, metrics, report) for place, of_row in zip(shown, details, strict=True)],
    )


def _row(
    number: int, row: Mapping[str, Any], details: Mapping[str, str], metrics: Sequence[str], report: DatasetReport
) -> WorstRow:
    scores = [_score(metric, row, details.get(metric), report) for metric in metrics]
    contexts = _contexts(row)
    case_id = _text(row.get("case_id"))
    facts = [fact for fact in _list(row.get("facts")) if isinstance(fact, str) and any(map(str.isalnum, fact))]
    answer = AnswerDetails(
        row={"answer": _text(row.get("answer")), "request_body": None},
        status=AnswerStatus.OK,
        rating=AnswerRating.NONE,
        label=AnswerLabel.NONE,
        failures=(),
        contexts=tuple(contexts[:MOST_CONTEXTS]),
        contexts_origin=_text(row.get("contexts_origin")),
        before=(),
        scores=tuple(scores),
        signals=(),
        calls=(),
    )
    return WorstRow(
        row=number,
        question=_text(row.get("question")),
        case_id=case_id,
        response_id=_text(row.get("response_id")),
        view=view_of(answer, ComparedCase(case_id or "", facts), most=MOST_CHARACTERS),
        # What they are made of is marked in the texts, and would take most of the page.
        scores=[replace(score, details=None) for score in scores if score.value is not None or score.reason],
        contexts_left_out=max(0, len(contexts) - MOST_CONTEXTS),
    )


def _score(metric: str, row: Mapping[str, Any], details: str | None, report: DatasetReport) -> AnswerScore:
    about = metric_named(metric)
    return AnswerScore(
        metric=metric,
        metric_version=about.version,
        value=row.get(metric),
        reason=row.get(f"{metric}_reason"),
        judge=None,
        details=members_of(details),
        direction=about.about.direction,
        low=None,
        high=None,
        cost=None,
        scored_at=report.dataset.metadata.created_at,
        is_backfill=False,
        is_latest=True,
    )


def _contexts(row: Mapping[str, Any]) -> list[AnswerContext]:
    ids = [str(one) for one in _list(row.get("context_ids"))]
    texts = [one if isinstance(one, str) else "" for one in _list(row.get("context"))]
    titles = [ids[place] if place < len(ids) else None for place in range(len(texts))]
    return [
        AnswerContext(rank, text, title, None, None, title)
        for rank, (text, title) in enumerate(zip(texts, titles, strict=True), 1)
    ]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
