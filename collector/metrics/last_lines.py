"""Newest line of each configured source, and the sources that get none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from runtime.durations import duration

MISSING_AFTER_SECONDS = 60.0
"""How long a source may lack its files or its topic: a log that is rotated is away for a moment."""


@dataclass
class _Source:
    """`waits_since` is when it last got a line, else when it was first expected to, by the monotonic clock.

    `missing` says what the source lacks since `missing_since`.
    """

    advice: str
    waits_since: float
    newest_at: datetime | None = None
    missing: str | None = None
    missing_since: float = 0.0


class LastLines:
    """When each source last got a line: a time by the clock, and a problem by the monotonic clock.

    A source is a path, a topic or the HTTP endpoint, by a name such as `kafka dial-core-logs`. Threads may share one.
    """

    def __init__(
        self,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._sources: dict[str, _Source] = {}

    def expect(self, source: str, advice: str) -> None:
        """Expect lines of a source from now on; `advice` is what to do where none comes."""
        self._sources.setdefault(source, _Source(advice, self._monotonic()))

    def note(self, source: str) -> None:
        """Note that a source got a line just now; one that was not expected is of no interest."""
        if (found := self._sources.get(source)) is not None:
            found.waits_since, found.newest_at = self._monotonic(), self._clock()

    def excuse(self, source: str) -> None:
        """Note that no line can come now, as another process gets those of this source."""
        if (found := self._sources.get(source)) is not None:
            found.waits_since = self._monotonic()

    def note_missing(self, source: str, missing: str | None) -> None:
        """Note what a source lacks, its files or its topic, or that it is there."""
        if (found := self._sources.get(source)) is None:
            return
        if missing is not None and found.missing is None:
            found.missing_since = self._monotonic()
        found.missing = missing

    def newest(self) -> Mapping[str, datetime | None]:
        """When each source last got a line; None where it never did."""
        return {name: source.newest_at for name, source in self._sources.items()}

    def missing(self) -> Mapping[str, str]:
        """What each source lacks just now, of those that lack something."""
        return {name: source.missing for name, source in self._sources.items() if source.missing is not None}

    def problem(self, silent_after: float | None) -> str | None:
        """Say which sources lack what they read for a minute, or got no line for `silent_after` seconds."""
        now = self._monotonic()
        found = [text for name, one in self._sources.items() if (text := _problem(name, one, now, silent_after))]
        return "; ".join(found) or None


def _problem(name: str, source: _Source, now: float, silent_after: float | None) -> str | None:
    if source.missing is not None and now - source.missing_since >= MISSING_AFTER_SECONDS:
        return f"{name}: {source.missing}"
    silent = now - source.waits_since
    if source.missing is None and silent_after is not None and silent >= silent_after:
        return f"{name}: no line came for {duration(silent)}: {source.advice}"
    return None
