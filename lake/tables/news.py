"""Whether a table may have news: what a handle asks before it asks the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

TRUE_LOOK_SECONDS = 300.0
"""How often a table is looked at of which nobody said that it has news."""


class News(Protocol):
    """What a handle is told of the changes of its table."""

    def may_be_there(self) -> bool:
        """Whether a look at the store could find something."""
        ...

    def seen(self) -> None:
        """Note that the handle has looked."""
        ...


class AlwaysNews:
    """Of a table that nobody watches: each look goes to the store."""

    def may_be_there(self) -> bool:
        """Say so."""
        return True

    def seen(self) -> None:
        """Do nothing."""


class WatchedNews:
    """Of a table whose changes are told, though perhaps not each: from time to time there may be one untold."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._looked_at: float | None = None

    def tell(self) -> None:
        """Say that there is something new."""
        self._looked_at = None

    def may_be_there(self) -> bool:
        """Whether something was told since the last look, or that was long ago."""
        return self._looked_at is None or self._monotonic() - self._looked_at >= TRUE_LOOK_SECONDS

    def seen(self) -> None:
        """Note that the handle has looked."""
        self._looked_at = self._monotonic()
