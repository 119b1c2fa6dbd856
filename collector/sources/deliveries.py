"""What came over HTTP and waits for the lake: bounded in bytes, and many requests to a commit."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from collector.parsing import SignalRecord
from collector.pipeline import Collector
from collector.position import HTTP, Partition, Piece
from lake import log_failure

logger = logging.getLogger(__name__)

_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 60.0
"""Between two tries to commit what is held after a failure, where no request comes: the waits double."""


class OverloadedError(RuntimeError):
    """More came than the lake takes; what it was is not kept, and may be sent again."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line, a signal, or what cannot be read, with the reason and a message."""

    raw: bytes
    record: SignalRecord | None = None
    problem: tuple[str, str] | None = None


@dataclass
class Held:
    """Bytes of a request that are in memory."""

    bytes: int = 0


@dataclass
class Deliveries:
    """Requests that wait until what they brought is durable.

    At most `max_bytes` of bodies are held. Two commits begin at least `commit_seconds` apart, and all that came
    meanwhile shares the next one. A request waits `answer_seconds` at most: its rows may be stored later all the same.
    """

    collector: Collector
    max_bytes: int
    commit_seconds: float
    answer_seconds: float
    # The offset of an item is its number in this run; a run that has ended is never read on.
    _run: str = field(default_factory=lambda: uuid.uuid4().hex)
    _offsets: dict[Partition, int] = field(default_factory=dict)
    _held: int = 0
    _waiting: list[tuple[Partition, list[Item], asyncio.Future[None]]] = field(default_factory=list)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def hold(self) -> Iterator[Held]:
        """Count the bytes of one request as long as the block runs."""
        held = Held()
        try:
            yield held
        finally:
            self._held -= held.bytes

    def grow(self, held: Held, size: int) -> None:
        """Count bytes that a request brought; raises OverloadedError where they are too many in all."""
        # One request alone may always come: its own size has a limit too.
        if self._held > held.bytes and self._held + size > self.max_bytes:
            raise OverloadedError(f"{self._held} bytes wait for the lake already, of {self.max_bytes} at most")
        held.bytes += size
        self._held += size

    async def store(self, name: str, items: list[Item], held: Held) -> None:
        """Return when the items are durable; raises what kept them from it, and OverloadedError after the time."""
        if not items:
            return
        done = asyncio.get_running_loop().create_future()
        delivery = (Partition(HTTP, name, f"{self._run}{name}"), items, done)
        self._waiting.append(delivery)
        self._arrived.set()
        try:
            await asyncio.wait_for(asyncio.shield(done), self.answer_seconds)
        except TimeoutError:
            if delivery in self._waiting:
                self._waiting.remove(delivery)
            else:
                self._hold_until(done, held)
            raise OverloadedError(f"the lake did not take the rows within {self.answer_seconds:g} s") from None

    def _hold_until(self, done: asyncio.Future[None], held: Held) -> None:
        """Count the bytes of a request that was answered until its commit, which is under way, is over."""
        size, held.bytes = held.bytes, 0

        def over(future: asyncio.Future[None]) -> None:
            self._held -= size
            if not future.cancelled():
                future.exception()  # It is in the log; here nobody waits for it any more.

        done.add_done_callback(over)

    async def run(self) -> None:
        """Commit what is waiting, again and again, until cancelled.

        What the collector holds after a failed commit is tried again too where no sender comes again: no other source
        may be there to do it, and the collector would be told as failing long after the lake is back.
        """
        wait: float | None = None
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), wait)
            self._arrived.clear()
            taken, self._waiting = self._waiting, []
            pause = asyncio.create_task(asyncio.sleep(self.commit_seconds))
            retry = _FIRST_WAIT_SECONDS if wait is None else min(2 * wait, _LONGEST_WAIT_SECONDS)
            error = await asyncio.to_thread(self._commit, [(partition, items) for partition, items, _ in taken], retry)
            wait = None if error is None else retry
            for _, _, done in taken:
                if done.done():
                    continue
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)
            await pause

    def _commit(self, taken: list[tuple[Partition, list[Item]]], retry: float) -> Exception | None:
        try:
            self.collector.commit([piece for partition, items in taken for piece in self._pieces(partition, items)])
        except Exception as error:
            # The sender keeps its lines and sends them again; those that were stored meanwhile are then duplicates.
            message = (
                "lines that came over HTTP could not be stored; senders are told to send them again, and what is "
                "held of them is tried again in %g s"
            )
            log_failure(logger, error, message, retry)
            return error
        return None

    def _pieces(self, partition: Partition, items: list[Item]) -> Iterator[Piece]:
        for item in items:
            offset = self._offsets[partition] = self._offsets.get(partition, 0) + 1
            yield Piece(partition, item.raw, offset, problem=item.problem, record=item.record)
