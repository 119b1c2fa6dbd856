"""Number computed from verdicts, with its bounds where verdicts are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from lake.spec.vocabulary import UnscoredReason

UNDECIDED: Final = "undecided"
Verdict = bool | Literal["undecided"] | None
"""Supported, not supported, undecided, or None where the judge gave none; 1 and 0 are read as True and False."""

Flag = bool | None
"""True, False, or None where a missing verdict may make it either."""


@dataclass(frozen=True)
class Judged:
    """A number from verdicts: `value`, or None and then `reason` says why.

    `low` and `high` are the least and the greatest value that it can have: both are the value where there is one.
    With `judge_failed` they are the bounds whatever the missing verdicts are. With any other reason there is no number
    whatever the judge says, and both are None. A reason beside a value is a remark.
    """

    value: float | None
    reason: str | None
    low: float | None
    high: float | None

    @classmethod
    def known(cls, value: float, remark: str | None = None) -> Judged:
        """Return a number that no missing verdict can change."""
        return cls(value, remark, value, value)

    @classmethod
    def nothing(cls, reason: str) -> Judged:
        """Return no number: there is nothing that it could be of."""
        return cls(None, reason, None, None)

    @classmethod
    def between(cls, low: float, high: float) -> Judged:
        """Return the number where its bounds meet, and else the bounds."""
        return cls.known(low) if low == high else cls(None, UnscoredReason.JUDGE_FAILED, low, high)


def flag(verdict: Verdict, *, undecided_passes: bool = False) -> Flag:
    """Read a verdict: whether it says supported. Undecided is not supported, unless it shall pass.

    Raises ValueError for what is no verdict.
    """
    if verdict is None:
        return None
    if verdict == UNDECIDED:
        return undecided_passes
    if isinstance(verdict, str) or verdict not in (0, 1):
        raise ValueError(f"a verdict is True, False, {UNDECIDED!r} or None where it is missing, not {verdict!r}")
    return bool(verdict)


def flags(verdicts: Iterable[Verdict]) -> list[Flag]:
    """Read several verdicts."""
    return [flag(verdict) for verdict in verdicts]


def negated(one: Flag) -> Flag:
    """Whether not `one`."""
    return None if one is None else not one


def both(one: Flag, other: Flag) -> Flag:
    """Whether `one` and `other`; one that is False decides."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def any_of(several: Iterable[Flag]) -> Flag:
    """Whether any of several; one that is True decides."""
    found: Flag = False
    for one in several:
        if one:
            return True
        if one is None:
            found = None
    return found


def share(of: Sequence[Flag], nothing: str = UnscoredReason.NO_CLAIMS) -> Judged:
    """Return the share that is True; of none at all there is no share, for the reason `nothing`."""
    if not of:
        return Judged.nothing(nothing)
    sure = sum(one is True for one in of)
    possible = sum(one is not False for one in of)
    return Judged.between(sure / len(of), possible / len(of))
