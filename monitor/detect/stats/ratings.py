"""People's likes and dislikes of answers, as rows of `scores` for the detectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.schemas import SCORES
from lake.spec.vocabulary import DISLIKES, Direction, JudgeKind, Signal, SignalOrigin
from monitor.detect.stats.scores import SCORE_COLUMNS

_VERSION = "1"
RATING_COLUMNS = ("signal_id", "response_id", "deployment", "signaled_at", "signal", "origin", "user_id", "chat_id")
_VALUES = {Signal.LIKE: 0.0, Signal.DISLIKE: 1.0}
_ABOUT = ("deployment", "response_id", "chat_id", "user_id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_SCORES = SCORES.schema.empty_table().select(SCORE_COLUMNS)

HeldRatings = dict[tuple[Any, ...], dict[str, Any]]
"""Rows of `user_signals` by batch, deployment, answer, conversation and person."""


class Ratings:
    """Explicit likes and dislikes; they become rows of `scores` of the metric `dislikes` once their batch is over.

    Of one person's ratings of one answer within a batch of event time the newest counts; all that name no person are
    one. In a later batch a person may rate the answer again: that is one more observation, and the earlier one stays.
    A rating that comes later than `grace` after the end of its batch is settled at once. Where answers share an id, or
    have none, those of different conversations, and of different people without one, are different answers.
    """

    def __init__(self, batch: timedelta, grace: timedelta) -> None:
        self._batch, self._grace = batch, grace
        self._held: HeldRatings = {}
        self._unhandled: dict[tuple[str, str], pa.Table] = {}

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `user_signals` (columns RATING_COLUMNS)."""
        has_id, has_chat, has_user = (pc.is_valid(rows[name]) for name in ("response_id", "chat_id", "user_id"))
        named = pc.and_(pc.or_(pc.or_(has_id, has_chat), has_user), pc.is_valid(rows["deployment"]))
        timed = pc.is_valid(rows["signaled_at"])
        rated = pc.and_(
            pc.equal(rows["origin"], SignalOrigin.EXPLICIT), pc.is_in(rows["signal"], pa.array(list(_VALUES)))
        )
        for row in rows.filter(pc.and_(pc.and_(named, timed), pc.fill_null(rated, False))).to_pylist():
            key = self._key(row)
            held = self._held.get(key)
            if held is None or _order(held) < _order(row):
                self._held[key] = row

    def settled(self, now: datetime) -> pa.Table:
        """Return, once, the ratings whose batch ended at least `grace` ago (columns SCORE_COLUMNS)."""
        due = [key for key in self._held if key[0] < self._number(now - self._grace)]
        if not due:
            return _NO_SCORES
        settled = SCORES.rows([_score(self._held[key]) for key in due]).select(SCORE_COLUMNS)
        for key in due:
            del self._held[key]
        return settled

    def settle(
        self, handlers: Mapping[str, Callable[[str, pa.Table], None]], now: datetime
    ) -> Mapping[tuple[str, str], Exception]:
        """Hand to each handler, by name, what is settled of each deployment; returns errors by deployment and handler.

        A handler takes rows as a whole or, by raising, not at all; then they come again at the next call.
        """
        settled = self.settled(now)
        for deployment in settled["deployment"].unique().to_pylist():
            mine = settled.filter(pc.equal(settled["deployment"], deployment))
            for name in handlers:
                before = self._unhandled.get((deployment, name), mine.slice(0, 0))
                self._unhandled[deployment, name] = pa.concat_tables([before, mine])
        errors = {}
        for (deployment, name), rows in list(self._unhandled.items()):
            try:
                handlers[name](deployment, rows)
            except Exception as error:
                errors[deployment, name] = error
            else:
                del self._unhandled[deployment, name]
        return errors

    def are_unsettled(self, deployment: str) -> bool:
        """Whether a handler lacks settled ratings of a deployment."""
        return any(name == deployment for name, _ in self._unhandled)

    def held_of(self, deployment: str) -> HeldRatings:
        """Return the ratings of a deployment whose batch is not over."""
        return {key: row for key, row in self._held.items() if row["deployment"] == deployment}

    def forget(self, deployment: str) -> None:
        """Forget the ratings of a deployment."""
        self._held = {key: row for key, row in self._held.items() if row["deployment"] != deployment}
        self._unhandled = {place: rows for place, rows in self._unhandled.items() if place[0] != deployment}

    def hold(self, held: HeldRatings) -> None:
        """Take in what `held_of` gave."""
        self._held |= {self._key(row): row for row in held.values()}

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (self._number(row["signaled_at"]), *(row[name] for name in _ABOUT))

    def _number(self, at: datetime) -> int:
        """Number of a batch: the one of the year 1 may have begun before the calendar."""
        return (at - _EPOCH) // self._batch


def _order(row: dict[str, Any]) -> tuple[datetime, str]:
    return row["signaled_at"], row["signal_id"] or ""


def _score(row: dict[str, Any]) -> dict[str, Any]:
    # Where several answers have one id, it is the conversation that tells them apart, else the rating itself.
    about = row["response_id"], row["chat_id"] or row["signal_id"]
    return {
        "event_id": " ".join(one for one in about if one),
        "response_id": row["response_id"],
        "deployment": row["deployment"],
        "requested_at": row["signaled_at"],
        "scored_at": row["signaled_at"],
        "date": row["signaled_at"].date(),
        "chat_id": row["chat_id"],
        "metric": DISLIKES,
        "metric_version": _VERSION,
        "judge": JudgeKind.RATINGS.value,
        "value": _VALUES[row["signal"]],
        "sampling_probability": 1.0,
        "direction": Direction.DOWN,
        "low": 0.0,
        "high": 1.0,
    }
