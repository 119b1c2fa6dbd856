"""People's rating of each of many answers: explicit likes and dislikes, of each answer that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.comments import comment_of, members_of
from lake.queries.signals_by_answer import SIGNAL_JOIN_COLUMNS, latest_of_each_person, signals_by_answer
from lake.spec.vocabulary import Signal, SignalOrigin

RATING_COLUMNS = ("signal_id", "signal", *SIGNAL_JOIN_COLUMNS)
IS_RATING = (ds.field("origin") == SignalOrigin.EXPLICIT) & ds.field("signal").isin([Signal.LIKE, Signal.DISLIKE])


class AnswerRating(StrEnum):
    """People's rating of an answer: of each person the latest counts, and one dislike outweighs likes of others."""

    LIKED = "liked"
    DISLIKED = "disliked"
    NONE = "none"


def ratings_of(answers: pa.Table, ratings: pa.Table, known: pa.Table | None = None) -> list[AnswerRating]:
    """Return the rating of each answer by rows of `RATING_COLUMNS`; they are joined as in `signals_by_answer`."""
    found = [AnswerRating.NONE] * answers.num_rows
    for number, rows in signals_by_answer(answers, ratings, known).items():
        found[number] = _rating(rows)
    return found


def _rating(rows: Sequence[Mapping[str, Any]]) -> AnswerRating:
    latest = latest_of_each_person(rows)
    return AnswerRating.DISLIKED if Signal.DISLIKE in latest.values() else AnswerRating.LIKED


def comments_of(answers: pa.Table, ratings: pa.Table, known: pa.Table | None = None) -> list[tuple[str, ...]]:
    """Return the comments that came with the ratings of each answer, the latest first; each once."""
    found: list[tuple[str, ...]] = [()] * answers.num_rows
    for number, rows in signals_by_answer(answers, ratings, known).items():
        ordered = sorted(rows, key=lambda row: (row["signaled_at"] is not None, row["signaled_at"]), reverse=True)
        texts = (comment_of(members_of(row["details"])) for row in ordered)
        found[number] = tuple(dict.fromkeys(text for text in texts if text and text.strip()))
    return found


LABEL_COLUMNS = ("signal_id", "signal", *SIGNAL_JOIN_COLUMNS)
"""Columns of `user_signals` that `shares_of_right` reads."""
_SAYS_LABEL = ds.field("origin") == SignalOrigin.LABEL
IS_LABEL = _SAYS_LABEL & ds.field("signal").isin([Signal.RIGHT, Signal.WRONG])
"""Labels: what people who judge answers said of them."""
IS_NO_LABEL = ds.field("origin").is_null() | ~ds.field("origin").isin([SignalOrigin.LABEL, SignalOrigin.SCORE])
"""Signals of the people who asked."""


class AnswerLabel(StrEnum):
    """Label of an answer: of each person the latest counts; `disputed` where people say both."""

    RIGHT = "right"
    WRONG = "wrong"
    DISPUTED = "disputed"
    NONE = "none"


def labels_of(answers: pa.Table, labels: pa.Table, known: pa.Table | None = None) -> list[AnswerLabel]:
    """Return the label of each answer by rows of `LABEL_COLUMNS`; they are joined as in `signals_by_answer`."""
    found = [AnswerLabel.NONE] * answers.num_rows
    for number, share in shares_of_right(answers, labels, known).items():
        found[number] = AnswerLabel.RIGHT if share == 1 else AnswerLabel.DISPUTED if share else AnswerLabel.WRONG
    return found


def shares_of_right(answers: pa.Table, labels: pa.Table, known: pa.Table | None = None) -> Mapping[int, float]:
    """Return, by the answer's number in the table, the share of people who say that it is right."""
    labelled = signals_by_answer(answers, labels, known)
    return {number: _share(rows) for number, rows in labelled.items()}


def _share(rows: Sequence[Mapping[str, Any]]) -> float:
    latest = list(latest_of_each_person(rows).values())
    return latest.count(Signal.RIGHT) / len(latest)
