"""Features as numbers in [0, 1], one an answer: ranks of numbers, and shares of values of categories."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.detect.causes.features import FeatureKind
from monitor.detect.causes.logged_answer import Value

MOST_VALUES = 6
"""Of a category, so many values are compared one by one."""
_LEAST_SHARE = 0.02
_SHARED_LINE = 0.2
_LASTING_DAYS = 3
"""A value or line of fewer days, such as a date, comes and goes by itself."""
_HISTORY_DAYS = 2
"""A value is new that none of so many days before its own has."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """What is compared: a number of [0, 1] an answer; `value` is the one whose share it is.

    `is_new` where it is the share of values that occur in no other day of the time before.
    """

    numbers: Floats
    value: str | None = None
    is_new: bool = False
    tested: Floats | None = None
    """Where set, what is tested: of each day, the share of its values that the next day does not have."""
    oldest_day: int | None = None
    """Days before this one, counted back from the onset, are not compared: too little is known of what they follow."""


def series_of(
    values: Sequence[Value],
    kind: FeatureKind,
    days: NDArray[np.int64],
    is_after: NDArray[np.bool_],
    windows: NDArray[np.int64],
) -> list[Series]:
    """Return the series of a feature.

    `days` number the days of the answers, counted back from the onset, and `windows` the same hours of these days, -1
    for other hours; 0 is after the onset.
    """
    if kind is FeatureKind.NUMBER:
        return [Series(_ranks(np.array(values, np.float64)))]
    # A text has been made a category before.
    parts = [value if isinstance(value, tuple) else (str(value),) for value in values]
    if all(part == parts[0] for part in parts):
        return []
    is_share = kind is not FeatureKind.MEMBERS
    found = [*_of_values(parts, days, is_after, is_share), *_of_new(parts, days, is_share)]
    return [*found, *_of_gone(parts, windows, is_after)] if kind is FeatureKind.SET else found


def _ranks(numbers: Floats) -> Floats:
    """Return middle ranks divided by their number."""
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places] / len(numbers), np.float64)


def shared_lines(values: Sequence[Value | None], days: NDArray[np.int64]) -> list[Value | None]:
    """Return of each text, as one value, those of its lines that many answers share for days, or that only day 0 has.

    So names or retrieved texts within a system prompt are no change of it. Where other days have lines of their own
    too, such as dates, those of day 0 do not count.
    """
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    sizes: Counter[int] = Counter()
    for value, day in zip(values, days.tolist(), strict=True):
        if isinstance(value, tuple) and day >= 0:
            counts[day].update(set(value))
            sizes[day] += 1
    frequent = {day: {one for one in lines if lines[one] >= _SHARED_LINE * sizes[day]} for day, lines in counts.items()}
    in_days = Counter(line for day, lines in frequent.items() if day for line in lines)
    least = min(_LASTING_DAYS, len(frequent.keys() - {0}))
    shared = {line for line, number in in_days.items() if number >= least}
    with_own = [
        day
        for day, lines in frequent.items()
        if day and day + _HISTORY_DAYS in counts
        if any(all(line not in frequent.get(day + ago, ()) for ago in range(1, _HISTORY_DAYS + 1)) for line in lines)
    ]
    if len(with_own) < _LASTING_DAYS - 1:
        known = set().union(*(counts[day] for day in counts if day))
        shared |= frequent.get(0, set()) - known
    return [
        " ".join(line for line in value if line in shared) if isinstance(value, tuple) else None for value in values
    ]


def _of_values(
    parts: Sequence[tuple[str, ...]], days: NDArray[np.int64], is_after: NDArray[np.bool_], is_share: bool
) -> Iterable[Series]:
    lasting, least = _days_of(parts, days), min(_LASTING_DAYS, len({*days[days > 0].tolist()}))
    is_before = days > 0
    sides: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for one, after, before in zip(parts, is_after, is_before, strict=True):
        for part in one if after or before else ():
            sides[int(after)][part] += 1 / len(one) if is_share else 1
    sizes = [max(1, int(is_before.sum())), max(1, int(is_after.sum()))]
    names = {*sides[0], *sides[1]}
    shares = {name: max(sides[0][name] / sizes[0], sides[1][name] / sizes[1]) for name in names}
    known = (name for name, share in shares.items() if share >= _LEAST_SHARE and len(lasting.get(name, ())) >= least)
    frequent = sorted(known, key=lambda name: (-shares[name], name))
    for name in frequent[:MOST_VALUES]:
        numbers = [one.count(name) / (len(one) if is_share else 1) if one else 0.0 for one in parts]
        yield Series(np.array(numbers, np.float64), name)


def _of_new(parts: Sequence[tuple[str, ...]], days: NDArray[np.int64], is_share: bool) -> Iterable[Series]:
    """Yield the share of values that the days just before do not have, of each day alike, and which days have it."""
    seen = _days_of(parts, days)
    nowhere: set[int] = set()
    numbers = []
    for one, day in zip(parts, days.tolist(), strict=True):
        first = max(day, 0) + 1
        just_before = range(first, first + _HISTORY_DAYS)
        new = sum(not any(ago in seen.get(part, nowhere) for ago in just_before) for part in one)
        numbers.append(new / len(one) if one and is_share else float(new > 0))
    if any(numbers):
        yield Series(np.array(numbers, np.float64), is_new=True, oldest_day=int(days.max()) - _HISTORY_DAYS)


def _of_gone(
    parts: Sequence[tuple[str, ...]], windows: NDArray[np.int64], is_after: NDArray[np.bool_]
) -> Iterable[Series]:
    """Yield of each window the share of values that the next window does not have, to be compared with that of others.

    The numbers are the share of those that have left: they show when it was.
    """
    seen: dict[int, set[str]] = defaultdict(set)
    for one, window in zip(parts, windows.tolist(), strict=True):
        seen[window].update(one)
    tested = [
        sum(part not in seen[window - 1] for part in one) / len(one)
        if window > 0 and window - 1 in seen and one
        else 0.0
        for one, window in zip(parts, windows.tolist(), strict=True)
    ]
    left = Counter(part for number in seen if number > 0 for part in seen[number])
    gone = {part for part, count in left.items() if count >= _HISTORY_DAYS}
    gone -= {part for one, after in zip(parts, is_after, strict=True) if after for part in one}
    if gone and any(tested):
        numbers = [sum(part in gone for part in one) / len(one) if one else 0.0 for one in parts]
        yield Series(np.array(numbers, np.float64), tested=np.array(tested, np.float64))


def _days_of(parts: Sequence[tuple[str, ...]], days: NDArray[np.int64]) -> dict[str, set[int]]:
    """Return the days before the onset that have each value."""
    seen: dict[str, set[int]] = defaultdict(set)
    for one, day in zip(parts, days.tolist(), strict=True):
        if day > 0:
            for part in one:
                seen[part].add(day)
    return seen
