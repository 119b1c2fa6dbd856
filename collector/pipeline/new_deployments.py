"""Deployments that the lake does not have yet: each is tables of its own, so their number in an hour is bounded."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

from lake import Lake, in_one_line

logger = logging.getLogger(__name__)

_HOUR = 3600.0
_LOOK_SECONDS = 60.0


class NewDeploymentLimit:
    """Admits deployments that the lake has, and others up to a number in an hour, counted since the start.

    Lines of Core and signals from other places have a number each. As long as it could never be seen what the lake has,
    all are admitted and none is counted: they may be deployments that it has.
    """

    def __init__(self, lake: Lake, lines: int, signals: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._lake = lake
        self._clock = clock
        self._most = {False: lines, True: signals}
        self._admitted: dict[bool, deque[float]] = {False: deque(), True: deque()}
        self._known: set[str] = set()
        self._looked_at: float | None = None
        self._has_seen = False
        self._told_at: float | None = None

    def admits(self, deployment: str, *, is_signal: bool) -> bool:
        """Whether rows of a deployment may be stored; once they may, they always may."""
        if deployment in self._known:
            return True
        now = self._clock()
        # Another collector may have made its tables meanwhile.
        if self._looked_at is None or now - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = now
            self._look()
            if deployment in self._known:
                return True
        if not self._has_seen:
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

    def _look(self) -> None:
        try:
            self._known.update(name for name in self._lake.deployments() if name is not None)
            self._has_seen = True
        except Exception as error:  # whatever a store raises: the next look is soon
            logger.warning("cannot see which deployments the lake has (%s)", in_one_line(error))

    def _refuse(self, deployment: str, is_signal: bool, now: float) -> None:
        if self._told_at is None or now - self._told_at >= _LOOK_SECONDS:
            self._told_at = now
            logger.warning(
                "more than %d new deployments came within an hour, last %r: rows of further ones are rejected, with "
                "their lines; if they are real, raise %s",
                self._most[is_signal],
                deployment[:200],
                setting_of(is_signal),
            )


def setting_of(is_signal: bool) -> str:
    """Name of the setting that bounds them."""
    return f"collector.{'signals.' if is_signal else ''}new_deployments_per_hour"
