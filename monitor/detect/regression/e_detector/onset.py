"""Onset of a change of a mean: when, and whether at once, gradually or in some hours of each day, by Bayes factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lake.spec.alert_vocabulary import OnsetKind
from monitor.detect.regression.arrays import Floats, Times

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_LENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Days that a change may take; 0 is at once."""
_GRADUAL = 1.0
"""From so many days on it counts as gradual."""
_AT_ONCE = 0.5
"""Probability beforehand that it is at once; the other lengths share the rest."""
_STRONG = 20.0
"""Bayes factor from which another kind than `sudden` is told."""
_RECURRING = 0.1
"""Probability beforehand, beside 1 for the other two."""
LONGEST_RECURRENCE = 64 * _DAY
"""How far back what recurs is looked for: a time in the log may be any, and each day costs."""
_MOST_HOURS, _FEWEST_DAYS, _SHARE_OF_DAYS = 12, 3, 0.8
_COVERED = 0.95
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Onset:
    """Places of batches: the first after the change most likely, and the ends of the 95 % credible interval."""

    kind: OnsetKind
    at: int
    earliest: int
    latest: int
    step: int
    """The first after the change if that came at once."""
    hours: tuple[int, int] | None = None
    """Of a recurring change: from and until which hour of the day (UTC, 1 to 24)."""


def onset_of(starts: Times, sums: Floats, sign: float) -> Onset | None:
    """Return the onset of a fall (`sign` -1) or a rise (1), as sudden or gradual; None where there is none.

    `sums` are the batches' sums of weights, of values and of squares, shape (batches, 3). A change is `b * x`, where x
    goes from 0 to 1 within its length. With normal values of one variance, and before `b` has one too, the probability
    of each begin and length is known up to a factor; that of a begin is the sum over the lengths, so that the interval
    is as wide as not knowing the length makes it.
    """
    if len(starts) < 2:
        return None
    logs = _of_begins(starts, sums, sign)
    if not np.isfinite(logs).any():
        return None
    gradual = np.array(_LENGTHS) >= _GRADUAL
    is_gradual = _log_sum(logs[gradual]) - _log_sum(logs[~gradual]) > np.log(_STRONG)
    told = logs[gradual] if is_gradual else logs
    probable = np.exp(np.logaddexp.reduce(told, axis=0) - _log_sum(told))
    step = int(np.argmax(logs[0])) if np.isfinite(logs[0]).any() else int(np.argmax(probable))
    at = int(np.argmax(probable)) if is_gradual else step
    order = np.argsort(-probable, kind="stable")
    inside = order[: 1 + int(np.searchsorted(np.cumsum(probable[order]), _COVERED))]
    kind = OnsetKind.GRADUAL if is_gradual else OnsetKind.SUDDEN
    return Onset(kind, at + 1, min(at, int(inside.min())) + 1, max(at, int(inside.max())) + 1, step + 1)


