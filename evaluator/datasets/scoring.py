"""Scoring of a table of answers, a batch of rows at a time, with its metadata and its means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa

from evaluator.datasets.batches import ahead, writing_batches
from evaluator.datasets.columns import ANSWERS, GROUND_TRUTH, own_names, require
from evaluator.datasets.files import open_dataset, paths_of, reading, size_of, writing
from evaluator.datasets.joining import KEYS, WHY, GroundTruth
from evaluator.datasets.layout import Layout
from evaluator.datasets.metadata import Dataset, Metadata
from evaluator.datasets.pool import Joined, scored
from evaluator.datasets.totals import ScoringTotals
from evaluator.metrics import Metric, Models
from lake.tables.storage import Storage
from runtime.worker_pool import Engine, SameProcess

BATCH_ROWS = 256
"""Rows that are read, scored and written together where nothing else is asked for."""
_BEFORE_REASONS = len(("mean", "scored", "not_scored"))

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Summary:
    """A metric's line of the aggregate; `mean` is None where no row has a value, `reasons` say how many lack one."""

    metric: str
    mean: float | None
    scored: int
    not_scored: int
    reasons: Mapping[str, int]


@dataclass(frozen=True)
class DatasetReport:
    """What became of a table: where it was written, and the means of its metrics as `aggregate` gives them.

    `left_out` names, for each metric that could not be scored, the columns that it lacks, `unavailable` says why its
    model cannot be used. `without_ground_truth` counts
    answers, `without_answer` rows of ground truth that no answer was joined with. `unreadable` has for each column of
    which a cell could not be read how many such rows were written, and the number of the first, from 1.
    """

    dataset: Dataset
    aggregate: pd.DataFrame
    left_out: Mapping[str, Sequence[str]]
    unavailable: Mapping[str, str]
    rows: int
    without_ground_truth: int
    without_answer: int
    unreadable: Mapping[str, tuple[int, int]]

    def summaries(self) -> Iterator[Summary]:
        """Give the aggregate line by line."""
        for metric, line in self.aggregate.iterrows():
            reasons = {str(reason): int(count) for reason, count in line.iloc[_BEFORE_REASONS:].items() if count}
            mean = None if pd.isna(line["mean"]) else float(line["mean"])
            yield Summary(str(metric), mean, int(line["scored"]), int(line["not_scored"]), reasons)


def score_dataset(
    answers: str,
    ground_truth: str | None,
    destination: str,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    *,
    models: Models | None = None,
    storage: Storage | None = None,
    engine: Engine | None = None,
    details: bool = False,
    batch_rows: int = BATCH_ROWS,
    on_progress: Progress | None = None,
    now: datetime | None = None,
) -> DatasetReport:
    """Score the answers of a table against the ground truth of another, and write the rows with their scores.

    Paths are local or `s3://`. Rows are joined on the documents as a set and the question; those without a partner
    are left out and counted, and an answer to which there are several gives several rows. Without ground truth every
    answer is scored, by the metrics that need none. `metrics` None stands for all that the columns allow and no
    judge is needed for. A metric whose model is not on this machine is left out, and the report says so; `models` are
    those of metrics that are given by name.

    Every column of the two tables is carried over. Beside the scores stand the columns of aidial-rag-eval 0.7.0 with
    its arithmetic (`facts_ranks`, `context_relevance`, `context_highlight`, `recall`, `precision`, `mrr`, `f1`), and
    beside the table the metadata that it reads. The metrics' versions are in the parquet file's own metadata, under
    `dialwatch`. With `details` there is `<name>_details` beside each score: JSON with what it is made of, such as
    claims and verdicts, and with the bounds of a null one.

    The answers are read and written in batches, by a thread each, while the engine scores others, by default in this
    process; the ground truth is in memory. The table appears when it is whole.
    `on_progress` gets the answers done and the answers there are. `now` is the time of the metadata.

    Raises DatasetError for a table that cannot be used, UnknownMetricError, and OSError.
    """
    data_path, metadata_path = paths_of(destination)
    sources = [open_dataset(path, storage) for path in (ground_truth, answers) if path is not None]
    truth = None if ground_truth is None else GroundTruth.read(ground_truth, storage)
    totals = ScoringTotals()
    with reading(answers, storage) as table:
        names = own_names(table.schema_arrow.names)
        schema = pa.schema([of.with_name(name) for of, name in zip(table.schema_arrow, names, strict=True)])
        schemas = _schemas(answers, schema, truth)
        layout = Layout.of(schemas, metrics, models, details=details)
        with writing_batches(data_path, _schema(layout), storage) as write:
            read = ahead(table.iter_batches(batch_rows))
            batches = (_joined(batch.rename_columns(names), truth) for batch in read)
            for batch, (rows, scores) in scored(layout, batches, engine or SameProcess()):
                write(rows)
                totals.add(batch.answers, batch.joined, rows, scores)
                if on_progress is not None:
                    on_progress(totals.answers, table.metadata.num_rows)
    metadata = Metadata(
        created_at=now or datetime.now(UTC),
        sources=tuple(sources),
        tools={"dialwatch": version("dialwatch")},
        file_info={"name": PurePosixPath(data_path).name, "size": size_of(data_path, storage)},
        metrics=totals.means(),
        statistics=_statistics(totals, truth),
    )
    with writing(metadata_path, storage) as file:
        file.write(metadata.model_dump_json(indent=2).encode())
    return DatasetReport(
        dataset=Dataset(metadata_path=metadata_path, data_path=data_path, metadata=metadata),
        aggregate=totals.aggregation.frame(),
        left_out=layout.left_out,
        unavailable=layout.unavailable,
        rows=totals.rows,
        without_ground_truth=totals.answers - totals.joined,
        without_answer=0 if truth is None else len(truth.table) - len(truth.answered),
        unreadable={layout.read[name][1]: found for name, found in totals.unreadable.items() if name in layout.read},
    )


def _joined(batch: pa.RecordBatch, truth: GroundTruth | None) -> Joined:
    if truth is None:
        return Joined(len(batch), len(batch), {ANSWERS: batch})
    return Joined(len(batch), *truth.join(batch))


def _schemas(path: str, schema: pa.Schema, truth: GroundTruth | None) -> dict[str, pa.Schema]:
    if truth is None:
        return {ANSWERS: schema}
    require(schema.names, KEYS, path, WHY)
    return {ANSWERS: schema, GROUND_TRUTH: truth.table.schema}


def _schema(layout: Layout) -> pa.Schema:
    versions = {metric.name: metric.version for metric in layout.metrics}
    own = {"version": version("dialwatch"), "metrics": versions}
    schema: Any = layout.schema
    return schema.with_metadata({"dialwatch": orjson.dumps(own)})


def _statistics(totals: ScoringTotals, truth: GroundTruth | None) -> dict[str, float]:
    sizes: dict[str, float] = {} if truth is None else {"Ground truth size": len(truth.table)}
    return sizes | {"Answers size": totals.answers, "Evaluation data size": totals.rows}
