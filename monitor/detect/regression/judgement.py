"""Types of a judgement on a regression: what changed, the application or its judge, and by how much the judge did."""

from __future__ import annotations

from dataclasses import dataclass

from lake.spec.alert_vocabulary import AlertVerdict


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the same `answers` are scored otherwise: the mean difference with its 95 % interval."""

    mean: float
    lower: float
    upper: float
    answers: int

    def times(self, factor: float) -> Shift:
        """Return the shift in other units; the ends change places where the factor is below 0."""
        lower, upper = sorted((self.lower * factor, self.upper * factor))
        return Shift(self.mean * factor, lower, upper, self.answers)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What changed where scores fell, and by how much the judge scores the same answers higher; None if unknown.

    The shift is in the metric's own values. `can_drift` is False of a metric that has no judge. `is_explained` of an
    undecided one says that the judge has changed, by at least half of the drop, and that nothing proves more.
    """

    verdict: AlertVerdict = AlertVerdict.UNDECIDED
    shift: Shift | None = None
    can_drift: bool = True
    is_explained: bool = False


UNDECIDED = Judgement()
MEASURED = Judgement(AlertVerdict.SYSTEM, can_drift=False)
"""Of a metric without a judge: what it says of an answer cannot change, so the answers have."""
