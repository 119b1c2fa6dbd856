"""Scoring of a table of answers, a batch of rows at a time, with its metadata and its means."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa

from evaluator.datasets.columns import ANSWERS, GROUND_TRUTH, DatasetError, own_names, require
from evaluator.datasets.files import ahead, open_dataset, paths_of, reading, size_of, writing, writing_batches
from evaluator.datasets.joining import KEYS, WHY, GroundTruth
from evaluator.datasets.layout import Layout
from evaluator.datasets.metadata import Dataset, Metadata
from evaluator.datasets.retrieval import MEANS
from evaluator.engines import ClusterError
from evaluator.metrics import UNREADABLE, Aggregation, Metric, Models
from lake.tables.storage import Storage
from runtime.worker_pool import Engine, SameProcess, WorkerDiedError


@dataclass(frozen=True)
class Joined:
    """A batch of answers: how many they are, how many of them have ground truth, and the rows to score by table."""

    answers: int
    joined: int
    rows: Mapping[str, pa.RecordBatch | pa.Table]


Scored = tuple[pa.RecordBatch, pd.DataFrame]


def scored(layout: Layout, batches: Iterable[Joined], engine: Engine) -> Iterator[tuple[Joined, Scored]]:
    """Score batches by an engine, which is closed at the end; each worker loads the models that it needs.

    Raises DatasetError where a process dies, or a cluster cannot be used. A script that asks for more than one process
    and defines metrics of its own must be importable: `if __name__ == "__main__":` stands before what it does.
    """
    waiting: deque[Joined] = deque()

    def rows() -> Iterator[Mapping[str, pa.RecordBatch | pa.Table]]:
        for batch in batches:
            waiting.append(batch)
            yield batch.rows

    with closing(engine):
        try:
            for result in engine.map(Layout.scored, layout, rows()):
                yield waiting.popleft(), result
        except (WorkerDiedError, ClusterError) as error:
            raise DatasetError(str(error)) from None


class ScoringTotals:
    """Counts of rows and means of columns, of batches that are added one by one.

    `answers` are read, `joined` of them have ground truth, `rows` are written. `unreadable` has for each column of
    which a metric could not read a cell how many such rows there are, and the number of the first, from 1.
    """

    def __init__(self) -> None:
        self.answers = self.joined = self.rows = 0
        self.aggregation = Aggregation()
        self.unreadable: dict[str, tuple[int, int]] = {}
        self._sums: dict[str, float] = {}
        self._counts: Counter[str] = Counter()

    def add(self, answers: int, joined: int, rows: pa.RecordBatch, scores: pd.DataFrame) -> None:
        """Count one more batch."""
        self.answers += answers
        self.joined += joined
        self._count_unreadable(scores)
        self.rows += len(rows)
        self.aggregation.add(scores)
        for name in MEANS:
            if name in rows.schema.names:
                values = rows.column(name).drop_null().to_pylist()
                self._sums[name] = self._sums.get(name, 0.0) + math.fsum(values)
                self._counts[name] += len(values)

    def _count_unreadable(self, scores: pd.DataFrame) -> None:
        reasons = scores[[name for name in scores.columns if name.endswith("_reason")]]
        for reason in pd.unique(reasons.to_numpy().ravel()):
            if isinstance(reason, str) and reason.startswith(UNREADABLE):
                (places,) = (reasons == reason).any(axis=1).to_numpy().nonzero()
                column = reason.removeprefix(UNREADABLE)
                count, first = self.unreadable.get(column, (0, self.rows + int(places[0]) + 1))
                self.unreadable[column] = count + len(places), first

    def means(self) -> dict[str, float]:
        """Return the mean of each column that has one, as the metadata has them: those without a value are left out."""
        package = {name: self._sums[name] / count for name, count in self._counts.items() if count}
        own = self.aggregation.frame()["mean"].dropna()
        return package | {str(name): float(mean) for name, mean in own.items()}


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
        """Yield the aggregate line by line."""
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
        tools={"dialwatch": _version()},
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
    own = {"version": _version(), "metrics": versions}
    schema: Any = layout.schema
    return schema.with_metadata({"dialwatch": orjson.dumps(own)})


@cache
def _version() -> str:
    return version("dialwatch")


def _statistics(totals: ScoringTotals, truth: GroundTruth | None) -> dict[str, float]:
    sizes: dict[str, float] = {} if truth is None else {"Ground truth size": len(truth.table)}
    return sizes | {"Answers size": totals.answers, "Evaluation data size": totals.rows}
