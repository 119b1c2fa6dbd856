"""What people who rate say of the answers, as scores that a detector watches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake import DISLIKES, SCORES, JudgeKind
from monitor.stats.scores import SCORE_COLUMNS

_VERSION = "1"
RATING_COLUMNS = ("signal_id", "response_id", "deployment", "signaled_at", "signal", "origin", "user_id", "chat_id")
_VALUES = {"like": 0.0, "dislike": 1.0}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Ratings:
    """Explicit likes and dislikes, handed on as rows of `scores` of the metric `dislikes` once their hour is over.

    Of one person's ratings of one answer within a batch of event time the newest counts; all that name no person are
    one. In a later batch a person may say something else of the answer: that is one more observation, and what was
    handed on is not taken back. A rating that comes later than `grace` after the end of its batch is handed on at once.
    """

    def __init__(self, batch: timedelta, grace: timedelta) -> None:
        self._batch, self._grace = batch, grace
        self._held: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._due: dict[tuple[str, str], pa.Table] = {}

    def add(self, rows: pa.Table) -> None:
        """Take in rows of `user_signals` (columns RATING_COLUMNS)."""
        named = pc.and_(pc.is_valid(rows["response_id"]), pc.is_valid(rows["deployment"]))
        timed = pc.is_valid(rows["signaled_at"])
        rated = pc.and_(pc.equal(rows["origin"], "explicit"), pc.is_in(rows["signal"], pa.array(list(_VALUES))))
        for row in rows.filter(pc.and_(pc.and_(named, timed), pc.fill_null(rated, False))).to_pylist():
            key = (self._number(row["signaled_at"]), row["deployment"], row["response_id"], row["user_id"])
            held = self._held.get(key)
            if held is None or _order(held) < _order(row):
                self._held[key] = row

    def settled(self, now: datetime) -> pa.Table:
        """Give, once, the ratings whose batch ended at least `grace` ago (columns SCORE_COLUMNS)."""
        due = [key for key in self._held if key[0] < self._number(now - self._grace)]
        settled = SCORES.rows([_score(self._held[key]) for key in due]).select(SCORE_COLUMNS)
        for key in due:
            del self._held[key]
        return settled

    def hand_on(
        self, takers: Mapping[str, Callable[[str, pa.Table], None]], now: datetime
    ) -> Mapping[tuple[str, str], Exception]:
        """Give what is settled to each of `takers`, with the deployment's name; returns errors by deployment and taker.

        A taker takes rows whole or, by raising, not at all; what it refused comes again with the next call.
        """
        settled = self.settled(now)
        for deployment in settled["deployment"].unique().to_pylist():
            mine = settled.filter(pc.equal(settled["deployment"], deployment))
            for taker in takers:
                before = self._due.get((deployment, taker), mine.slice(0, 0))
                self._due[deployment, taker] = pa.concat_tables([before, mine])
        errors = {}
        for (deployment, taker), rows in list(self._due.items()):
            try:
                takers[taker](deployment, rows)
            except Exception as error:
                errors[deployment, taker] = error
            else:
                del self._due[deployment, taker]
        return errors

    def waits(self, deployment: str) -> bool:
        """Whether ratings of a deployment were refused and still have to be taken."""
        return any(name == deployment for name, _ in self._due)

    def _number(self, at: datetime) -> int:
        """Number of a batch: the one of the year 1 may have begun before the calendar."""
        return (at - _EPOCH) // self._batch


def _order(row: dict[str, Any]) -> tuple[datetime, str]:
    return row["signaled_at"], row["signal_id"] or ""


def _score(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "event_id": row["response_id"],
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
        "direction": "down",
        "low": 0.0,
        "high": 1.0,
    }
