"""`POST /scores`: scores of answers that other programs have made, as rows of `user_signals` of the origin `score`.

The evaluator joins them with the answers and makes rows of `scores` of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import Field

from collector.parsing import SignalRecord
from collector.sources.http.deliveries import DeliveredItem
from collector.sources.http.items import (
    Item,
    ItemReader,
    Moment,
    Text,
    Word,
    details_of,
    id_of,
    require_answer,
    time_of,
)
from lake.spec.metric_names import is_own_name
from lake.spec.service_vocabulary import RejectionReason
from lake.spec.vocabulary import OUTSIDE_SCORE, Direction, Signal, SignalOrigin

_READER = ItemReader(RejectionReason.NOT_A_SCORE, "a score", "deployment, response_id, name and value")
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class ScoreItem(Item):
    """One score as a client sends it.

    `value` lies in `range`, whose ends are `[0, 1]` where it is left out. `direction` says which end is better: `up`,
    `down` or `none`, which is not watched. `scored_at` is ISO 8601, UTC where it names no offset; without it the time
    of arrival counts.
    """

    name: Word
    value: _Number
    range: tuple[_Number, _Number] = (0.0, 1.0)
    direction: Direction = Direction.UP
    scored_at: Moment | None = None
    score_id: Text | None = None


def read_scores(
    body: bytes,
    now: datetime,
    limit: int = 64 << 20,
    stored_as: Callable[[str], str] = lambda name: name,
    is_taken: Callable[[str], bool] = is_own_name,
) -> list[DeliveredItem]:
    """Return the scores of a body, as `ItemReader.read`.

    `stored_as` gives `other` for a name beyond the bound. `is_taken` says whether a name is the
    installation's own.
    """
    return _READER.read(body, limit, lambda sent: _record(sent, now, stored_as, is_taken))


def _record(
    sent: dict[str, Any], now: datetime, stored_as: Callable[[str], str], is_taken: Callable[[str], bool]
) -> SignalRecord:
    score = ScoreItem.model_validate(sent)
    require_answer(score)
    low, high = score.range
    if not (low < high and math.isfinite(high - low)):
        raise ValueError(f"range: [{low:g}, {high:g}] is no range; give its lower and its upper end")
    if not low <= score.value <= high:
        raise ValueError(f"value: {score.value:g} lies outside of the range from {low:g} to {high:g}")
    if is_taken(score.name):
        raise ValueError(
            f"name: {score.name!r} is a name that dialwatch uses itself; take another, such as my_{score.name}"
        )
    at = time_of(score.scored_at, "scored_at", now)
    details = details_of(score)
    if score.score_id is not None:
        details["score_id"] = score.score_id
    details[OUTSIDE_SCORE] = {"value": score.value, "low": low, "high": high, "direction": score.direction}
    kept = orjson.dumps(details).decode()
    score_id = id_of(score.score_id, score.deployment, sent, "score", score.name)
    if stored_as(score.name) == Signal.OTHER:
        raise ValueError(f"name: {score.name!r} is one more than collector.signals.words allows")
    return SignalRecord(
        signal_id=score_id,
        response_id=score.response_id,
        deployment=score.deployment,
        date=at.date(),
        signaled_at=at,
        signal=score.name,
        value=_opinion(score),
        confidence=1.0,
        origin=SignalOrigin.SCORE,
        user_id=score.user_id,
        chat_id=score.chat_id,
        details=kept,
    )


def _opinion(score: ScoreItem) -> float | None:
    """Return the value from -1 (bad) to 1 (good)."""
    low, high = score.range
    share = (score.value - low) / (high - low)
    return {Direction.UP: 2 * share - 1, Direction.DOWN: 1 - 2 * share, Direction.NONE: None}[score.direction]
