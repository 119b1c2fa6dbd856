"""Memo of results that were worked out from replies, for the next metric that needs them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

_MOST = 2_048
_FAILURE_SECONDS = 600.0
"""Metrics of the same rows come one after the other: the next one shall not try, and pay, again at once."""


class Memo:
    """The last 2,048 things by their keys, for any number of threads; a failure is forgotten after ten minutes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, float]] = OrderedDict()

    def find(self, key: Hashable) -> Any | None:
        """Give what was kept, None where there is nothing."""
        with self._lock:
            found, until = self._kept.get(key, (None, 0.0))
            if found is None or until < self._clock():
                return None
            self._kept.move_to_end(key)
            return found

    def keep(self, key: Hashable, found: Any, *, is_failure: bool) -> None:
        """Keep something, and forget what was not asked for longest."""
        until = self._clock() + _FAILURE_SECONDS if is_failure else float("inf")
        with self._lock:
            self._kept[key] = (found, until)
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST:
                self._kept.popitem(last=False)
