"""`POST /signals`: opinions of people on an answer that other programs send, beside DIAL's own rating call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, Field

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
    is_own_id,
    require_answer,
    time_of,
)
from lake.spec.service_vocabulary import RejectionReason
from lake.spec.vocabulary import Signal, SignalOrigin

KNOWN_VALUES: Mapping[str, float] = {Signal.LIKE: 1.0, Signal.DISLIKE: -1.0}
"""Values of the signals that say it by their name, where an item has none."""
_SENT_WORD = "sent_signal"
_READER = ItemReader(RejectionReason.NOT_A_SIGNAL, "a signal", "deployment, signal and response_id")


def _of_who_asked(origin: SignalOrigin) -> SignalOrigin:
    if origin is SignalOrigin.LABEL:
        raise ValueError("labels are given on the pages of the monitor and by `dialwatch label`")
    if origin is SignalOrigin.SCORE:
        raise ValueError("scores are sent to `POST /scores`")
    return origin


class SignalItem(Item):
    """One signal as a client sends it.

    `signal` is a short word: `like` and `dislike` (buttons), `regenerate`, `edit`, `correction` (what people do when an
    answer was no good), or one of your own, such as `copy`, `share`, `escalation`. `value` runs from -1 (bad) to 1
    (good) and is null for a signal that says neither; `like` and `dislike` have 1 and -1 where it is left out.
    `signaled_at` is ISO 8601, UTC where it names no offset; without it the time of arrival counts.
    """

    signal: Word
    value: Annotated[float | None, Field(ge=-1, le=1, strict=True, allow_inf_nan=False)] = None
    confidence: Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)] = 1.0
    signaled_at: Moment | None = None
    origin: Annotated[SignalOrigin, AfterValidator(_of_who_asked)] = SignalOrigin.EXPLICIT
    signal_id: Text | None = None


def read_signals(
    body: bytes, now: datetime, limit: int = 64 << 20, stored_as: Callable[[str], str] = lambda word: word
) -> list[DeliveredItem]:
    """Return the signals of a body, as `ItemReader.read`; `stored_as` gives the word under which one is stored."""
    return _READER.read(body, limit, lambda sent: _record(sent, now, stored_as))


def is_renamed(record: SignalRecord) -> bool:
    """Whether a signal is stored under another word than it came with, which is in its details."""
    return record.signal == Signal.OTHER and f'"{_SENT_WORD}":' in (record.details or "")


def _record(sent: dict[str, Any], now: datetime, stored_as: Callable[[str], str]) -> SignalRecord:
    signal = SignalItem.model_validate(sent)
    require_answer(signal)
    at = time_of(signal.signaled_at, "signaled_at", now)
    details = details_of(signal)
    if signal.signal_id is not None and not is_own_id(signal.signal_id):
        details["signal_id"] = signal.signal_id
    # First what may fail: a word that is counted is one that is stored.
    signal_id, word = id_of(signal.signal_id, signal.deployment, sent), stored_as(signal.signal)
    if word != signal.signal:
        details[_SENT_WORD] = signal.signal
    return SignalRecord(
        signal_id=signal_id,
        response_id=signal.response_id,
        deployment=signal.deployment,
        date=at.date(),
        signaled_at=at,
        signal=word,
        value=KNOWN_VALUES.get(signal.signal) if "value" not in sent else signal.value,
        confidence=signal.confidence,
        origin=signal.origin,
        user_id=signal.user_id,
        chat_id=signal.chat_id,
        details=orjson.dumps(details).decode() if details else None,
    )
