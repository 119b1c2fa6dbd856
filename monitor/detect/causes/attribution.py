"""Change attribution: the features that changed near an onset, the most likely cause first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
from numpy.typing import NDArray

from monitor.detect.causes.features import SPECS, Feature, FeatureKind
from monitor.detect.causes.found_change import MOST_TOLD, FoundChange, LoggedAddress
from monitor.detect.causes.logged_answer import AnswerFeatures, FeatureKey, Value
from monitor.detect.causes.series import Floats, Series, series_of, shared_lines
from monitor.detect.causes.window_comparison import ConversationWindows, p_value, windows_of

DAYS_BEFORE = 7
"""Days before the onset that say what is ordinary."""
LONGEST_AFTER = timedelta(days=1)
"""Answers of so long after the onset are compared."""
LARGEST_P = 0.07
"""Corrected p-value up to which a change is told."""
SMALLEST_SIZE, SMALLEST_SIZE_OF_RANKS = 0.05, 0.25
"""Of a change that is told: of shares, and of numbers, whose ranks vary without a cause."""
_DAY = timedelta(days=1)
_SHORTEST_AFTER = timedelta(hours=1)
_SEARCHED = timedelta(days=2)
"""The change point is looked for from so long before the onset."""
_FARTHEST = timedelta(hours=8)
"""A change that is farther from the onset is not told."""
_NEAR = timedelta(hours=4)
"""Closeness falls to 1/e at this distance."""
_LEAST_KNOWN = 0.02
_CLEAR_P = 1e-5
_CALLED_LESS = 0.6
_PARTIAL = 0.75
SETTINGS = (Feature.MODEL, Feature.PARAMETER, Feature.SYSTEM_PROMPT, Feature.TOOLS)
"""What an application asks of its models."""
_MOSTLY = 0.6
"""Where so many answers have another value, the change is said as that of one value to another."""


@dataclass(frozen=True)
class OnsetInterval:
    """The likely onset of an alert, with its interval."""

    since: datetime
    earliest: datetime
    latest: datetime


@dataclass(frozen=True)
class _Sample:
    answers: Sequence[AnswerFeatures]
    seconds: Floats
    conversations: NDArray[np.int64]
    days: NDArray[np.int64]
    """Days before the start of the time after; 0 is after, -1 between, within the interval of the onset."""
    is_before: NDArray[np.bool_]
    is_after: NDArray[np.bool_]
    window_numbers: NDArray[np.int64]
    windows: ConversationWindows
    windows_before: ConversationWindows
    """The same of the days before alone: 0 is the last of them, which the time after follows."""
    onset: OnsetInterval


@dataclass(frozen=True)
class _Candidate:
    key: FeatureKey
    series: Series
    known: NDArray[np.bool_]
    values: Sequence[Value | None]
    p_value: float


def changes_around(answers: Sequence[AnswerFeatures], onset: OnsetInterval, until: datetime) -> tuple[FoundChange, ...]:
    """Return what changed near the onset, the most likely cause first, at most three; empty where nothing did.

    A feature is told where the hours after the onset differ from the same hours of the days before by more than days
    differ (Holm's correction over all features), and its own change point is near the onset. Ranked by closeness, size,
    and whether such a change is rather a cause or follows from one.
    """
    sample = _sample(answers, onset, until)
    if sample is None:
        return ()
    candidates = [found for key in _keys(sample) if (found := _compared(key, sample)) is not None]
    candidates.sort(key=lambda one: (one.p_value, one.key))
    told: list[tuple[float, FoundChange]] = []
    corrected = 0.0
    for place, candidate in enumerate(candidates):
        corrected = max(corrected, min(1.0, candidate.p_value * (len(candidates) - place)))
        if corrected > LARGEST_P:
            break
        change = _change(candidate, corrected, sample)
        if change is not None and change.size >= _smallest(change):
            rank = _closeness(change, onset) * change.size * _weight(change)
            told.append((rank, change))
    ranked = sorted(told, key=lambda one: (-one[0], one[1].feature, one[1].subject))
    return tuple(change for rank, change in ranked[:MOST_TOLD] if rank > 0)


def _sample(answers: Sequence[AnswerFeatures], onset: OnsetInterval, until: datetime) -> _Sample | None:
    begin = onset.earliest - DAYS_BEFORE * _DAY
    chosen = sorted(
        (one for one in answers if begin <= one.at < min(until, onset.latest + LONGEST_AFTER)),
        key=lambda one: (one.at, one.event_id),
    )
    if not chosen:
        return None
    seconds = np.array([one.at.timestamp() for one in chosen])
    end = min(until, onset.latest + LONGEST_AFTER)
    # Of a late or wide interval too little is left after its end: then what follows the likely onset counts.
    rest = end - onset.latest
    start = onset.latest if rest >= max(_SHORTEST_AFTER, (end - onset.since) / 2) else onset.since
    length = min(end - start, LONGEST_AFTER)
    is_before = seconds < onset.earliest.timestamp()
    is_after = seconds >= start.timestamp()
    if not is_before.any() or not is_after.any():
        return None
    ago = np.ceil((start.timestamp() - seconds) / _DAY.total_seconds()).astype(np.int64)
    into = seconds - start.timestamp() + ago * _DAY.total_seconds()
    is_same_time = (into < length.total_seconds()) & (is_before & (ago >= 1) & (ago <= DAYS_BEFORE + 1))
    windows = np.where(is_after, 0, np.where(is_same_time, ago, -1))
    names: dict[str, int] = {}
    conversations = np.array([names.setdefault(one.conversation, len(names)) for one in chosen], np.int64)
    return _Sample(
        chosen, seconds, conversations, np.where(is_after, 0, np.where(is_before, ago, -1)), is_before, is_after,
        windows, windows_of(windows, conversations, DAYS_BEFORE + 2),
        windows_of(np.where(windows > 0, windows - 1, -1), conversations, DAYS_BEFORE + 1), onset,
    )  # fmt: skip


def _keys(sample: _Sample) -> list[FeatureKey]:
    """Return the features that enough answers of both sides have."""
    counts: Mapping[bool, Counter[FeatureKey]] = defaultdict(Counter)
    for one, before, after in zip(sample.answers, sample.is_before, sample.is_after, strict=True):
        if before or after:
            counts[bool(after)].update(one.values.keys())
    least = {True: _LEAST_KNOWN * sample.is_after.sum(), False: _LEAST_KNOWN * sample.is_before.sum()}
    return sorted(key for key in counts[True] if all(counts[side][key] >= least[side] for side in (True, False)))


def _compared(key: FeatureKey, sample: _Sample) -> _Candidate | None:
    values = [one.values.get(key) for one in sample.answers]
    if SPECS[key[0]].kind is FeatureKind.TEXT:
        values = shared_lines(values, sample.days)
    known = np.array([value is not None for value in values])
    places = np.flatnonzero(known)
    there = [value for value in values if value is not None]
    found: list[tuple[float, Series, NDArray[np.bool_]]] = []
    for series in series_of(
        there, SPECS[key[0]].kind, sample.days[places], sample.is_after[places], sample.window_numbers[places]
    ):
        numbers = np.zeros(len(values))
        numbers[places] = series.numbers
        usable = known if series.oldest_day is None else known & (sample.days <= series.oldest_day)
        if series.tested is None:
            p = p_value(numbers, usable, sample.windows)
        else:
            tested = np.zeros(len(values))
            tested[places] = series.tested
            p = p_value(tested, usable, sample.windows_before)
            series = replace(series, tested=tested)
        if p is not None:
            found.append((p, replace(series, numbers=numbers), usable))
    if not found:
        return None
    # Of two values of which one replaces the other, the one that rose is said.
    lowest = max(_CLEAR_P, 10 * min(p for p, _, _ in found))
    p, series, usable = max(
        (one for one in found if one[0] <= lowest), key=lambda one: (_rise(one[1], one[2], sample), -one[0])
    )
    return _Candidate(key, series, usable, values, min(1.0, min(one[0] for one in found) * len(found)))


def _rise(series: Series, known: NDArray[np.bool_], sample: _Sample) -> float:
    return _mean(series.numbers[known & sample.is_after]) - _mean(series.numbers[known & sample.is_before])


def _mean(numbers: Floats) -> float:
    return float(numbers.mean()) if numbers.size else 0.0


def _change(candidate: _Candidate, corrected: float, sample: _Sample) -> FoundChange | None:
    onset, known = sample.onset, candidate.known
    searched = known & (sample.seconds >= (onset.earliest - _SEARCHED).timestamp())
    places = np.flatnonzero(searched)
    repeats = len(places) / max(1, len(np.unique(sample.conversations[places])))
    point = change_point(candidate.series.numbers[places], repeats)
    if point is None:
        return None
    at, first, last = (sample.answers[places[place]].at for place in (point.place, point.first, point.last))
    before, after = known & sample.is_before, known & sample.is_after
    spec = SPECS[candidate.key[0]]
    numbers = candidate.series.numbers
    if spec.kind is FeatureKind.NUMBER:
        levels = [_level(candidate.values, side, is_mean=spec.unit == "%") for side in (before, after)]
        if levels[0] == levels[1]:
            levels = [_level(candidate.values, side, is_mean=True) for side in (before, after)]
        size = 2 * abs(_superiority(numbers[before], numbers[after]) - 0.5)
    elif candidate.series.tested is not None:
        tested, windows = candidate.series.tested, sample.window_numbers
        levels = [_mean(tested[known & (windows > 1)]), _mean(tested[known & (windows == 1)])]
        size = levels[1] - levels[0]
    else:
        levels = [float(numbers[side].mean()) for side in (before, after)]
        size = abs(levels[1] - levels[0])
    feature, subject = candidate.key
    found = FoundChange(
        feature=feature, subject=subject, at=at, earliest=first, latest=last, before=levels[0], after=levels[1],
        size=round(size, 4), p_value=corrected, is_new=candidate.series.is_new,
        is_gone=candidate.series.tested is not None,
    )  # fmt: skip
    return found if spec.kind is FeatureKind.NUMBER else _named(found, candidate, before, after, sample)


def _level(values: Sequence[Value | None], side: NDArray[np.bool_], *, is_mean: bool) -> float:
    numbers = np.array([values[place] for place in np.flatnonzero(side).tolist()], np.float64)
    return float(numbers.mean() if is_mean else np.median(numbers))


def _superiority(before: Floats, after: Floats) -> float:
    """Return how likely a number after is greater than one before, ties half."""
    ordered = np.sort(before)
    less, upto = np.searchsorted(ordered, after, "left"), np.searchsorted(ordered, after, "right")
    return float((less + upto).mean() / (2 * len(before)))


def _named(
    found: FoundChange, candidate: _Candidate, before: NDArray[np.bool_], after: NDArray[np.bool_], sample: _Sample
) -> FoundChange:
    """Add the values that the words name, and answers whose texts can be compared."""
    common = [_most_common(candidate.values, side) for side in (before, after)]
    differ = None not in common and common[0] != common[1] and found.size >= _MOSTLY
    spec, value = SPECS[found.feature], candidate.series.value
    if spec.is_named and spec.kind is FeatureKind.CATEGORY and differ:
        return msgspec.structs.replace(found, value=common[1], value_before=common[0])
    if spec.kind is FeatureKind.TEXT:
        old = _event(candidate.values, before, common[0], sample, latest=True)
        new = _event(candidate.values, after, common[1] if differ else value, sample, latest=False)
        return msgspec.structs.replace(found, answer_before=old, answer_after=new)
    if spec.is_named and candidate.series.is_new:
        value = _newest(candidate.values, before, after)
    return msgspec.structs.replace(found, value=value) if spec.is_named else found


def _most_common(values: Sequence[Value | None], side: NDArray[np.bool_]) -> str | None:
    counts = Counter(value for place in np.flatnonzero(side).tolist() if isinstance(value := values[place], str))
    return min(counts, key=lambda name: (-counts[name], name)) if counts else None


def _newest(values: Sequence[Value | None], before: NDArray[np.bool_], after: NDArray[np.bool_]) -> str | None:
    """Return the most frequent value after that is in no answer before."""
    sides = []
    for side in (before, after):
        parts = [values[place] for place in np.flatnonzero(side).tolist()]
        sides.append(Counter(part for one in parts for part in (one if isinstance(one, tuple) else (str(one),))))
    new = [name for name in sides[1] if name not in sides[0]]
    return min(new, key=lambda name: (-sides[1][name], name), default=None)


def _event(
    values: Sequence[Value | None], side: NDArray[np.bool_], value: str | None, sample: _Sample, *, latest: bool
) -> LoggedAddress | None:
    places = [place for place in np.flatnonzero(side).tolist() if value is None or values[place] == value]
    if not places:
        return None
    one = sample.answers[places[-1 if latest else 0]]
    return LoggedAddress(one.event_id, one.at.astimezone(UTC).date())


def _smallest(change: FoundChange) -> float:
    spec = SPECS[change.feature]
    is_ranks = spec.kind is FeatureKind.NUMBER and spec.unit != "%"
    return SMALLEST_SIZE_OF_RANKS if is_ranks else SMALLEST_SIZE


def _weight(change: FoundChange) -> float:
    # Where nothing is retrieved, what retrieves is called less: only a new one is a cause.
    is_less = change.feature is Feature.DEPLOYMENTS_CALLED and not change.is_new
    if is_less:
        return _CALLED_LESS
    # What an application asks of its models changes for all of its answers; clients differ among themselves.
    is_partial = change.feature in SETTINGS and change.size < _MOSTLY
    return SPECS[change.feature].weight * (_PARTIAL if is_partial else 1.0)


def _closeness(change: FoundChange, onset: OnsetInterval) -> float:
    gap = max(change.earliest - onset.latest, onset.earliest - change.latest, timedelta(0))
    return 0.0 if gap > _FARTHEST else float(np.exp(-(gap / _NEAR)))


_WITHIN = 2.0
"""Places whose log likelihood is within so much of the best one's are in the interval, about 95 %."""
_LEAST_SIDE = 5


@dataclass(frozen=True)
class ChangePlace:
    """Numbers of answers: `place` is the first after the change, which was after `first` and not after `last`."""

    place: int
    first: int
    last: int


def change_point(numbers: Floats, repeats: float) -> ChangePlace | None:
    """Return the change point of numbers in their order in time; None where there are too few.

    `repeats` are the answers a conversation: answers of one conversation are not independent, so that the likelihood
    is divided by it.
    """
    total = len(numbers)
    if total < 2 * _LEAST_SIDE:
        return None
    sums, squares = np.cumsum(numbers), float((numbers**2).sum())
    left = np.arange(1, total)
    within = squares - sums[:-1] ** 2 / left - (sums[-1] - sums[:-1]) ** 2 / (total - left)
    likelihood = -total / 2 * np.log(np.maximum(within, 0.25)) / max(repeats, 1.0)
    middle = slice(_LEAST_SIDE - 1, total - _LEAST_SIDE)
    best = int(np.argmax(likelihood[middle])) + _LEAST_SIDE - 1
    near = np.flatnonzero(likelihood >= likelihood[best] - _WITHIN)
    return ChangePlace(best + 1, int(near[0]), int(near[-1]) + 1)
