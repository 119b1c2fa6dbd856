"""Layout of a scored table: which metrics two tables can be scored with, and which columns come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from evaluator.datasets.columns import (
    ANSWERS,
    CONTEXTS_ORIGIN,
    GROUND_TRUTH,
    READ_FROM,
    DatasetError,
    as_metrics_read,
    known_contexts,
    written,
    written_type,
)
from evaluator.datasets.retrieval import TYPES, retrieval_arrays
from evaluator.metrics import (
    REGISTRY,
    Metric,
    Models,
    ModelUnavailableError,
    compute,
    metrics_named,
    needs_ground_truth,
    problem_of,
)
from evaluator.metrics.scores import optional_columns
from lake.spec.vocabulary import JudgeKind, asks_llm

_INDEX = "__index_level_"
_LISTS = frozenset({"contexts", "facts", "reference_answers", "reference_contexts"})


@dataclass(frozen=True)
class Layout:
    """What is read from which column, what is scored, and where each column is written.

    `carried` is, for each column written as it was read, the table and the name that it has there. `left_out` names,
    for each metric that cannot be scored, the columns that are missing, `unavailable` why its model cannot be used.
    `details` says whether what each value is made of is written too.
    """

    metrics: Sequence[Metric]
    left_out: Mapping[str, Sequence[str]]
    unavailable: Mapping[str, str]
    read: Mapping[str, tuple[str, str]]
    carried: Mapping[str, tuple[str, str]]
    schema: pa.Schema
    has_retrieval: bool
    details: bool

    @classmethod
    def of(
        cls,
        schemas: Mapping[str, pa.Schema],
        metrics: str | Metric | Sequence[str | Metric] | None,
        models: Models | None = None,
        *,
        details: bool = False,
    ) -> Layout:
        """Lay out the scores of tables with these schemas; None stands for all that can be scored without a judge.

        `models` are those of metrics that are given by name.

        Raises DatasetError where a metric that was asked for lacks a column or no metric has all of its columns, and
        UnknownMetricError.
        """
        read = _readable(schemas)
        given = [name for name, one in REGISTRY.items() if not asks_llm(one.judge)] if metrics is None else metrics
        asked = metrics_named(given, models)
        left_out = {one.name: missing for one in asked if (missing := [name for name in one.needs if name not in read])}
        if metrics is not None:
            for name, missing in left_out.items():
                raise DatasetError(_lacking(name, missing[0], schemas))
        scorable = {one.name: one for one in asked if one.name not in left_out}
        if metrics is None and not scorable:
            raise DatasetError(_nothing_read(schemas))
        unavailable = {name: why for name, one in scorable.items() if (why := _unavailable(one)) is not None}
        chosen = [one for name, one in scorable.items() if name not in unavailable]
        has_retrieval = {"facts", "contexts"} <= read.keys()
        made = {name: kind for name, kind in TYPES.items() if has_retrieval}
        for metric in chosen:
            made |= {metric.name: pa.float64(), f"{metric.name}_reason": pa.string()}
            made |= {f"{metric.name}_details": pa.string()} if details else {}
        carried = {name: place for name, place in _carried(schemas).items() if name not in made}
        kinds = {
            name: written_type(name, schemas[table].field(column).type) for name, (table, column) in carried.items()
        }
        schema = pa.schema(list((kinds | made).items()))
        needed = {"facts", "contexts"} if has_retrieval else set[str]()
        needed = needed.union(*((*metric.needs, *optional_columns(metric)) for metric in chosen))
        read = {name: place for name, place in read.items() if name in needed}
        return cls(chosen, left_out, unavailable, read, carried, schema, has_retrieval, details)

    def scored(self, tables: Mapping[str, pa.RecordBatch | pa.Table]) -> tuple[pa.RecordBatch, pd.DataFrame]:
        """Score rows of the tables, which are joined: what is written, and the scores by themselves."""
        cells = {
            name: as_metrics_read(name, tables[table].column(column).to_pylist(), column)
            for name, (table, column) in self.read.items()
        }
        scores = self._scores(cells, tables[ANSWERS])
        arrays = {
            name: written(name, tables[table].column(column), self.schema.field(name).type)
            for name, (table, column) in self.carried.items()
        }
        if self.has_retrieval:
            arrays |= retrieval_arrays(cells["facts"], cells["contexts"])
        arrays |= {
            name: pa.array(scores[name], self.schema.field(name).type, from_pandas=True) for name in scores.columns
        }
        return pa.record_batch([arrays[name] for name in self.schema.names], schema=self.schema), scores

    def _scores(self, cells: Mapping[str, Sequence[object]], answers: pa.RecordBatch | pa.Table) -> pd.DataFrame:
        if "contexts" not in cells or CONTEXTS_ORIGIN not in answers.schema.names:
            return compute(frame_of(cells, len(answers)), self.metrics, details=self.details)
        origins, parts = answers.column(CONTEXTS_ORIGIN).to_pylist(), []
        for compared in (False, True):
            some = [metric for metric in self.metrics if needs_ground_truth(metric) is compared]
            contexts = known_contexts(cells["contexts"], origins, compared=compared)
            frame = frame_of({**cells, "contexts": contexts}, len(answers))
            parts.append(compute(frame, some, details=self.details))
        both = pd.concat(parts, axis=1)
        names = (f"{metric.name}{ending}" for metric in self.metrics for ending in ("", "_reason", "_details"))
        return both[[name for name in names if name in both.columns]]


def frame_of(cells: Mapping[str, Sequence[object]], rows: int) -> pd.DataFrame:
    """Return columns of cells as metrics read them."""
    return pd.DataFrame({name: pd.Series(list[Any](of), dtype=object) for name, of in cells.items()}, index=range(rows))


def _unavailable(metric: Metric) -> str | None:
    """Try a metric that asks a model on a row, so that one that cannot run is known before thousands are read.

    One that asks a judge is tried on no row, as the judge would be paid for it.
    """
    if metric.judge == JudgeKind.LEXICAL:
        return problem_of(metric)
    cells = {column: ["text"] if column in _LISTS else "text" for column in metric.needs}
    row = pd.DataFrame({column: pd.Series([cell], dtype=object) for column, cell in cells.items()})
    try:
        metric.score(row.iloc[:0] if asks_llm(metric.judge) else row)
    except ModelUnavailableError as error:
        return str(error)
    except Exception as error:  # a model may load and yet be of another kind
        return f"it fails with {type(error).__name__}: {error}"
    return None


def _readable(schemas: Mapping[str, pa.Schema]) -> dict[str, tuple[str, str]]:
    read: dict[str, tuple[str, str]] = {}
    for name, (table, column) in READ_FROM.items():
        # A table of one's own may have several reference answers, under the name that metrics give them.
        places = ((table, name), (table, column), (ANSWERS, name))
        found = next(((of, one) for of, one in places if of in schemas and one in schemas[of].names), None)
        if found is not None:
            read[name] = found
    return read


def _carried(schemas: Mapping[str, pa.Schema]) -> dict[str, tuple[str, str]]:
    """All columns of both; a name that both have is the answers', and with a prefix the ground truth's."""
    carried = {name: (ANSWERS, name) for name in _columns(schemas[ANSWERS])}
    for name in _columns(schemas[GROUND_TRUTH]) if GROUND_TRUTH in schemas else ():
        if name not in ("documents", "question"):
            own = f"ground_truth_{name}" if name in carried or name == "answer" else name
            carried[own] = (GROUND_TRUTH, name)
    return carried


def _columns(schema: pa.Schema) -> list[str]:
    return [name for name in schema.names if not name.startswith(_INDEX)]


def _lacking(metric: str, needed: str, schemas: Mapping[str, pa.Schema]) -> str:
    table, column = READ_FROM.get(needed, (ANSWERS, needed))
    if table not in schemas:
        return (
            f"metric {metric!r} needs column {column!r} of the ground truth, and no ground truth is given, nor do the "
            f"answers have a column {needed!r} of their own"
        )
    has = ", ".join(schemas[table].names) or "no columns"
    return f"metric {metric!r} needs column {column!r} in the {table}; the table has {has}"


def _nothing_read(schemas: Mapping[str, pa.Schema]) -> str:
    known = {table: [column for one, column in READ_FROM.values() if one == table] for table in (ANSWERS, GROUND_TRUTH)}
    has = " and ".join(
        f"the {table} have {', '.join(schema.names) or 'no columns'}" for table, schema in schemas.items()
    )
    return (
        f"no metric can be scored: {has}; metrics read {', '.join(known[ANSWERS])} of the answers and "
        f"{', '.join(known[GROUND_TRUTH])} of the ground truth: rename what is called otherwise (docs/tables.md has "
        "the names of RAGAS and DeepEval that are known)"
    )
