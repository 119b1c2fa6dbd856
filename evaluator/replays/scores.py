"""Scores of replayed answers, by the metrics of the deployment that ask no judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evaluator.judge_binding import asks_judge
from evaluator.metrics import MEASURED_COLUMNS, Metric, ModelUnavailableError, metric_named
from evaluator.replays.asking import Asked
from lake.spec.case_vocabulary import CASE_PASSED
from lake.spec.vocabulary import Direction

if TYPE_CHECKING:
    import pandas as pd

_CALLS = ("tool_calls", "reference_tool_calls")
_REFERENCES = ("facts", "reference_answers", "reference_contexts", "reference_context_ids", "is_answerable_label")


def replay_metrics(chosen: Sequence[Metric]) -> list[Metric]:
    """Return the metrics that score a replay: those chosen that ask no judge, read the answer, and can get worse.

    `case_passed` is always one of them.
    """
    usable = [
        metric
        for metric in chosen
        if not asks_judge(metric) and not (MEASURED_COLUMNS.issuperset(metric.needs) or "tool_calls" in metric.needs)
    ]
    watched = [metric for metric in usable if _can_get_worse(metric)]
    names = {metric.name for metric in watched}
    return watched if CASE_PASSED in names else [*watched, metric_named(CASE_PASSED)]


def scores_of(asked: Sequence[Asked], metrics: Sequence[Metric]) -> list[list[dict[str, Any]]]:
    """Return the rows of `replays.scores` of each answer; none where there is no answer.

    A metric whose model cannot be loaded scores nothing.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in asked]
    places = [place for place, one in enumerate(asked) if one.reply.answer is not None]
    frame = _frame([asked[place] for place in places])
    for metric in metrics if places else ():
        try:
            scores = metric.score(frame)
        except ModelUnavailableError:
            continue
        for place, value, reason, details in zip(places, scores.values, scores.reasons, scores.details, strict=True):
            found[place].append(
                {
                    "metric": metric.name,
                    "metric_version": metric.version,
                    "value": None if value != value else float(value),
                    "reason": reason,
                    "failed_part": details.get("failed_part"),
                }
            )
    return found


def _can_get_worse(metric: Metric) -> bool:
    about = metric.about
    return str(about.direction) != Direction.NONE and math.isfinite(about.low) and math.isfinite(about.high)


def better_if_higher(metrics: Sequence[Metric], metric: str, value: float) -> float:
    """Return a value so that higher is better."""
    is_lower_better = any(one.name == metric and str(one.about.direction) == Direction.DOWN for one in metrics)
    return -value if is_lower_better else value


def _frame(asked: Sequence[Asked]) -> pd.DataFrame:
    import pandas as pd

    rows = [_row(one) for one in asked]
    names = ("question", "answer", "contexts", "context_ids", *_REFERENCES, "duration_ms", "price", *_CALLS)
    return pd.DataFrame({name: pd.Series([row.get(name) for row in rows], dtype=object) for name in names})


def _row(one: Asked) -> dict[str, Any]:
    case, reply = one.case, one.reply
    contexts = None if reply.cited_only or reply.contexts is None else reply.contexts
    ids = None if contexts is None else [context["id"] for context in contexts]
    return {
        "question": case["question"],
        "answer": reply.answer,
        "contexts": None if contexts is None else [context["text"] for context in contexts],
        "context_ids": ids if not ids or any(ids) else None,
        "facts": list(case["facts"] or ()),
        "reference_answers": [case["answer"]],
        "is_answerable_label": case.get("is_answerable_label"),
        "reference_contexts": list(case["context"] or ()),
        "reference_context_ids": [one for one in case["context_ids"] or () if one],
        "duration_ms": one.duration_ms,
        "price": None,
        "tool_calls": reply.tool_calls,
        "reference_tool_calls": case.get("tool_calls"),
    }
