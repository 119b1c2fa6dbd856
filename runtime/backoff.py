"""Waits between tries of something that fails: each is a multiple of the one before, up to a cap."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Backoff:
    """Gives the wait before each further try, in seconds: `first`, then `factor` times the one before, at most `cap`.

    It neither waits nor reads a clock, so that threads, coroutines and schedulers can all use it.
    """

    first: float
    cap: float
    factor: float = 2.0
    _failures: int = field(default=0, init=False)

    def next_delay(self) -> float:
        """Give the wait after one more failure."""
        try:
            delay = self.first * self.factor**self._failures
        except OverflowError:
            return self.cap
        self._failures += 1
        return min(delay, self.cap)

    def reset(self) -> None:
        """Begin with `first` again, as after a success."""
        self._failures = 0
