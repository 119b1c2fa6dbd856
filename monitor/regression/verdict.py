"""What has changed where scores fell: the application, its judge, or both?"""

from __future__ import annotations

import math

from monitor.regression.judge import Judgement, Shift
from monitor.regression.reading import Reading

MEASURED = Judgement("system", can_drift=False)
"""Of a metric without a judge: what it says of an answer cannot change, so the answers have."""


def judgement_of(reading: Reading, shift: Shift | None) -> Judgement:
    """Judge a regression by the shift of its judge's anchors since it began.

    The judge's part of the drop is the shift, the application's the rest. The rest's interval is made of those of the
    drop and of the shift by the method of variance estimates recovery (Zou and Donner, Statistics in Medicine 2008):
    their distances from the estimate are added as squares. A part is proven where its interval is above 0, and
    excluded where it ends below half of the drop.

    - `both`: both parts are proven.
    - `system`: the application's is proven, the judge's is not, and is excluded.
    - `judge`: the judge's is proven, the application's is not, and is excluded.
    - `undecided`: anything else, and where the drop or the shift is not known.
    """
    drop, lower, upper = reading.drop, reading.drop_lower, reading.drop_upper
    if shift is None or drop is None or lower is None or upper is None or reading.reference_mean is None:
        return Judgement("undecided", shift)
    # A drop is how much worse it got: where lower is better, values rose.
    fell = (reading.since_mean or 0.0) <= reading.reference_mean
    judges = shift.times(-1.0 if fell else 1.0)
    rest = drop - judges.mean
    rest_lower = rest - math.hypot(drop - lower, judges.upper - judges.mean)
    rest_upper = rest + math.hypot(upper - drop, judges.mean - judges.lower)
    proven = rest_lower > 0.0, judges.lower > 0.0
    if proven == (True, True):
        return Judgement("both", shift)
    if proven == (True, False) and judges.upper < drop / 2:
        return Judgement("system", shift)
    if proven == (False, True) and rest_upper < drop / 2:
        return Judgement("judge", shift)
    return Judgement("undecided", shift)
