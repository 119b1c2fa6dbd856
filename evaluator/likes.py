"""Which answers people liked: signals joined with answers, whichever came first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

OPINION_COLUMNS = ("signal_id", "response_id", "signaled_at", "signal", "confidence", "user_id")
IS_OPINION = ds.field("signal").isin(["like", "dislike"])

IDENTITY_COLUMNS = ("event_id", "response_ids", "date", "kind", "status", "is_entry")

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LikedAnswer:
    """An answer that somebody liked and nobody disliked; `confidence` is the surest like's, from 0 to 1."""

    event_id: str
    date: date
    response_id: str
    confidence: float


def liked_answers(identities: pa.Table, opinions: pa.Table) -> list[LikedAnswer]:
    """Join answers (`IDENTITY_COLUMNS`) with likes and dislikes (`OPINION_COLUMNS`) by any id of the answer.

    Of one user's opinions on an answer the latest counts. An answer that one user likes and another dislikes is
    not among the liked ones. `response_id` is the id that was liked.
    """
    by_response = defaultdict(list)
    for opinion in opinions.to_pylist():
        by_response[opinion["response_id"]].append(opinion)
    found = []
    for event_id, day, response_ids in _with_any_id(identities, by_response):
        latest = _latest_by_user(opinion for known in response_ids for opinion in by_response[known])
        if all(opinion["signal"] == "like" for opinion in latest):
            surest = max(latest, key=lambda opinion: (opinion["confidence"] or 0.0, opinion["signal_id"]))
            found.append(LikedAnswer(event_id, day, surest["response_id"], surest["confidence"] or 0.0))
    return found


def _with_any_id(identities: pa.Table, by_response: Mapping[str, object]) -> Iterable[tuple[str, date, frozenset[str]]]:
    """Find the answers that carry one of the ids, and which; without making Python objects of all the others."""
    ids = pa.array([known for known in by_response if known is not None], pa.string())
    for batch in identities.to_batches():
        flat, parents = pc.list_flatten(batch["response_ids"]), pc.list_parent_indices(batch["response_ids"])
        rows = batch.take(pc.unique(parents.filter(pc.is_in(flat, ids))))
        for row in rows.select(["event_id", "date", "response_ids"]).to_pylist():
            yield row["event_id"], row["date"], frozenset(row["response_ids"]) & by_response.keys()


def _latest_by_user(opinions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(opinions, key=lambda opinion: (opinion["signaled_at"] or _LONG_AGO, opinion["signal_id"]))
    return list({opinion["user_id"]: opinion for opinion in ordered}.values())
