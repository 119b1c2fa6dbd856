"""Limit on new deployments in an hour: each deployment that the lake does not have yet needs tables of its own."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from lake.store.store_errors import in_one_line
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

_HOUR = 3600.0
_READ_SECONDS = 60.0


class NewDeploymentLimit:
    """Admits deployments that the lake has, and a limited number of new ones in an hour, counted since the start.

    Lines of Core and signals of other senders have a limit each. Until the deployments of the lake could be read for
    the first time, all are admitted and none is counted, since the lake may have them.
    """

    def __init__(self, lake: Lake, lines: int, signals: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._lake = lake
        self._clock = clock
        self._most = {False: lines, True: signals}
        self._admitted: dict[bool, deque[float]] = {False: deque(), True: deque()}
        self._known: set[str] = set()
        self._read_at: float | None = None
        self._has_read = False
        self._warned_at: float | None = None

    def admits(self, deployment: str, *, is_signal: bool) -> bool:
        """Whether rows of a deployment may be stored; once they may, they always may."""
        if deployment in self._known:
            return True
        now = self._clock()
        # Another collector may have created tables meanwhile.
        if self._read_at is None or now - self._read_at >= _READ_SECONDS:
            self._read_at = now
            self._read_known()
            if deployment in self._known:
                return True
        if not self._has_read:
            self._known.add(deployment)
            return True
        admitted, most = self._admitted[is_signal], self._most[is_signal]
        while admitted and now - admitted[0] >= _HOUR:
            admitted.popleft()
        if len(admitted) >= most:
            self._refuse(deployment, is_signal, now)
            return False
        admitted.append(now)
        self._known.add(deployment)
        return True

    def _read_known(self) -> None:
        try:
            self._known.update(name for name in self._lake.deployments() if name is not None)
            self._has_read = True
        except Exception as error:  # a store may raise any error; the next read is soon
            logger.warning("cannot see which deployments the lake has (%s)", in_one_line(error))

    def _refuse(self, deployment: str, is_signal: bool, now: float) -> None:
        if self._warned_at is None or now - self._warned_at >= _READ_SECONDS:
            self._warned_at = now
            logger.warning(
                "more than %d new deployments came within an hour, last %r: rows of further ones are rejected, with "
                "their lines; if they are real, raise %s",
                self._most[is_signal],
                deployment[:200],
                setting_of(is_signal),
            )


def setting_of(is_signal: bool) -> str:
    """Name of the setting with the limit for signals or for lines."""
    return f"collector.{'signals.' if is_signal else ''}new_deployments_per_hour"
