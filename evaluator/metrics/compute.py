"""Scoring of one frame by several metrics, in slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson

from evaluator.metrics.registry import metrics_named
from evaluator.metrics.scores import Metric
from evaluator.models import Models

if TYPE_CHECKING:
    import pandas as pd

    from evaluator.judges.blocking_client import BoundJudge

SLICE_ROWS = 1024
"""Rows that are scored together: enough to share repeated texts and fill batches, few enough to forget them again."""


def compute(
    frame: pd.DataFrame,
    metrics: str | Metric | Sequence[str | Metric],
    models: Models | None = None,
    judge: BoundJudge | None = None,
    *,
    details: bool = False,
) -> pd.DataFrame:
    """Score a frame: for each metric a column of its name (float64, NaN where null) and `<name>_reason`.

    `metrics` are names or metrics, or one alone.

    With `details` there is `<name>_details` too: JSON with what the value is made of, such as claims and their
    verdicts, and the bounds (`low`, `high`) of a null one; null where there is nothing to say.

    The result has the frame's index. A row that a metric cannot score is null with a reason. Rows are scored in slices
    of `SLICE_ROWS`, so that what metrics remember of texts does not grow with the frame.

    `models` and `judge` are those of metrics that are given by name. Not for several threads at once where models are
    asked. What the judge took, its client says (`JudgeClient.spent`).

    Raises UnknownMetricError for a name that is not in the registry, MissingColumnError for a frame without a column
    that a metric needs, ModelUnavailableError where a metric's model is not on this machine or no judge is given that
    it could ask, and ValueError for two metrics of one name.
    """
    import pandas as pd

    chosen = metrics_named(metrics, models, judge)
    _check_names(chosen)
    starts = range(0, max(len(frame), 1), SLICE_ROWS)
    slices = [_compute_slice(frame.iloc[start : start + SLICE_ROWS], chosen, details=details) for start in starts]
    return pd.concat(slices) if len(slices) > 1 else slices[0]


def _check_names(metrics: Sequence[Metric]) -> None:
    versions: dict[str, str] = {}
    for metric in metrics:
        if versions.setdefault(metric.name, metric.version) != metric.version:
            raise ValueError(
                f"two metrics are called {metric.name!r}, of versions {versions[metric.name]} and {metric.version}: "
                "score them one after the other"
            )


def _compute_slice(frame: pd.DataFrame, metrics: Sequence[Metric], *, details: bool) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, pd.Series] = {}
    for metric in metrics:
        scores = metric.score(frame)
        columns[metric.name] = scores.values
        columns[f"{metric.name}_reason"] = scores.reasons
        if details:
            written = [orjson.dumps(dict(one)).decode() if one else None for one in scores.details]
            columns[f"{metric.name}_details"] = pd.Series(written, index=frame.index, dtype=object)
    return pd.DataFrame(columns, index=frame.index)
