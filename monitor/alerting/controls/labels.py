"""Labels that people who judge answers write: rows of `user_signals`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.delta_log.change import LostRaceError
from lake.spec.schemas import USER_SIGNALS
from lake.spec.vocabulary import Signal, SignalOrigin, SourceKind
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction

MOST_CHARACTERS = 10_000
"""Characters of a comment."""
_COUNTER = "labels"
_ATTEMPTS = 5
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Label:
    """What somebody says of an answer. `given_id` is the id of the form, by which a repetition is known."""

    is_right: bool
    comment: str
    who: str | None
    given_id: str


def write_label(lake: Lake, answer: Mapping[str, Any], label: Label, now: datetime) -> bool:
    """Write a label of a row of `parsed_logs`, once: False where one with its `given_id` has been written already.

    Raises LostRaceError where others write labels of the deployment all the time.
    """
    table, row = lake.table(USER_SIGNALS, answer["deployment"]), _row(answer, label, now)
    not_before = pa.scalar(answer["date"] - _DAY)
    is_same = (ds.field("date") >= not_before) & (ds.field("signal_id") == row["signal_id"])
    for attempt in range(_ATTEMPTS):
        transaction = PassTransaction(table, counters=(_COUNTER,))
        if table.read(["signal_id"], is_same).num_rows:
            return False
        try:
            transaction.append(USER_SIGNALS.rows([row]))
        except LostRaceError:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            break
    return True


def _row(answer: Mapping[str, Any], label: Label, now: datetime) -> dict[str, Any]:
    deployment, event_id = answer["deployment"], answer["event_id"]
    said = Signal.RIGHT if label.is_right else Signal.WRONG
    identity = json.dumps([SignalOrigin.LABEL, deployment, event_id, label.who, label.given_id])
    details = {"event_id": event_id} | ({"comment": label.comment} if label.comment else {})
    return {
        "signal_id": hashlib.blake2b(identity.encode(), digest_size=16).hexdigest(),
        "response_id": answer["response_id"] or event_id,
        "deployment": deployment,
        "date": now.date(),
        "signaled_at": now,
        "signal": said.value,
        "value": 1.0 if label.is_right else -1.0,
        "confidence": 1.0,
        "origin": SignalOrigin.LABEL.value,
        "user_id": label.who,
        "chat_id": answer["chat_id"],
        "details": json.dumps(details),
        "source": {
            "kind": SourceKind.LABEL.value,
            "name": SourceKind.LABEL.value,
            "partition": deployment,
            "offset": 0,
        },
        "ingested_at": now,
    }
