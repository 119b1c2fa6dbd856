"""Items of `POST /signals` and `POST /scores`: a body's division into items, and what both check of each."""

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

_AHEAD = timedelta(days=1)
_NO_ANSWER = "response_id: it is missing; of an answer without an id give chat_id or user_id, and the time"
_ID = re.compile(r"[0-9a-f]{32}")


def _storable(text: str) -> str:
    text.encode()  # A lone surrogate, which JSON can write and no table can hold.
    return text


def _in_utc(at: datetime) -> datetime:
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it lies outside the years 1 to 9999") from None


Text = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_storable)]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Moment = Annotated[datetime, AfterValidator(_in_utc)]


class Item(BaseModel):
    """What a client says of one answer; members without a field are kept in the row's `details`.

    `response_id` is the answer's id, or the `event_id` of its row. Of an answer without an id it may be left out:
    `chat_id`, `user_id` and the time then say which answer is meant, so one of the two must be there.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    deployment: Text
    response_id: Text | None = None
    user_id: Text | None = None
    chat_id: Text | None = None
    details: dict[str, Any] | None = None


class ItemReader:
    """Reads the items of a body, each by itself; those that cannot be read have a `problem` with this reason."""

    def __init__(self, reason: RejectionReason, title: str, members: str) -> None:
        """`title` is what an item is ("a signal"), `members` names those that it must have."""
        self._reason = reason
        self._title = title
        self._members = members

    def read(self, body: bytes, limit: int, record_of: Callable[[dict[str, Any]], SignalRecord]) -> list[DeliveredItem]:
        """Return the items of a body that is a JSON array, one object, or an object a line.

        `record_of` makes the record of one, or raises ValueError. Raises ValueError where no item can be read, and
        HTTPException 413 where what the body holds takes more than `limit` bytes.
        """
        items = [self._read(raw, record_of) for raw in _split(body, limit)]
        if items and all(item.problem is not None for item in items):
            problems = "; ".join(sorted({item.problem[1] for item in items if item.problem})[:5])
            raise ValueError(f"no item of the body is {self._title}: {problems}")
        return items

    def _read(self, raw: bytes, record_of: Callable[[dict[str, Any]], SignalRecord]) -> DeliveredItem:
        value = _value(raw)
        if value is None:
            return self._refused(raw, "it is no JSON")
        if not isinstance(value, dict):
            return self._refused(raw, f"{self._title} is a JSON object with {self._members}")
        try:
            return DeliveredItem(raw, record=record_of(value))
        except ValidationError as error:
            problems = (f"{'.'.join(map(str, at['loc']))}: {at['msg']}" for at in error.errors(include_url=False)[:5])
            return self._refused(raw, "; ".join(problems))
        except ValueError as error:
            return self._refused(raw, str(error))
        except TypeError:  # orjson reads deeper JSON than it writes
            return self._refused(raw, f"it nests more than {DEEPEST} levels deep")

    def _refused(self, raw: bytes, message: str) -> DeliveredItem:
        return DeliveredItem(raw, problem=(self._reason, message))


def require_answer(item: Item) -> None:
    """Raise ValueError where an item does not say which answer it is about."""
    if item.response_id is None and item.chat_id is None and item.user_id is None:
        raise ValueError(_NO_ANSWER)


def time_of(given: datetime | None, name: str, now: datetime) -> datetime:
    """Return the time that an item names, else `now`; raises ValueError where it lies in the future."""
    at = given or now
    if at > now + _AHEAD:
        raise ValueError(f"{name}: {at.isoformat()} lies in the future; check the sender's clock")
    return at


def details_of(item: Item) -> dict[str, Any]:
    """Return what the row's `details` keep: the item's own, and the members that have no column."""
    return dict(item.details or {}) | (item.model_extra or {})


def id_of(given: str | None, deployment: str, sent: Mapping[str, Any], *kind: str) -> str:
    """Return the id by which a repeat is known: the sender's own, else a hash of all that was sent; 32 hex digits.

    `kind` tells items of other addresses apart; with it the sender's own is hashed too.
    """
    if given is not None and not kind and is_own_id(given):
        return given
    identity = (sent if not kind else [*kind, sent]) if given is None else [deployment, *kind, given]
    return hashlib.blake2b(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def is_own_id(text: str) -> bool:
    """Whether an id that was sent is stored as it is."""
    return _ID.fullmatch(text) is not None


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
