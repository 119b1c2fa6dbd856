"""One number, from -1 to 1, for all signals that people gave about one answer."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa

from lake.spec.vocabulary import SignalOrigin

if TYPE_CHECKING:
    import pandas as pd

FOLD_COLUMNS = ("signal_id", "signaled_at", "signal", "value", "confidence", "origin", "user_id")
"""Columns of `user_signals` that `fold_signals` reads."""

_WEIGHTS = {SignalOrigin.EXPLICIT: 3.0, SignalOrigin.IMPLICIT: 1.0}

Signals: TypeAlias = "pd.DataFrame | pa.Table | Iterable[Mapping[str, Any]]"


@dataclass(frozen=True, slots=True)
class _Signal:
    signal_id: str
    at: tuple[bool, Any]
    signal: str
    value: float
    confidence: float
    explicit: bool
    user_id: str | None

    @property
    def weight(self) -> float:
        return _WEIGHTS[SignalOrigin.EXPLICIT if self.explicit else SignalOrigin.IMPLICIT] * self.confidence


def fold_signals(signals: Signals) -> float | None:
    """Fold the signals of one answer (`FOLD_COLUMNS`) into a number from -1 (bad) to 1 (good).

    1. A signal without a value or a confidence above 0 says nothing and is left out. So are labels, and scores of
       other programs: they are not what the person who asked thought.
    2. Of each person's explicit signals only the latest counts. All that give no user are one person.
    3. Of each person's implicit signals the most confident of each kind counts, if it is later than the explicit
       one of the same person: who rates has said what they think.
    4. With w = 3 for an explicit signal and 1 for an implicit one, c the confidence and v the value, the result is
       sum(w c v) / sum(w c), times the largest c.

    None where nothing is left. The order of the rows is of no importance.
    """
    counted = _counted([one for row in _rows(signals) if (one := _usable(row)) is not None])
    if not counted:
        return None
    mean = sum(one.weight * one.value for one in counted) / sum(one.weight for one in counted)
    return max(-1.0, min(1.0, mean * max(one.confidence for one in counted)))


def _counted(signals: list[_Signal]) -> list[_Signal]:
    ordered = sorted(signals, key=lambda one: (one.at, one.signal_id))
    ratings = {one.user_id: one for one in ordered if one.explicit}
    by_confidence = sorted(ordered, key=lambda one: (one.confidence, one.at, one.signal_id))
    signs = {
        (one.user_id, one.signal): one
        for one in by_confidence
        if not one.explicit and (one.user_id not in ratings or one.at > ratings[one.user_id].at)
    }
    return [*ratings.values(), *signs.values()]


def _rows(signals: Signals) -> Iterable[Mapping[str, Any]]:
    pandas = sys.modules.get("pandas")  # who has a frame has imported it
    if pandas is not None and isinstance(signals, pandas.DataFrame):
        signals = pa.Table.from_pandas(signals[list(FOLD_COLUMNS)], preserve_index=False)
    return cast("Iterable[Mapping[str, Any]]", signals.to_pylist() if isinstance(signals, pa.Table) else signals)


def _usable(row: Mapping[str, Any]) -> _Signal | None:
    if row["origin"] in (SignalOrigin.LABEL, SignalOrigin.SCORE):
        return None
    value, confidence = row["value"], row["confidence"]
    # Written so that NaN fails too.
    if value is None or confidence is None or not (-1 <= value <= 1 and 0 < confidence <= 1):
        return None
    return _Signal(
        signal_id=row["signal_id"] or "",
        at=_time(row["signaled_at"]),
        signal=row["signal"] or "",
        value=value,
        confidence=confidence,
        explicit=row["origin"] == SignalOrigin.EXPLICIT,
        user_id=row["user_id"],
    )


def _time(at: datetime | None) -> tuple[bool, Any]:
    return (at is not None, at or 0)
