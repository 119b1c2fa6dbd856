"""Answers joined with the signals that say what people think of them; either may arrive first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake import (
    FOLD_COLUMNS,
    IS_NO_LABEL,
    IS_RATABLE,
    JOIN_COLUMNS,
    SIGNAL_JOIN_COLUMNS,
    SignalJoin,
    Table,
    fold_signals,
    signals_by_answer,
)

OPINION_COLUMNS = tuple(dict.fromkeys((*SIGNAL_JOIN_COLUMNS, *FOLD_COLUMNS)))
IS_OPINION = ds.field("value").is_valid() & IS_NO_LABEL
IDENTITY_COLUMNS = (*JOIN_COLUMNS, "date", "kind", "status", "is_entry", "origin")

_JOINED = [*JOIN_COLUMNS, "date", "status"]


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer with signals; `confidence` is what all of them say together, from -1 (bad) to 1 (good).

    `response_id` is the id that the best of them has, and the answer's `event_id` where other answers have that id too.
    """

    event_id: str
    date: date
    response_id: str
    confidence: float


def answers_with(logs: Table, response_ids: pa.ChunkedArray) -> pa.Table:
    """Give the rows that signals with these ids may be about (`JOIN_COLUMNS`, `date`, `status`); a null id is none.

    A rating may come long after its answer, so the ids of the whole log are read, one file at a time: about half a
    second for a million rows.
    """
    schema = pa.schema([logs.spec.schema.field(name) for name in _JOINED])
    ids, unnamed = response_ids.drop_null().combine_chunks(), response_ids.null_count > 0
    if not len(ids) and not unnamed:
        return schema.empty_table()
    scan = logs.dataset().scanner(_JOINED, IS_RATABLE, fragment_readahead=1)
    return pa.Table.from_batches((_with_any(batch, ids, unnamed) for batch in scan.to_batches()), schema)


def opinions_on(identities: pa.Table, signals: Table) -> pa.Table:
    """Read the opinions on these answers, and those that may be on others with the same ids.

    They are read from one day before the oldest answer on, as clocks and time zones may differ.
    """
    if not identities.num_rows:
        return signals.spec.schema.empty_table().select(OPINION_COLUMNS)
    columns = pc.list_flatten(identities["response_ids"]), identities["response_id"], identities["event_id"]
    named = pa.concat_arrays([one.combine_chunks() for one in columns])
    is_named = ds.field("response_id").isin(pc.unique(named).drop_null())
    if pc.any(pc.is_null(identities["response_id"])).as_py():
        is_named = is_named | ds.field("response_id").is_null()
    first = pc.min(identities["date"]).as_py() - timedelta(days=1)
    return signals.read(OPINION_COLUMNS, IS_OPINION & (ds.field("date") >= pa.scalar(first)) & is_named)


def rated_answers(identities: pa.Table, opinions: pa.Table, known: pa.Table) -> list[RatedAnswer]:
    """Join answers with signals (`OPINION_COLUMNS`) as in `lake.signals_by_answer`.

    `known` are all rows of the deployment that the signals may be about. The signals of an answer are folded
    (`lake.fold_signals`); of a failed call (`status`) they make nothing.
    """
    join = SignalJoin(known, opinions.to_pylist())
    identities = identities.filter(pc.equal(identities["status"], 200))
    found: dict[str, RatedAnswer] = {}
    for number, signals in signals_by_answer(identities, opinions, known).items():
        folded = fold_signals(signals)
        if folded is not None:
            best = max(signals, key=lambda signal: (signal["value"], signal["confidence"] or 0.0, signal["signal_id"]))
            event_id, day = identities["event_id"][number].as_py(), identities["date"][number].as_py()
            named = best["response_id"] if join.is_unique(best["response_id"]) else event_id
            found[event_id] = RatedAnswer(event_id, day, named, folded)
    return list(found.values())


def _with_any(answers: pa.RecordBatch, ids: pa.Array, unnamed: bool) -> pa.RecordBatch:
    """Take the answers that have one of the ids; the others do not become Python objects."""
    many = answers["response_ids"]
    by_chunk = pc.list_parent_indices(many).filter(pc.is_in(pc.list_flatten(many), ids)).cast(pa.int64())
    has_any = pc.is_in(pa.array(range(answers.num_rows), pa.int64()), by_chunk)
    for name in ("response_id", "event_id"):
        has_any = pc.or_(has_any, pc.is_in(answers[name], ids))
    if unnamed:
        has_any = pc.or_(has_any, pc.is_null(answers["response_id"]))
    return answers.filter(has_any)
