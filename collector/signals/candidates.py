"""Pairs of requests in one chat that may show that the answer to the first one was not good."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lake.spec.vocabulary import Signal

_SOON = timedelta(hours=1)
_MOST_REQUESTS = 500
_MOST_AT_ONE_PLACE = 8


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request that a person made, without its texts.

    `response_id` is None if the answer is not whole, and the `event_id` if it has no id.
    """

    event_id: str
    response_id: str | None
    chat_id: str
    user_id: str | None
    project_id: str | None
    requested_at: datetime
    ended_at: datetime
    message_count: int | None
    history_hash: str | None
    prefix_hash: str | None
    parent_history_hash: str | None


@dataclass(frozen=True, slots=True)
class SignalCandidate:
    """An earlier request, and a later one that may be a signal about its answer; `signal` is the kind of signal."""

    signal: str
    earlier: ChatRequest
    later: ChatRequest


def candidates(chat: Iterable[ChatRequest], window: timedelta) -> Iterator[SignalCandidate]:
    """Yield the candidates for signals in one chat, in the order of the later requests.

    - regenerate: the same history is asked again within an hour.
    - edit: the same messages come before another last question within an hour. Both have the same number of messages,
      so that the earlier question is not in the later history. The caller must check that the texts are similar.
    - correction: the later request follows the earlier's answer within `window`. The caller must check its text.

    The later request begins when the answer is there and comes from the same person and project, as far as both are
    known. Some programs use one chat id for all their calls. So a chat of more than 500 requests gives no candidates,
    nor do more than 8 requests that continue one history, whether they are equal or not.
    """
    requests = sorted(chat, key=lambda request: (request.requested_at, request.event_id))
    if len(requests) > _MOST_REQUESTS:
        return
    same = _grouped(requests, lambda request: request.history_hash)
    siblings = _grouped(requests, _place)
    for later in requests:
        if len(siblings[_place(later)]) <= _MOST_AT_ONE_PLACE:
            yield from _pairs(Signal.REGENERATE, same[later.history_hash], later, _SOON)
            if later.message_count is not None:
                others = [request for request in siblings[_place(later)] if request.history_hash != later.history_hash]
                yield from _pairs(Signal.EDIT, others, later, _SOON)
        followed = same.get(later.parent_history_hash, ())
        if len(followed) <= _MOST_AT_ONE_PLACE:
            yield from _pairs(Signal.CORRECTION, followed, later, window)


def _place(request: ChatRequest) -> Hashable:
    return request.prefix_hash, request.message_count


def _grouped(
    requests: Sequence[ChatRequest], key: Callable[[ChatRequest], Hashable]
) -> dict[Hashable, list[ChatRequest]]:
    groups = defaultdict(list)
    for request in requests:
        if request.history_hash is not None:
            groups[key(request)].append(request)
    return groups


def _pairs(
    signal: str, some: Iterable[ChatRequest], later: ChatRequest, within: timedelta
) -> Iterator[SignalCandidate]:
    for earlier in some:
        if (
            earlier.response_id is not None
            and earlier.requested_at < later.requested_at
            and earlier.ended_at <= later.requested_at
            and later.requested_at - earlier.ended_at <= within
            and _may_be_the_same(earlier.user_id, later.user_id)
            and _may_be_the_same(earlier.project_id, later.project_id)
        ):
            yield SignalCandidate(signal, earlier, later)


def _may_be_the_same(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other
