"""Alarm that goes on when a mean has moved above its level, and off when it is back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from monitor.detect.regression.arrays import Floats
from monitor.detect.regression.e_detector.bets import ALL, Bets
from monitor.detect.regression.e_detector.evidence import Evidence, Trajectory


@dataclass(slots=True, init=False, eq=False)
class Mixture:
    """Evidence that the mean of some segment is above its level: `R_all / 2 + sum_s R_s / (2 * segments)`.

    So a change of one small segment is not lost among the others. A mean of e-detectors is one. Where there is but
    one segment it is `R_all`. `segments` may grow from one to more: the new ones begin at 0, and what `R_all` gives up
    they may have.
    """

    _parts: dict[int, Evidence]
    _segments: int

    def __init__(self) -> None:
        self._parts = {}
        self._segments = 1

    def trajectories(self, bets: Bets, segments: int) -> dict[int, Trajectory]:
        """Return how each part would go on; a segment stays as it is in a batch that has no bet on it."""
        # Fewer would give a part more than it had.
        self._segments = max(self._segments, segments)
        of_segments = np.unique(bets.segments[bets.segments < segments]).tolist() if segments > 1 else ()
        for part in (ALL, *of_segments):
            self._parts.setdefault(part, Evidence())
        return _trajectories(self._parts, bets, {part: self._share(part) for part in self._parts})

    def advance_to(self, trajectories: Mapping[int, Trajectory], batch: int) -> None:
        """Move to the state after this batch."""
        _advance_to(self._parts, trajectories, batch)

    @property
    def log_parts(self) -> dict[int, float]:
        """Natural logarithm of what each part has in the mixture, by number of the segment or `ALL`."""
        return {part: evidence.log_value + math.log(self._share(part)) for part, evidence in self._parts.items()}

    @property
    def log_value(self) -> float:
        """Natural logarithm of the evidence; -inf before the first batch."""
        return float(np.logaddexp.reduce([-math.inf, *self.log_parts.values()]))

    def _share(self, part: int) -> float:
        if self._segments == 1:
            return 1.0
        return 0.5 if part == ALL else 0.5 / self._segments


@dataclass(slots=True, init=False, eq=False)
class Alarm:
    """Goes on when the evidence of a mean above its level reaches a threshold, and off on as much against it.

    The evidence against it is that of the mirror image for each part of the mixture that had the most when it went on,
    or has reached the threshold alone since: otherwise those segments that are well would end the alarm of one that is
    not. It restarts with every batch, as that for it does. A confidence sequence of the mean from the alarm on would
    first have to outweigh all that came before the recovery: a bad week would take weeks to end.
    """

    _log_threshold: float
    _for: Mixture
    _against: dict[int, Evidence]
    is_on: bool

    def __init__(self, log_threshold: float) -> None:
        self._log_threshold = log_threshold
        self._for = Mixture()
        self._against = {}
        self.is_on = False

    @property
    def log_evidence(self) -> float:
        """Natural logarithm of the evidence for it; -inf without any."""
        return self._for.log_value

    @property
    def log_evidence_against(self) -> float:
        """Natural logarithm of the evidence that it is over, or that the last one is; -inf before the first."""
        return min((one.log_value for one in self._against.values()), default=-math.inf)

    @property
    def leading(self) -> int:
        """The part of the mixture with the most evidence for it: the number of a segment, or `ALL`."""
        parts = self._for.log_parts
        return max(parts, key=lambda part: parts[part], default=ALL)

    def take(
        self, bets: Bets, segments: int = 1, log_looks: Floats | None = None
    ) -> tuple[int, Literal["on", "off"] | None]:
        """Add batches until something changes, one at least; gives how many these were, and what changed.

        While it is on it stops too after a batch with as much evidence for it as `log_looks` has there.
        """
        trajectories = self._for.trajectories(bets, segments)
        if not self.is_on:
            begun = _first(trajectories.values(), self._log_threshold)
            self._for.advance_to(trajectories, bets.batches - 1 if begun is None else begun)
            return (bets.batches, None) if begun is None else (begun + 1, self._begin())
        against = _trajectories(self._against, bets.mirrored, dict.fromkeys(self._against, 1.0))
        over = _first_of_all(against.values(), self._log_threshold)
        others = [
            _first([trajectory], self._log_threshold)
            for part, trajectory in trajectories.items()
            if part not in against
        ]
        look = None if log_looks is None else _first(trajectories.values(), log_looks)
        last = min((stop for stop in (over, look, *others) if stop is not None), default=bets.batches - 1)
        self._for.advance_to(trajectories, last)
        _advance_to(self._against, against, last)
        if last in others:
            self._against |= {part: Evidence() for part in self._parts_at_threshold() if part not in self._against}
        elif last == over:
            self._for, self.is_on = Mixture(), False
            return last + 1, "off"
        return last + 1, None

    def end(self) -> Literal["back"]:
        """Go off for another reason than evidence, and gather that from the beginning."""
        self._for, self._against, self.is_on = Mixture(), {}, False
        return "back"

    def _begin(self) -> Literal["on"]:
        self._against = {part: Evidence() for part in {*self._parts_at_threshold(), self.leading}}
        self.is_on = True
        return "on"

    def _parts_at_threshold(self) -> list[int]:
        return [part for part, log_value in self._for.log_parts.items() if log_value >= self._log_threshold]


def _trajectories(parts: Mapping[int, Evidence], bets: Bets, shares: Mapping[int, float]) -> dict[int, Trajectory]:
    return {
        part: one.trajectory(*bets.on(part), bets.batches, shares[part], bets.dependence) for part, one in parts.items()
    }


def _advance_to(parts: Mapping[int, Evidence], trajectories: Mapping[int, Trajectory], batch: int) -> None:
    for part, evidence in parts.items():
        evidence.advance_to(trajectories[part], batch)


def _first(trajectories: Iterable[Trajectory], log_thresholds: Floats | float) -> int | None:
    """Return the first batch after which the evidence of the parts together is as much as that."""
    parts = list(trajectories)
    possible = np.flatnonzero(np.max([one.log_most for one in parts], axis=0) >= log_thresholds)
    if not len(possible):
        return None
    together = np.logaddexp.reduce([one.log_values(possible) for one in parts], axis=0)
    return _place(possible, together >= np.broadcast_to(log_thresholds, parts[0].steps.shape)[possible])


def _first_of_all(trajectories: Iterable[Trajectory], log_threshold: float) -> int | None:
    """Return the first batch after which the evidence of every part is as much as that."""
    parts = list(trajectories)
    possible = np.flatnonzero(np.min([one.log_most for one in parts], axis=0) >= log_threshold)
    if not len(possible):
        return None
    return _place(possible, np.min([one.log_values(possible) for one in parts], axis=0) >= log_threshold)


def _place(places: np.ndarray, reached: np.ndarray) -> int | None:
    return int(places[reached.argmax()]) if reached.any() else None
