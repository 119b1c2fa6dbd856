"""Data of a large chart over time: a line with what is around it, or bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Point:
    """One slot of time: its value, None where there is none, its 95 % interval where known, and what it is made of."""

    value: float | None
    low: float | None = None
    high: float | None = None
    number: int = 0


class MarkKind(StrEnum):
    """What happened at a moment; the order is that of the legend."""

    PAGE = "page"
    WARNING = "warning"
    ENDED = "alert ended"
    RELEASE = "release"
    SETTING = "changed setting"
    SILENCE = "silence"

    @property
    def words(self) -> str:
        """As people read it: a release is a new version to them, and this mark is none; a page is what they look at."""
        return {MarkKind.PAGE: "urgent alert", MarkKind.RELEASE: "accepted level"}.get(self, self.value)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened, until `until` where it lasted; `text` and `address` stand in the table."""

    kind: MarkKind
    at: datetime
    until: datetime | None = None
    text: str = ""
    address: str | None = None


@dataclass(frozen=True, slots=True)
class ChartOnset:
    """Most likely start of a regression, and the interval in which it lies."""

    at: datetime | None
    earliest: datetime
    latest: datetime


@dataclass(frozen=True)
class TimeChart:
    """A quantity in slots of equal length from `begin` on; `key` is for ids of the page, unique on it.

    As a line the axis shows the values, the reference, and at least `least_span`, inside `bounds` where there are any;
    as bars (`is_bars`) it begins at 0. `band` says what the interval of a point is, `counted` what `number` counts.
    """

    key: str
    name: str
    begin: datetime
    slot: timedelta
    points: Sequence[Point]
    quantity: str = "mean"
    unit: str = ""
    counted: str = ""
    band: str = ""
    reference: float | None = None
    reference_name: str = "reference"
    least_span: float = 0.0
    bounds: tuple[float, float] | None = None
    marks: Sequence[Mark] = ()
    onset: ChartOnset | None = None
    is_bars: bool = False
    begins_at_zero: bool = False
    """Whether a line has 0 on its axis in any case."""
    is_whole: bool = False
    is_bad: bool = False
    """Whether the line is drawn as that of something that got worse."""
    decimals: int = 2
    end: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Work out where the last slot ends."""
        object.__setattr__(self, "end", self.begin + max(1, len(self.points)) * self.slot)

    def begin_of(self, place: int) -> datetime:
        """When a slot begins."""
        return self.begin + place * self.slot

    def words(self, value: float) -> str:
        """A value as the texts and the table write it."""
        return f"{value:,.{self.decimals}f}{self.unit}"
