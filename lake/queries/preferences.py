"""Preferences of a judge between the answers of a replay and earlier ones, added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lake.spec.case_vocabulary import PREFERENCE
from runtime.sign_test import sign_test

EARLIER, TIE, LATER = 0.0, 0.5, 1.0
"""Values of `PREFERENCE` in `replays.scores`."""


@dataclass(frozen=True)
class Preferences:
    """How many answers a judge prefers to the earlier ones to the same questions (`later`), and the other way round.

    Of `undecided` pairs nothing is known: the judge chose otherwise when the answers changed places, or gave no reply.
    `probability` is that of the sign test: of counts so uneven where the judge prefers either side as often.
    """

    later: int
    earlier: int
    ties: int
    undecided: int
    probability: float

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Preferences | None:
        """Add up those of rows of `replays`; None where no judge was asked."""
        counts = Counter(value for row in rows for value in preferences_in(row))
        if not counts:
            return None
        later, earlier = counts[LATER], counts[EARLIER]
        return cls(later, earlier, counts[TIE], counts[None], sign_test(later, earlier))


def preferences_in(row: Mapping[str, Any]) -> list[float | None]:
    """Return the preference in a row of `replays`, None for an undecided one; nothing where no judge was asked."""
    return [score["value"] for score in row["scores"] or () if score["metric"] == PREFERENCE]
