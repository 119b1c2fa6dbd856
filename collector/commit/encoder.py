"""Thread that encodes rows while more lines are parsed: Arrow does it without the interpreter's lock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pyarrow as pa

_MOST_WAITING = 2


class Encoder:
    """Does what it is given one after the other; who brings more than it can do waits, so that memory is bounded."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "collector encoder")
        self._waiting: deque[Future[None]] = deque()

    def submit(self, encode: Callable[[pa.RecordBatch], None], rows: pa.RecordBatch) -> Future[None]:
        """Have rows encoded; the result is None, or the error."""
        while len(self._waiting) >= _MOST_WAITING:
            wait([self._waiting.popleft()])
        done = self._thread.submit(encode, rows)
        self._waiting.append(done)
        return done


ENCODER = Encoder()
"""Of the process: its tables share one more core."""
