"""Worst rows of a scored table: which they are by each metric, and what their scores are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evaluator.datasets.columns import CONTEXTS_ORIGIN, GROUND_TRUTH, READ_FROM, as_metrics_read, known_contexts
from evaluator.datasets.files import reading
from evaluator.datasets.layout import frame_of
from evaluator.metrics import compute, metric_named, needs_ground_truth
from lake.spec.vocabulary import JudgeKind
from lake.tables.storage import Storage

_BATCH_ROWS = 256


def worst_places(path: str, metric: str, most: int, storage: Storage | None = None) -> list[tuple[int, float]]:
    """Return the numbers of the rows, from 0, with the worst values of a metric, and these; the worst first.

    Values as good as the metric's best are no worst ones. There are none for a metric without a better end.
    """
    about = metric_named(metric).about
    if about.direction == "none":
        return []
    with reading(path, storage) as table:
        values = table.read([metric]).column(metric).to_numpy(zero_copy_only=False).astype(np.float64)
    sign, best = (1.0, about.high) if about.direction == "up" else (-1.0, about.low)
    (places,) = np.nonzero(~np.isnan(values) & (values != best))
    order = places[np.argsort(sign * values[places], kind="stable")][:most]
    return [(int(place), float(values[place])) for place in order]


def read_rows(path: str, places: Iterable[int], storage: Storage | None = None) -> dict[int, dict[str, Any]]:
    """Read rows by their numbers from 0, a batch of the table at a time; each with its number."""
    wanted, found, start = np.array(sorted(set(places)), dtype=np.int64), dict[int, dict[str, Any]](), 0
    with reading(path, storage) as table:
        for batch in table.iter_batches(_BATCH_ROWS):
            here = wanted[(wanted >= start) & (wanted < start + len(batch))]
            rows = pc.take(batch, pa.array(here - start)).to_pylist()
            found |= dict(zip(here.tolist(), rows, strict=True))
            start += len(batch)
    return found


def details_of(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> list[dict[str, str]]:
    """Return for each row the details of its scores by metric, as JSON: those of the table, else made anew.

    Only what neither a model nor a judge is needed for is made anew.
    """
    made: list[dict[str, str]] = [
        {name: text for name in metrics if isinstance(text := row.get(f"{name}_details"), str)} for row in rows
    ]
    for name in metrics:
        metric = metric_named(name)
        is_written = any(f"{name}_details" in row for row in rows)
        if is_written or metric.judge != JudgeKind.LEXICAL:
            continue
        cells = {column: _cells(column, rows, compared=needs_ground_truth(metric)) for column in metric.needs}
        scored = compute(frame_of(cells, len(rows)), [metric], details=True)
        if f"{name}_details" in scored.columns:
            for of_row, text in zip(made, scored[f"{name}_details"], strict=True):
                of_row |= {name: text} if isinstance(text, str) else {}
    return made


def _cells(column: str, rows: Sequence[Mapping[str, Any]], *, compared: bool) -> Sequence[object]:
    table, name = READ_FROM.get(column, ("", column))
    of_truth = (f"ground_truth_{column}", f"ground_truth_{name}") if table == GROUND_TRUTH else ()
    places = (*of_truth, column, name)
    own = next((one for one in places if any(one in row for row in rows)), column)
    cells = as_metrics_read(column, [row.get(own) for row in rows], own)
    if column == "contexts" and any(CONTEXTS_ORIGIN in row for row in rows):
        return known_contexts(cells, [row.get(CONTEXTS_ORIGIN) for row in rows], compared=compared)
    return cells
