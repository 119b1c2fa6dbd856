"""Counts of what came of answers: scores with a value, and those without one, by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from evaluator.judges.exchange import TRANSIENT, Reason, Spend


@dataclass
class ScoreCounts:
    """What came of answers: scores with a value, without one by reason, and answers a metric left out by its name.

    `still_pending` counts, by reason, the scores that were retried and did not come. `not_sampled` counts the answers
    that no judge was asked about, `judged` the others; `matched` counts those that were compared with a case, by how it
    was found (`scores.reference_match`). `expected` is how many of all the whole sample would have, and
    `spend` what it took.
    """

    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    still_pending: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    not_sampled: int = 0
    judged: int = 0
    expected: float = 0.0
    spend: Spend = field(default_factory=Spend)

    @property
    def total(self) -> int:
        """All scores, with a value or without."""
        return self.scored + self.unscored.total()

    def add(self, other: ScoreCounts) -> None:
        """Add what came of other answers."""
        self.scored += other.scored
        self.unscored += other.unscored
        self.left_out += other.left_out
        self.still_pending += other.still_pending
        self.matched += other.matched
        self.not_sampled += other.not_sampled
        self.judged += other.judged
        self.expected += other.expected
        self.spend += other.spend

    @property
    def pending(self) -> int:
        """Scores that a judge did not give now, and may give later."""
        without = self.unscored + self.still_pending
        return sum(number for reason, number in without.items() if reason in TRANSIENT)

    @property
    def is_budget_spent(self) -> bool:
        """Whether a judge's budget did not do."""
        return bool(self.unscored[Reason.BUDGET] or self.still_pending[Reason.BUDGET])
