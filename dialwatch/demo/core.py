"""Stand-in for DIAL Core's logger: writes the demo's traffic to a log file, a simulated day in some seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from dialwatch.demo.traffic import TrafficLine

_LEAST_WAIT_SECONDS = 0.05


class CoreLog:
    """Appends lines to a file at the pace of their own times, `speed` times as fast.

    A machine that cannot keep that up takes longer. `written` is the number of lines in the file, `now` the time of
    the last of them.
    """

    def __init__(self, path: Path, traffic: Sequence[TrafficLine], speed: float) -> None:
        self.written = 0
        self.now: datetime | None = None
        self._path = path
        self._traffic = traffic
        self._speed = speed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, name="core's log", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        began, first = time.monotonic(), self._traffic[0].at
        with self._path.open("ab", buffering=0) as file:
            for line in self._traffic:
                due = began + (line.at - first).total_seconds() / self._speed
                if due > time.monotonic() + _LEAST_WAIT_SECONDS and self._stop.wait(due - time.monotonic()):
                    return
                file.write(line.raw + b"\n")
                self.now = line.at
                self.written += 1