def recurrence_of(starts: Times, sums: Floats, sign: float) -> Onset | None:
    """Return the hours of the day in which the mean is lower (`sign` -1) or higher since some day; else None.

    Only with strong evidence against a change that stays, and where most days since then have it. `starts` ascend.
    """
    slot = _slot(starts)
    if slot is None or len(starts) < 2:
        return None
    log_best, best, total = -np.inf, (0, 0, 0), -np.inf
    for begin in range(0, 24, slot):
        moved = starts - begin * _HOUR
        days = moved // _DAY - moved[0] // _DAY
        shape = (int(days[-1]) + 1, 24 // slot)
        places = np.ravel_multi_index((days, moved % _DAY // (slot * _HOUR)), shape)
        of_day = [np.bincount(places, sums[:, one], shape[0] * shape[1]).astype(np.float64) for one in (0, 1)]
        number, value = (_since(one.reshape(shape))[:, : _MOST_HOURS // slot] for one in of_day)
        logs = _log_likelihoods(sums, sign, number, number, value)
        total = np.logaddexp(total, _log_sum(logs))
        if logs.max() > log_best:
            day, length = np.unravel_index(np.argmax(logs), logs.shape)
            log_best, best = float(logs.max()), (begin, int(day), (int(length) + 1) * slot)
    if not np.isfinite(total):
        return None  # no hours of the day tell of it
    candidates = 24 // slot * (_MOST_HOURS // slot) * (int(starts[-1] - starts[0]) // _DAY + 1)
    staying = _of_begins(starts, sums, sign)
    log_factor = total - np.log(candidates) + np.log(_RECURRING) - (_log_sum(staying) - np.log(staying.shape[1]))
    if not log_factor > np.log(_STRONG):
        return None
    return _recurring(starts, sums, sign, best)


def _recurring(starts: Times, sums: Floats, sign: float, best: tuple[int, int, int]) -> Onset | None:
    begin, day, length = best
    moved = starts - begin * _HOUR
    days = moved // _DAY - moved[0] // _DAY
    mine = moved % _DAY < length * _HOUR
    fallen = mine & (days >= day)
    after, usual = (sums[one, 1].sum() / sums[one, 0].sum() for one in (fallen, ~fallen))
    number, value = _by_day(days[fallen] - day, sums[fallen])
    has = number > 0.0
    is_fallen = sign * (value[has] / number[has] - (after + usual) / 2) > 0.0
    if has.sum() < _FEWEST_DAYS or is_fallen.mean() < _SHARE_OF_DAYS:
        return None
    number, value = (np.cumsum(one[::-1])[::-1] for one in _by_day(days[mine], sums[mine]))
    logs = _log_likelihoods(sums, sign, number, number, value)
    (likely,) = np.nonzero(np.exp(logs - _log_sum(logs)) > 1.0 - _COVERED)
    at, earliest, latest = (
        int(np.argmax(mine & (days >= one))) for one in (day, min([day, *likely]), max([day, *likely]))
    )
    return Onset(OnsetKind.RECURRING, at, earliest, latest, at, (begin, (begin + length - 1) % 24 + 1))


def _by_day(days: Times, sums: Floats) -> tuple[Floats, Floats]:
    """Return the weights and the values of each day."""
    number, value = (np.bincount(days, sums[:, one]).astype(np.float64) for one in (0, 1))
    return number, value


def _of_begins(starts: Times, sums: Floats, sign: float) -> Floats:
    """Return the logarithm of each begin's and length's probability, but for a factor; shape (lengths, batches - 1)."""
    at = starts.astype(np.float64) / _DAY
    slot = np.diff(at).min() if len(at) > 1 else 1.0
    since = at[None, :] - at[1:, None]
    rest = (1.0 - _AT_ONCE) / (len(_LENGTHS) - 1)
    found = []
    for length in _LENGTHS:
        x = (since >= 0.0).astype(np.float64) if length == 0.0 else np.clip((since + slot / 2) / length, 0.0, 1.0)
        x = np.where(since >= 0.0, x, 0.0)
        logs = _log_likelihoods(sums, sign, x @ sums[:, 0], x**2 @ sums[:, 0], x @ sums[:, 1])
        found.append(logs + np.log(_AT_ONCE if length == 0.0 else rest))
    return np.array(found)


def _log_likelihoods(sums: Floats, sign: float, x: Floats, xx: Floats, xy: Floats) -> Floats:
    """Return the logarithm of the likelihood of changes, from the sums of x, of its squares and of x times values."""
    number, value, square = sums.sum(axis=0)
    error = max(square - value**2 / number, 0.0) + _ROUNDING
    spread, common = np.maximum(xx - x**2 / number, 0.0), xy - x * value / number
    # Beforehand the size is normal, with the standard deviation of the values.
    explained = common**2 / (spread + 1.0)
    logs = -number / 2 * np.log(np.maximum(error - explained, _ROUNDING)) - np.log1p(spread) / 2
    return np.where(sign * common > _ROUNDING, logs, -np.inf)


def _since(of_day: Floats) -> Floats:
    """Return sums from the first hour on, and from each day on."""
    return np.cumsum(np.cumsum(of_day, axis=1)[::-1], axis=0)[::-1]


def _slot(starts: Times) -> int | None:
    """Return the hours of a batch; None where a day has less than four batches, or they are of no whole hours."""
    shortest = int(np.diff(starts).min()) if len(starts) > 1 else _DAY
    hours = -(-shortest // _HOUR)
    return hours if 1 <= hours <= 6 and 24 % hours == 0 else None


def _log_sum(logs: Floats) -> float:
    return float(np.logaddexp.reduce(logs, axis=None))
