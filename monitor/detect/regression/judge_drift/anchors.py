"""The judge drift detectors of all streams: new rows of `anchors` in, a reading of each judge out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.vocabulary import Draw
from monitor.detect.regression.arrays import groups_of
from monitor.detect.regression.judge_drift.detector import FEWEST, JudgeDriftDetector, offset
from monitor.detect.regression.judgement import Shift
from monitor.detect.regression.reading import StreamKey
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.stopped import StoppedStreams, StreamName, by_metric, of_metrics

ANCHOR_COLUMNS = (
    "event_id", "deployment", "metric", "metric_version", "draw", "value", "scored_at", "direction", "low", "high",
)  # fmt: skip

_SCORING = ("scored_at", "draw", "deployment", "metric", "metric_version", "direction", "low", "high")


@dataclass(frozen=True, slots=True)
class JudgeReading:
    """What is known of the judge of one stream, in the metric's own values; None until there is something to say."""

    shift: Shift | None
    """By how much it scores its anchors higher than at first: since `since`, else in its last 21 scorings."""
    active: bool
    """Whether it is taken to have changed."""
    since: datetime | None
    last_scored_at: datetime | None
    version_before: str | None
    offset: Shift | None
    """By how much this version scores the same answers higher than the one before."""


@dataclass
class AnchoredJudge:
    """What is known of the judge of one stream."""

    detector: JudgeDriftDetector
    scale: Scale
    begun_at: datetime
    scored_at: datetime
    compared: dict[str, float] = field(default_factory=dict)


class JudgeDriftDetectors:
    """A `JudgeDriftDetector` for each deployment, metric and version, fed with rows of the `anchors` table.

    Rows without a value, without a scale or outside of it take no part. Scorings are taken in by the time when they
    were made, so that history read again comes to the same numbers. Not safe for use by several threads at once.
    """

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._judges: dict[StreamKey, AnchoredJudge] = {}
        self._known: Mapping[StreamKey, JudgeReading] | None = None
        self.stopped = StoppedStreams("is not watched for a judge that changes")

    def add(self, rows: pa.Table, only: Set[str] | None = None, without: Set[str] = frozenset()) -> None:
        """Take in new rows, in any order; all rows of one scoring at once. `only` and `without` name metrics.

        An error stops the judges of its metric, of which all is dropped.
        """
        for metric, mine in by_metric(of_metrics(rows, only, without)):
            if self.stopped.takes_rows(metric):
                try:
                    self._judges |= self._changed(mine)
                except Exception as error:
                    self._stop(metric, error)
        self._known = None

    def _changed(self, rows: pa.Table) -> dict[StreamKey, AnchoredJudge]:
        changed: dict[StreamKey, AnchoredJudge] = {}
        for at, draw, key, scale, qualities in sorted(_scorings(rows), key=lambda one: one[:3]):
            judge = changed.get(key) or self._judges.get(key)
            if judge is None or judge.scale != scale:
                judge = AnchoredJudge(JudgeDriftDetector(self._tolerance), scale, at, at)
            changed[key] = judge
            if draw == Draw.COMPARED:
                judge.compared |= qualities
            else:
                judge.detector.add(at, qualities)
                judge.scored_at = max(judge.scored_at, at)
        return changed

    def judges_of(self, deployment: str) -> dict[StreamKey, AnchoredJudge]:
        """Return the judges of a deployment, to be kept."""
        return {key: judge for key, judge in self._judges.items() if key.deployment == deployment}

    def forget(self, deployment: str) -> None:
        """Forget the judges of a deployment."""
        self._judges = {key: judge for key, judge in self._judges.items() if key.deployment != deployment}
        self._known = None
        self.stopped.forget(deployment)

    def forget_metrics(self, deployment: str, metrics: Set[str]) -> None:
        """Forget the judges of some metrics of a deployment, of all versions."""
        gone = {(deployment, metric) for metric in metrics}
        self._judges = {key: judge for key, judge in self._judges.items() if key.of_metric not in gone}
        self._known = None

    def restore(self, judges: Mapping[StreamKey, AnchoredJudge]) -> None:
        """Go on with judges that were kept."""
        self._judges |= judges
        self._known = None

    def shift(self, key: StreamKey, since: datetime) -> Shift | None:
        """By how much a stream's judge scored its anchors higher from `since` on than at first; None if unknown."""
        judge = self._judges.get(key)
        try:
            return None if judge is None else _in_values(judge.detector.shift(since), judge.scale)
        except Exception as error:
            self._stop(key.of_metric, error)
            return None

    def can_compare(self, key: StreamKey) -> bool:
        """Whether a stream's judge has enough anchors to say by how much it changed."""
        judge = self._judges.get(key)
        return judge is not None and len(judge.detector.baseline) >= FEWEST

    def readings(self) -> Mapping[StreamKey, JudgeReading]:
        """Return what is known of every judge; some milliseconds for each after new rows."""
        if self._known is None:
            found: dict[StreamKey, JudgeReading] = {}
            for key, judge in self._judges.items():
                try:
                    found[key] = self._reading(key, judge)
                except Exception as error:
                    self._stop(key.of_metric, error)
            self._known = {key: reading for key, reading in found.items() if key in self._judges}
        return self._known

    def _stop(self, metric: StreamName, error: Exception) -> None:
        self.forget_metrics(metric[0], {metric[1]})
        self.stopped.stop(metric, error)

    def _reading(self, key: StreamKey, judge: AnchoredJudge) -> JudgeReading:
        before, difference = self._before(key, judge), None
        if before is not None:
            old = self._judges[before]
            difference = offset((old.detector.latest, old.compared), (judge.detector.baseline, judge.compared))
        return JudgeReading(
            shift=_in_values(judge.detector.shift(judge.detector.since), judge.scale),
            active=judge.detector.active,
            since=judge.detector.since,
            last_scored_at=judge.scored_at,
            version_before=before.metric_version if before else None,
            offset=_in_values(difference, judge.scale),
        )

    def _before(self, key: StreamKey, judge: AnchoredJudge) -> StreamKey | None:
        """Return the version that scored before this one began, if both have the same scale."""
        metric = key.deployment, key.metric
        older = [
            (other.scored_at, name)
            for name, other in self._judges.items()
            if (name.deployment, name.metric) == metric and name != key and other.begun_at < judge.begun_at
        ]
        found = max(older, default=None)
        return found[1] if found and self._judges[found[1]].scale == judge.scale else None


def _scorings(rows: pa.Table) -> Iterator[tuple[datetime, int, StreamKey, Scale, dict[str, float]]]:
    named = (pc.is_valid(rows[name]) for name in ("event_id", "deployment", "metric", "draw", "value", "scored_at"))
    table = rows.filter(reduce(pc.and_, named)).combine_chunks()
    events, values = np.asarray(table["event_id"], dtype=np.object_), np.asarray(table["value"], dtype=np.float64)
    for scoring in groups_of(table, _SCORING):
        about = table.select(_SCORING).slice(int(scoring[0]), 1).to_pylist()[0]
        scale = Scale.of(about["direction"], about["low"], about["high"])
        if scale is None:
            continue
        key = StreamKey(about["deployment"], about["metric"], about["metric_version"] or "")
        qualities = scale.quality(values[scoring])
        usable = (qualities >= 0.0) & (qualities <= 1.0)
        found = dict(zip(events[scoring][usable].tolist(), qualities[usable].tolist(), strict=True))
        if found:
            yield about["scored_at"], about["draw"], key, scale, found


def _in_values(shift: Shift | None, scale: Scale) -> Shift | None:
    return None if shift is None else shift.times(scale.best - scale.worst)
