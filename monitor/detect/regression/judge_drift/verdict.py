"""Verdict on a regression: whether the application changed, its judge, or both."""

from __future__ import annotations

import math

from lake.spec.alert_vocabulary import AlertVerdict
from monitor.detect.regression.judgement import Judgement, Shift
from monitor.detect.regression.reading import Reading


def judgement_of(reading: Reading, shift: Shift | None) -> Judgement:
    """Judge a regression by the shift of its judge's anchors since it began.

    The judge's part of the drop is the shift, the application's the rest: reference - mean since then - shift. What
    another mix of the traffic has moved the mean by is nobody's, and not of the drop here. The rest's interval is made
    of those of the three by the method of variance estimates recovery (Zou and Donner, Statistics in Medicine 2008):
    the distances of their ends from the estimates are added as squares. A part is proven where its interval is above 0,
    and excluded where that ends below half of the drop.

    - `both`: both parts are proven.
    - `system`: the application's is proven, the judge's is not, and is excluded.
    - `judge`: the judge's is proven, the application's is not, and is excluded.
    - `undecided`: anything else, and where the drop or the shift is not known. It is explained by the judge where the
      judge's part is proven and at least half of the drop, and the application's is not proven.
    """
    known = (reading.drop_lower, reading.since_mean, reading.since_lower, reading.since_upper)
    drop, upper = reading.drop, reading.drop_upper
    lower, mean, mean_lower, mean_upper = known
    if shift is None or drop is None or lower is None or upper is None:
        return Judgement(AlertVerdict.UNDECIDED, shift)
    if mean is None or mean_lower is None or mean_upper is None:
        return Judgement(AlertVerdict.UNDECIDED, shift)
    # All is counted towards the worse.
    sign = 1.0 if reading.lower_is_better else -1.0
    judges = shift.times(sign)
    mix = sign * (reading.mix or 0.0)
    drop, lower, upper = drop - mix, lower - mix, upper - mix
    now = mean_upper - mean, mean - mean_lower
    if not reading.lower_is_better:
        now = now[1], now[0]
    # The drop's ends are those of the reference and of the mean, the one less the other.
    before = drop - lower - now[1], upper - drop - now[0]
    rest = drop - judges.mean
    rest_lower = rest - math.hypot(before[0], now[1], judges.upper - judges.mean)
    rest_upper = rest + math.hypot(before[1], now[0], judges.mean - judges.lower)
    proven = rest_lower > 0.0, judges.lower > 0.0
    if proven == (True, True):
        return Judgement(AlertVerdict.BOTH, shift)
    if proven == (True, False) and judges.upper < drop / 2:
        return Judgement(AlertVerdict.SYSTEM, shift)
    if proven == (False, True) and rest_upper < drop / 2:
        return Judgement(AlertVerdict.JUDGE, shift)
    is_explained = proven == (False, True) and judges.mean >= drop / 2
    return Judgement(AlertVerdict.UNDECIDED, shift, is_explained=is_explained)
