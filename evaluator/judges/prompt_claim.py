"""Claim of a prompt in the replies that workers share, so that of two workers with one prompt one pays."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress

from evaluator.judges.completion import ChatCompletion
from evaluator.judges.exchange import JudgeError, Spend
from evaluator.judges.shared_replies import ReplyClaim, SharedReplies
from evaluator.judges.throttle import Clock, Sleep
from runtime.backoff import Backoff

ABANDONED_SECONDS = 30.0
"""A claim that stood unchanged for so long, and for the time that a call may take, is abandoned: time for what is done
around a call."""
_LONGEST_POLL_SECONDS = 2.0

Paid = tuple[ChatCompletion, Spend]
"""A completion and what it took now: nothing where it was there before."""


class ClaimedError(Exception):
    """Another worker has claimed or answered the prompt: `found` is what is there. `spend` is what earlier tries took.

    No call was made.
    """

    def __init__(self, found: ChatCompletion | ReplyClaim, spend: Spend | None = None) -> None:
        super().__init__("another worker asks this")
        self.found = found
        self.spend = spend or Spend()


class PromptClaim:
    """Claim of one prompt: written right before each time that the prompt is sent, and replaced by its reply.

    No clock of another machine counts: who waits takes a claim as abandoned, and asks, once it has seen it unchanged
    for `patience` seconds of its own. Where the store fails, the prompt is sent without a claim.
    """

    def __init__(
        self, shared: SharedReplies, key: str, patience: float, clock: Clock, sleep: Sleep, chance: random.Random
    ) -> None:
        self._shared, self._key = shared, key
        self._patience = patience
        self._clock, self._sleep, self._chance = clock, sleep, chance
        self._mark: str | None = None
        self._abandoned: str | None = None

    async def answered_or_sent(self, send: Callable[[], Awaitable[Paid]]) -> Paid:
        """Return the reply of another worker, or send and share what comes.

        `send` calls `take` before each call, and passes on its ClaimedError. Raises what else `send` raises.
        """
        try:
            return await self._answered_or_sent(send)
        except BaseException:
            if self._mark is not None:
                with suppress(asyncio.CancelledError):
                    await asyncio.to_thread(self._shared.release, self._key, self._mark)
            raise

    async def take(self) -> None:
        """Claim the prompt, or claim it again. Raises ClaimedError."""
        earlier = {mark for mark in (self._mark, self._abandoned) if mark is not None}
        # Known before it is written: an error or the end may come when it is there.
        self._mark = uuid.uuid4().hex
        found = await asyncio.to_thread(self._shared.claim, self._key, self._mark, earlier)
        if found is not None and found != ReplyClaim(self._mark):
            self._mark = None
            raise ClaimedError(found)

    async def _answered_or_sent(self, send: Callable[[], Awaitable[Paid]]) -> Paid:
        found, spend = await asyncio.to_thread(self._shared.find, self._key), Spend()
        while not (reply := await self._reply(found)):
            try:
                reply, paid = await send()
            except ClaimedError as error:
                found, spend = error.found, spend + error.spend
                continue
            except JudgeError as error:
                raise JudgeError(error.reason, str(error), spend + error.spend) from None
            with suppress(asyncio.CancelledError):  # it is paid: the caller gets it, shared or not
                await asyncio.to_thread(self._shared.keep, self._key, reply)
            return reply, spend + paid
        return reply, spend

    async def _reply(self, found: ChatCompletion | ReplyClaim | None) -> ChatCompletion | None:
        """Wait for the reply of the worker whose claim was found; None where it is given up, or abandoned."""
        since, waits = self._clock(), Backoff(first=0.25, cap=_LONGEST_POLL_SECONDS)
        while isinstance(found, ReplyClaim):
            if self._clock() - since >= self._patience:
                self._abandoned = found.claimed_by
                return None
            # At times of its own: of several that wait for an abandoned one, the next sees the claim of the first.
            await self._sleep(waits.next_delay() * self._chance.uniform(0.5, 1.5))
            seen = await asyncio.to_thread(self._shared.find, self._key)
            if seen != found:
                since = self._clock()
            found = seen
        return found
