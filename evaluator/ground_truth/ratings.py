"""Answers joined with the signals that say what people think of them; either may arrive first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.queries.ratings import IS_NO_LABEL
from lake.queries.signals import FOLD_COLUMNS, fold_signals
from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, SignalJoin, signals_by_answer
from lake.tables.table import Table

OPINION_COLUMNS = tuple(dict.fromkeys((*SIGNAL_JOIN_COLUMNS, *FOLD_COLUMNS)))
IS_OPINION = ds.field("value").is_valid() & IS_NO_LABEL
IDENTITY_COLUMNS = (*JOIN_COLUMNS, "kind", "status", "is_entry", "origin")


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer with signals; `confidence` is what all of them say together, from -1 (bad) to 1 (good).

    `response_id` is the id that the best of them has, and the answer's `event_id` where other answers have that id too.
    """

    event_id: str
    date: date
    response_id: str
    confidence: float


def opinions_on(
    identities: pa.Table,
    signals: Table,
    where: ds.Expression = IS_OPINION,
    columns: Sequence[str] = OPINION_COLUMNS,
) -> pa.Table:
    """Read the opinions on these answers, and those that may be on others with the same ids; others by `where`.

    They are read from one day before the oldest answer on, as clocks and time zones may differ.
    """
    if not identities.num_rows:
        return signals.spec.schema.empty_table().select(columns)
    ids = pc.list_flatten(identities["response_ids"]), identities["response_id"], identities["event_id"]
    named = pa.concat_arrays([one.combine_chunks() for one in ids])
    is_named = ds.field("response_id").isin(pc.unique(named).drop_null())
    if pc.any(pc.is_null(identities["response_id"])).as_py():
        is_named = is_named | ds.field("response_id").is_null()
    first = pc.min(identities["requested_at"]).as_py().astimezone(UTC).date() - timedelta(days=1)
    return signals.read(columns, where & (ds.field("date") >= pa.scalar(first)) & is_named)


def rated_answers(identities: pa.Table, opinions: pa.Table, known: pa.Table) -> list[RatedAnswer]:
    """Join answers with signals (`OPINION_COLUMNS`) as in `lake.signals_by_answer`.

    `known` are the answers that decide which one each signal is about (`lake.read_signaled`). The signals of an answer
    are folded (`lake.fold_signals`).
    """
    join = SignalJoin(known, opinions.to_pylist())
    found: dict[str, RatedAnswer] = {}
    for number, signals in signals_by_answer(identities, opinions, known).items():
        folded = fold_signals(signals)
        if folded is not None:
            best = max(signals, key=lambda signal: (signal["value"], signal["confidence"] or 0.0, signal["signal_id"]))
            event_id = identities["event_id"][number].as_py()
            day = identities["requested_at"][number].as_py().astimezone(UTC).date()
            named = best["response_id"] if join.is_unique(best["response_id"]) else event_id
            found[event_id] = RatedAnswer(event_id, day, named, folded)
    return list(found.values())
