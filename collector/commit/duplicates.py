"""Detection of duplicate lines: log shippers send a line again when they are not sure that it arrived."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from collector.commit.position import Partition

Numbers = npt.NDArray[np.uint64]
"""Ids as numbers: one row for each id, with its upper and its lower 64 bits."""

_GENERATIONS = 4
_MOST_LOOSE_IDS = 200_000
_ID_DIGITS = 32
_BITS_OF_AN_ID = 16
_LOWER = (1 << 64) - 1
_NO_DIGIT = 255
_DIGITS = np.full(256, _NO_DIGIT, np.uint8)
for _digit in "0123456789abcdefABCDEF":
    _DIGITS[ord(_digit)] = int(_digit, 16)


def id_number(event_id: str) -> int:
    """Return the 128 bits of an id of 32 hex digits; for any other id those of its hash."""
    if len(event_id) == _ID_DIGITS:
        try:
            return int.from_bytes(bytes.fromhex(event_id))
        except ValueError:
            pass
    return int.from_bytes(hashlib.blake2b(event_id.encode(), digest_size=16).digest())


def id_numbers(event_ids: pa.Array) -> Numbers:
    """Return `id_number` of each id in a column without nulls."""
    if len(event_ids) == 0:
        return np.empty((0, 2), np.uint64)
    _, offsets, text = event_ids.cast(pa.string()).buffers()
    ends = np.frombuffer(offsets, np.int32)[event_ids.offset : event_ids.offset + len(event_ids) + 1]
    if (np.diff(ends) == _ID_DIGITS).all():
        digits = _DIGITS[np.frombuffer(text, np.uint8)[ends[0] : ends[-1]]].reshape(-1, 2)
        if digits.max() != _NO_DIGIT:
            halves = (digits[:, 0] << 4 | digits[:, 1]).view(">u8")
            return halves.astype(np.uint64).reshape(-1, 2)
    numbers = [id_number(event_id) for event_id in event_ids.to_pylist()]
    return _as_rows(numbers)


@dataclass
class DuplicateWindow:
    """The ids that arrived within the last `window`; the first line with an id is kept, later ones are duplicates.

    Ids are kept in generations of a quarter of the window each, so that old ids are cheap to remove: an id is kept for
    at least the window, and for at most a quarter of it longer. Most ids take 16 bytes.
    """

    window: timedelta
    _generations: deque[_Generation] = field(default_factory=deque)

    def remember(
        self, numbers: Numbers | Sequence[int], at: datetime, unfinished: Mapping[int, tuple[Partition, int]]
    ) -> None:
        """Add ids that the lake has since the time `at`; call in order of `at`.

        `unfinished` are ids of batches that were cut off, with partition and offset: their lines come again from there.
        """
        generation = self._current(at)
        if isinstance(numbers, np.ndarray):
            generation.add_all(numbers)
        else:
            for number in numbers:
                generation.add(number)
        generation.unfinished.update(
            {number: (partition.app_id, offset) for number, (partition, offset) in unfinished.items()}
        )

    def is_duplicate(self, number: int, partition: Partition, offset: int, at: datetime) -> bool:
        """Whether a line with this id was seen before at another offset; from now on the id counts as seen."""
        current = self._current(at)
        known = False
        for generation in self._generations:
            if number in generation.unfinished:
                if generation.unfinished[number] == (partition.app_id, offset):
                    del generation.unfinished[number]
                    known = False
                    break
                known = True
            known = known or number in generation
        if not known:
            current.add(number)
        return known

    def _current(self, at: datetime) -> _Generation:
        generations = self._generations
        if generations and generations[-1].ends_at > at and generations[0].forgotten_at >= at:
            return generations[-1]
        quarter = self.window / _GENERATIONS
        while generations and generations[0].forgotten_at < at:
            generations.popleft()
        if not generations or generations[-1].ends_at <= at:
            generations.append(_Generation(at + quarter, at + self.window + quarter))
        return generations[-1]


class _Generation:
    """Ids that arrived in one quarter of the window: the newest ones in a set, the others in two sorted columns."""

    def __init__(self, ends_at: datetime, forgotten_at: datetime) -> None:
        self.ends_at = ends_at
        self.forgotten_at = forgotten_at
        self.unfinished: dict[int, tuple[str, int]] = {}
        self._loose: set[int] = set()
        self._keep(np.empty((0, 2), np.uint64))

    def __contains__(self, number: int) -> bool:
        if number in self._loose:
            return True
        slot = number & self._slots
        if not self._taken[slot >> 3] >> (slot & 7) & 1:
            return False
        upper = number >> 64
        place = bisect_left(self._upper, upper)
        while place < self._count and self._upper[place] == upper:
            if self._lower[place] == number & _LOWER:
                return True
            place += 1
        return False

    def add(self, number: int) -> None:
        self._loose.add(number)
        if len(self._loose) >= _MOST_LOOSE_IDS:
            loose, self._loose = self._loose, set()
            self.add_all(_as_rows(list(loose)))

    def add_all(self, numbers: Numbers) -> None:
        if len(numbers):
            self._keep(np.concatenate([self._sorted, numbers]))

    def _keep(self, numbers: Numbers) -> None:
        self._sorted = numbers[np.argsort(numbers[:, 0])]
        # Python's own bisection, on memory that is not copied, finds one id faster than NumPy's.
        self._upper = self._sorted[:, 0].data
        self._lower = self._sorted[:, 1].data
        self._count = len(numbers)
        # Nearly all ids are new: one bit for the lowest digits of each known id shows that without bisection.
        self._slots = (1 << (_BITS_OF_AN_ID * self._count).bit_length()) - 1
        taken = np.zeros(max(self._slots + 1, 8), np.bool_)
        taken[self._sorted[:, 1] & np.uint64(self._slots)] = True
        self._taken = np.packbits(taken, bitorder="little").data


def _as_rows(numbers: list[int]) -> Numbers:
    packed = b"".join(number.to_bytes(16) for number in numbers)
    return np.frombuffer(packed, ">u8").astype(np.uint64).reshape(-1, 2)
