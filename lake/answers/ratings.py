"""People's rating of each of many answers: explicit likes and dislikes, joined by the ids of the answer's chunks."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.vocabulary import Signal, SignalOrigin

RATING_COLUMNS = ("signal_id", "response_id", "signaled_at", "signal", "user_id")
IS_RATING = (ds.field("origin") == SignalOrigin.EXPLICIT) & ds.field("signal").isin([Signal.LIKE, Signal.DISLIKE])


class AnswerRating(StrEnum):
    """People's rating of an answer: of each person the latest counts, and one dislike outweighs likes of others."""

    LIKED = "liked"
    DISLIKED = "disliked"
    NONE = "none"


def ratings_of(answers: pa.Table, ratings: pa.Table) -> list[AnswerRating]:
    """Give the rating of each answer (`response_id`, `response_ids`) by rows of `RATING_COLUMNS` of `user_signals`."""
    found = [AnswerRating.NONE] * answers.num_rows
    by_id: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in ratings.to_pylist():
        by_id[row["response_id"]].append(row)
    of_answer: dict[int, set[str]] = defaultdict(set)
    numbers, ids = _ids(answers)
    are_rated = pc.is_in(ids, pa.array([name for name in by_id if name is not None], pa.string()))
    for number, name in zip(numbers.filter(are_rated).to_pylist(), ids.filter(are_rated).to_pylist(), strict=True):
        of_answer[number].add(name)
    for number, names in of_answer.items():
        found[number] = _rating([row for name in names for row in by_id[name]])
    return found


def _ids(answers: pa.Table) -> tuple[pa.Array, pa.Array]:
    """Give every id of every answer, and the number of the answer that has it."""
    many, one = answers["response_ids"].combine_chunks(), answers["response_id"].combine_chunks()
    numbers = pa.concat_arrays([pc.list_parent_indices(many), pa.array(range(len(one)), pa.int64())])
    return numbers, pa.concat_arrays([pc.list_flatten(many), one])


def _rating(rows: list[dict[str, Any]]) -> AnswerRating:
    ordered = sorted(rows, key=lambda row: (row["signaled_at"] is not None, row["signaled_at"], row["signal_id"] or ""))
    latest = {row["user_id"]: row["signal"] for row in ordered}
    return AnswerRating.DISLIKED if Signal.DISLIKE in latest.values() else AnswerRating.LIKED
