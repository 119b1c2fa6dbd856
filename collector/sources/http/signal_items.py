"""`POST /signals`: opinions of people on an answer that other programs send, beside DIAL's own rating call."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from collector.parsing import SignalRecord
from collector.parsing.line.core_lines import BOM
from collector.parsing.line.line import DEEPEST
from collector.sources.http.bodies import is_json, lines_of, require_few_items, require_few_values
from collector.sources.http.deliveries import DeliveredItem
from lake.spec.service_vocabulary import RejectionReason
from lake.spec.vocabulary import Signal, SignalOrigin

KNOWN_VALUES: Mapping[str, float] = {Signal.LIKE: 1.0, Signal.DISLIKE: -1.0}
"""Values of the signals that say it by their name, where an item has none."""
_SENT_WORD = "sent_signal"
_AHEAD = timedelta(days=1)
_NO_ANSWER = "response_id: it is missing; of an answer without an id give chat_id or user_id, and signaled_at"
_ID = re.compile(r"[0-9a-f]{32}")


def _storable(text: str) -> str:
    text.encode()  # A lone surrogate, which JSON can write and no table can hold.
    return text


def _in_utc(at: datetime) -> datetime:
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it lies outside the years 1 to 9999") from None


def _of_who_asked(origin: SignalOrigin) -> SignalOrigin:
    if origin is SignalOrigin.LABEL:
        raise ValueError("labels are given on the pages of the monitor and by `dialwatch label`")
    return origin


Text = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_storable)]


class SignalItem(BaseModel):
    """One signal as a client sends it; members without a field here are kept in the row's `details`.

    `response_id` is the answer's id, or the `event_id` of its row. Of an answer without an id it may be left out:
    `chat_id`, `user_id` and the time then say which answer is meant, so one of the two must be there.
    `signal` is a short word: `like` and `dislike` (buttons), `regenerate`, `edit`, `correction` (what people do when an
    answer was no good), or one of your own, such as `copy`, `share`, `escalation`. `value` runs from -1 (bad) to 1
    (good) and is null for a signal that says neither; `like` and `dislike` have 1 and -1 where it is left out.
    `signaled_at` is ISO 8601, UTC where it names no offset; without it the time of arrival counts.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    deployment: Text
    response_id: Text | None = None
    signal: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    value: Annotated[float | None, Field(ge=-1, le=1, strict=True, allow_inf_nan=False)] = None
    confidence: Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)] = 1.0
    signaled_at: Annotated[datetime, AfterValidator(_in_utc)] | None = None
    user_id: Text | None = None
    chat_id: Text | None = None
    origin: Annotated[SignalOrigin, AfterValidator(_of_who_asked)] = SignalOrigin.EXPLICIT
    details: dict[str, Any] | None = None
    signal_id: Text | None = None


def read_signals(
    body: bytes, now: datetime, limit: int = 64 << 20, stored_as: Callable[[str], str] = lambda word: word
) -> list[DeliveredItem]:
    """Return the signals of a body that is a JSON array, one object, or an object a line; each read by itself.

    An item that cannot be read has a `problem`. Raises ValueError where none of them can, and HTTPException 413 where
    what the body holds takes more than `limit` bytes. `stored_as` gives the word under which a signal is stored.
    """
    items = [_read(_value(raw), raw, now, stored_as) for raw in _split(body, limit)]
    if items and all(item.problem is not None for item in items):
        problems = "; ".join(sorted({item.problem[1] for item in items if item.problem})[:5])
        raise ValueError(f"no item of the body is a signal: {problems}")
    return items


def is_renamed(record: SignalRecord) -> bool:
    """Whether a signal is stored under another word than it came with, which is in its details."""
    return record.signal == Signal.OTHER and f'"{_SENT_WORD}":' in (record.details or "")


def _split(body: bytes, limit: int) -> list[bytes]:
    body = body.removeprefix(BOM)
    if not is_json(body):
        lines = lines_of(body, limit) or [body]
        require_few_values(lines, limit)
        return lines
    require_few_values([body], limit)
    if not body.lstrip().startswith(b"["):
        return [body]
    raws = msgspec.json.decode(body, type=list[msgspec.Raw])
    require_few_items(len(raws), limit)
    return [bytes(raw) for raw in raws]


def _value(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def _read(value: Any, raw: bytes, now: datetime, stored_as: Callable[[str], str]) -> DeliveredItem:
    if value is None:
        return DeliveredItem(raw, problem=(RejectionReason.NOT_A_SIGNAL, "it is no JSON"))
    if not isinstance(value, dict):
        return DeliveredItem(
            raw,
            problem=(RejectionReason.NOT_A_SIGNAL, "a signal is a JSON object with deployment, signal and response_id"),
        )
    try:
        signal = SignalItem.model_validate(value)
    except ValidationError as error:
        message = "; ".join(
            f"{'.'.join(map(str, at['loc']))}: {at['msg']}" for at in error.errors(include_url=False)[:5]
        )
        return DeliveredItem(raw, problem=(RejectionReason.NOT_A_SIGNAL, message))
    if signal.response_id is None and signal.chat_id is None and signal.user_id is None:
        return DeliveredItem(raw, problem=(RejectionReason.NOT_A_SIGNAL, _NO_ANSWER))
    at = signal.signaled_at or now
    if at > now + _AHEAD:
        message = f"signaled_at: {at.isoformat()} lies in the future; check the sender's clock"
        return DeliveredItem(raw, problem=(RejectionReason.NOT_A_SIGNAL, message))
    try:
        return DeliveredItem(raw, record=_record(signal, value, at, stored_as))
    except TypeError:  # orjson reads deeper JSON than it writes
        return DeliveredItem(raw, problem=(RejectionReason.NOT_A_SIGNAL, f"it nests more than {DEEPEST} levels deep"))


def _record(signal: SignalItem, sent: dict[str, Any], at: datetime, stored_as: Callable[[str], str]) -> SignalRecord:
    details = dict(signal.details or {}) | (signal.model_extra or {})
    if signal.signal_id is not None and not _ID.fullmatch(signal.signal_id):
        details["signal_id"] = signal.signal_id
    signal_id, word = _signal_id(signal, sent), stored_as(signal.signal)
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


def _signal_id(signal: SignalItem, sent: dict[str, Any]) -> str:
    """Return the id by which a repeat is known: the sender's own, else a hash of all that was sent; 32 hex digits."""
    if signal.signal_id is not None and _ID.fullmatch(signal.signal_id):
        return signal.signal_id
    identity = sent if signal.signal_id is None else [signal.deployment, signal.signal_id]
    return hashlib.blake2b(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
