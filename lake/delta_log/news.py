"""Whether a table may have news: what a handle asks before it asks the store."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Protocol

TRUE_LOOK_SECONDS = 300.0
"""How often a table is looked at of which nobody said that it has news."""
_MOST_EARLIER = 0.9 * TRUE_LOOK_SECONDS
"""By how much sooner the second look may come."""


class News(Protocol):
    """What a handle is told of the changes of its table."""

    def may_be_there(self) -> bool:
        """Whether a look at the store could find something."""
        ...

    def told_version(self) -> int | None:
        """Return the version up to which the handle has only to read; None where it must look how far the table is."""
        ...

    def caught_up(self) -> None:
        """Note that the handle has read up to that version."""
        ...

    def seen(self) -> None:
        """Note that the handle has looked."""
        ...


class AlwaysNews:
    """Of a table that nobody watches: each look goes to the store."""

    def may_be_there(self) -> bool:
        """Return true: nobody tells that there is nothing."""
        return True

    def told_version(self) -> int | None:
        """Return None: nobody tells."""
        return None

    def caught_up(self) -> None:
        """Keep nothing: nobody tells of a version."""

    def seen(self) -> None:
        """Keep nothing: the next look goes to the store, too."""


class WatchedNews:
    """Of a table whose changes are told, though perhaps not each: from time to time there may be one untold."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._looked_at: float | None = None
        self._told: int | None = None

    def tell(self, version: int | None) -> None:
        """Say that the table has reached a version; None where nobody knows which."""
        if version is None:
            self._looked_at = None
        else:
            self._told = version if self._told is None else max(version, self._told)

    def may_be_there(self) -> bool:
        """Whether something was told since the last look, or that was long ago."""
        return self._told is not None or self._is_due()

    def told_version(self) -> int | None:
        """Return the version that was told."""
        return None if self._is_due() else self._told

    def caught_up(self) -> None:
        """Note that the handle has read up to the version that was told."""
        self._told = None

    def seen(self) -> None:
        """Note that the handle has looked."""
        now = self._monotonic()
        # Handles that are opened together look again at different times: else a reader of many would be held up.
        earlier = random.uniform(0, _MOST_EARLIER) if self._looked_at is None else 0.0  # noqa: S311 - no secret
        self._looked_at, self._told = now - earlier, None

    def _is_due(self) -> bool:
        return self._looked_at is None or self._monotonic() - self._looked_at >= TRUE_LOOK_SECONDS
