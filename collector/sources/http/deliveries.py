"""Items that came over HTTP and wait for the lake: bounded in bytes, many requests in one commit."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from collector.commit.position import Partition, Piece
from collector.parsing import Rejection, SignalRecord
from collector.pipeline.collector import Collector
from lake.spec.vocabulary import SourceKind
from lake.store.store_errors import log_failure
from runtime.backoff import Backoff
from runtime.durations import duration

logger = logging.getLogger(__name__)

"""Between two tries to commit what is held after a failure, where no request comes: the waits double."""


class OverloadedError(RuntimeError):
    """More came than the lake accepts; the items are not kept, and may be sent again."""


@dataclass(frozen=True, slots=True)
class DeliveredItem:
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
    """Requests that wait until their items are durable.

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
    _waiting: list[tuple[Partition, list[DeliveredItem], asyncio.Future[list[DeliveredItem]]]] = field(
        default_factory=list
    )
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

    async def store(self, name: str, items: list[DeliveredItem], held: Held) -> list[DeliveredItem]:
        """Return the items when they are durable; a signal that the collector refused has a problem then.

        Raises the error of the commit, or OverloadedError after the time.
        """
        if not items:
            return items
        done: asyncio.Future[list[DeliveredItem]] = asyncio.get_running_loop().create_future()
        delivery = (Partition(SourceKind.HTTP, name, f"{self._run}{name}"), items, done)
        self._waiting.append(delivery)
        self._arrived.set()
        try:
            return await asyncio.wait_for(asyncio.shield(done), self.answer_seconds)
        except TimeoutError:
            if delivery in self._waiting:
                self._waiting.remove(delivery)
            else:
                self._hold_until(done, held)
            raise OverloadedError(f"the lake did not take the rows within {duration(self.answer_seconds)}") from None

    def _hold_until(self, done: asyncio.Future[list[DeliveredItem]], held: Held) -> None:
        """Count the bytes of a request that was answered until its commit, which is under way, is over."""
        size, held.bytes = held.bytes, 0

        def over(future: asyncio.Future[list[DeliveredItem]]) -> None:
            self._held -= size
            if not future.cancelled():
                future.exception()  # It is in the log; here nobody waits for it any more.

        done.add_done_callback(over)

    async def run(self) -> None:
        """Commit what is waiting, again and again, until cancelled.

        After a failed commit the collector's batches are tried again, also if no sender sends again: there may be no
        other source that does it, and the collector would be reported as failing long after the lake is back.
        """
        wait: float | None = None
        backoff = Backoff()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._arrived.wait(), wait)
            self._arrived.clear()
            taken, self._waiting = self._waiting, []
            pause = asyncio.create_task(asyncio.sleep(self.commit_seconds))
            retry = backoff.next_delay()
            brought = [(partition, items) for partition, items, _ in taken]
            outcome = await asyncio.to_thread(self._commit, brought, retry)
            wait = retry if isinstance(outcome, Exception) else None
            if wait is None:
                backoff.reset()
            for number, (_, _, done) in enumerate(taken):
                if done.done():
                    continue
                if isinstance(outcome, Exception):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome[number])
            await pause

    def _commit(
        self, taken: list[tuple[Partition, list[DeliveredItem]]], retry: float
    ) -> list[list[DeliveredItem]] | Exception:
        """Commit the items; return them with the problems that the collector found, or the error if that fails."""
        try:
            rejections = self.collector.commit(
                [piece for partition, items in taken for piece in self._pieces(partition, items)]
            )
        except Exception as error:
            # The sender keeps its lines and sends them again; those that were stored meanwhile are then duplicates.
            message = (
                "lines that came over HTTP could not be stored; senders are asked to send them again, and what is "
                "held of them is tried again in %s"
            )
            log_failure(logger, error, message, duration(retry))
            return error
        judged = iter(rejections)
        return [[_judged(item, next(judged)) for item in items] for _, items in taken]

    def _pieces(self, partition: Partition, items: list[DeliveredItem]) -> Iterator[Piece]:
        for item in items:
            offset = self._offsets[partition] = self._offsets.get(partition, 0) + 1
            yield Piece(partition, item.raw, offset, problem=item.problem, record=item.record)


def _judged(item: DeliveredItem, rejections: list[Rejection]) -> DeliveredItem:
    if item.record is None or not rejections:
        return item
    return DeliveredItem(item.raw, problem=(rejections[0].reason, rejections[0].message))
