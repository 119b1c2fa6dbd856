"""Which lines have been seen before: shippers send again what they are not sure of."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

_GENERATIONS = 4


@dataclass
class DuplicateWindow:
    """The event ids of the last `window` by arrival; the first line with an id stays, later ones are duplicates.

    Ids are kept in generations of a quarter window each, so that forgetting is cheap: an id is remembered for at least
    the window and at most a quarter more.
    """

    window: timedelta
    _generations: deque[tuple[datetime, set[int]]] = field(default_factory=deque)
    _unfinished: dict[int, tuple[str, int]] = field(default_factory=dict)

    def remember(self, event_id: str, at: datetime) -> None:
        """Note an id that the lake holds; call in order of `at`."""
        self._current(at).add(int(event_id, 16))

    def expect_again(self, event_id: str, app_id: str, offset: int) -> None:
        """Note an id that the lake holds of a batch that was cut off: its line will come again from that position."""
        self._unfinished[int(event_id, 16)] = (app_id, offset)

    def is_duplicate(self, event_id: str, app_id: str, offset: int, at: datetime) -> bool:
        """Whether a line with this id was seen before, at another position; it counts as seen from now on."""
        number = int(event_id, 16)
        current = self._current(at)
        if any(number in ids for _, ids in self._generations):
            return True
        first = self._unfinished.pop(number, None)
        current.add(number)
        return first is not None and first != (app_id, offset)

    def _current(self, at: datetime) -> set[int]:
        while self._generations and self._generations[0][0] < at - self.window - self.window / _GENERATIONS:
            self._generations.popleft()
        if not self._generations or self._generations[-1][0] + self.window / _GENERATIONS <= at:
            self._generations.append((at, set()))
        return self._generations[-1][1]
