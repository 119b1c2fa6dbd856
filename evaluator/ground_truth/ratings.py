"""Answers joined with the signals that say what people think of them; either may arrive first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake import FOLD_COLUMNS, IS_ANSWER, IS_NO_LABEL, Table, fold_signals

OPINION_COLUMNS = ("response_id", *FOLD_COLUMNS)
IS_OPINION = ds.field("value").is_valid() & IS_NO_LABEL
IDENTITY_COLUMNS = ("event_id", "response_ids", "date", "kind", "status", "is_entry", "origin")

_JOINED = ["event_id", "date", "response_ids"]


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer with signals; `confidence` is what all of them say together, from -1 (bad) to 1 (good)."""

    event_id: str
    date: date
    response_id: str
    confidence: float


def answers_with(logs: Table, response_ids: pa.ChunkedArray) -> pa.Table:
    """Give the answers (`event_id`, `date`, `response_ids`) that have one of these ids.

    A rating may come long after its answer, so the ids of the whole log are read, one file at a time: about half a
    second for a million rows.
    """
    schema = pa.schema([logs.spec.schema.field(name) for name in _JOINED])
    ids = response_ids.drop_null().combine_chunks()
    if not len(ids):
        return schema.empty_table()
    scan = logs.dataset().scanner(_JOINED, IS_ANSWER, fragment_readahead=1)
    return pa.Table.from_batches((_with_any(batch, ids) for batch in scan.to_batches()), schema)


def opinions_on(identities: pa.Table, signals: Table) -> pa.Table:
    """Read the opinions on these answers.

    They are read from one day before the oldest answer on, as clocks and time zones may differ.
    """
    ids = pc.unique(pc.list_flatten(identities["response_ids"]).combine_chunks())
    if not len(ids):
        return signals.spec.schema.empty_table().select(OPINION_COLUMNS)
    first = pc.min(identities["date"]).as_py() - timedelta(days=1)
    return signals.read(
        OPINION_COLUMNS, IS_OPINION & (ds.field("date") >= pa.scalar(first)) & ds.field("response_id").isin(ids)
    )


def rated_answers(identities: pa.Table, opinions: pa.Table) -> list[RatedAnswer]:
    """Join answers (`event_id`, `date`, `response_ids`) with signals (`OPINION_COLUMNS`) by any id of the answer.

    The signals of an answer are folded (`lake.fold_signals`). `response_id` is that of the best signal.
    """
    by_response = defaultdict(list)
    for opinion in opinions.to_pylist():
        by_response[opinion["response_id"]].append(opinion)
    found = []
    for event_id, day, response_ids in _with_any_id(identities, by_response):
        signals = [opinion for known in sorted(response_ids) for opinion in by_response[known]]
        folded = fold_signals(signals)
        if folded is not None:
            best = max(signals, key=lambda signal: (signal["value"], signal["confidence"] or 0.0, signal["signal_id"]))
            found.append(RatedAnswer(event_id, day, best["response_id"], folded))
    return found


def _with_any_id(identities: pa.Table, by_response: Mapping[str, object]) -> Iterable[tuple[str, date, frozenset[str]]]:
    """Give each answer that has one or more of the ids, with those ids."""
    ids = pa.array([known for known in by_response if known is not None], pa.string())
    for batch in identities.to_batches():
        for row in _with_any(batch, ids).to_pylist():
            yield row["event_id"], row["date"], frozenset(row["response_ids"]) & by_response.keys()


def _with_any(answers: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    """Take the answers that have one of the ids; the others do not become Python objects."""
    flat, parents = pc.list_flatten(answers["response_ids"]), pc.list_parent_indices(answers["response_ids"])
    return answers.take(pc.unique(parents.filter(pc.is_in(flat, ids))))
