"""Stream: what is known of the scores of one deployment, metric, version and scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from lake.spec.alert_vocabulary import OnsetKind
from monitor.detect.regression.arrays import Integers, Times, begins_of, moment, sizes_of
from monitor.detect.regression.batches.batches import Batches
from monitor.detect.regression.batches.worst_answers import WorstByBatch
from monitor.detect.regression.detector import Detector
from monitor.detect.regression.low_mean import LowMeanWatch
from monitor.detect.regression.observations import Observations
from monitor.detect.regression.reading import Reading, Status, StreamKey
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.settings import RegressionSettings


@dataclass
class Stream:
    """What is known of the scores of one key and scale, by proposed cases or not."""

    settings: RegressionSettings
    by_proposed: bool
    batches: Batches
    detector: Detector
    first: datetime
    """Earliest `requested_at`."""
    latest: datetime
    """Latest `requested_at`."""
    last_added_at: datetime
    """By the clock, when the last new row came."""
    releases: tuple[int, ...] = ()
    """Times of the marked ones that it has passed, in microseconds since 1970."""
    last_start: int | None = None
    """Start of the last batch that was closed, in microseconds since 1970."""
    older_version: str | None = None
    """The deployment, an older version, whose reference it began with."""
    before: Detector | None = None
    """What compares with the reference of before the last marked release, until the one after it is learned."""
    low_mean: LowMeanWatch | None = None
    """Of a metric with a limit of its mean; None of others."""
    worst: WorstByBatch = field(default_factory=WorstByBatch.empty)

    @classmethod
    def new(cls, settings: RegressionSettings, by_proposed: bool, first: datetime, now: datetime) -> Stream:
        """Return one without scores; what is found by proposed cases is never a page."""
        batches, detector = Batches(settings.batch, settings.grace), Detector(settings, may_page=not by_proposed)
        return cls(settings, by_proposed, batches, detector, first, first, now)

    def take(
        self, found: Observations, starts: Times, marks: Times, streams: Integers
    ) -> Iterator[tuple[int, Reading]]:
        """Take in batches, with when each starts and the number of streams of the fleet; see `Detector.changes`.

        After each of the `marks` of releases a new detector learns the reference anew. Until it has, what comes is
        compared with the reference of before.
        """
        passed = np.searchsorted(marks, starts, side="right")
        begins = begins_of(passed)
        self.last_start = int(starts[-1])
        for first, size in zip(begins.tolist(), sizes_of(begins, len(passed)).tolist(), strict=True):
            if passed[first] > len(self.releases):
                self.before = self.before_release()
                self.detector = Detector(self.settings, may_page=not self.by_proposed)
                self.older_version, self.releases = None, tuple(marks[: passed[first]].tolist())
            place, end = first, first + size
            while place < end and self.releases and self.before is not None:
                yield from self._compare(self.before, found.between(place, place + 1), streams, place)
                place += 1
            if place < end:
                for taken, reading in self.detector.changes(found.between(place, end), streams[place:end]):
                    yield place + taken, reading

    def _compare(
        self, before: Detector, batch: Observations, streams: Integers, place: int
    ) -> Iterator[tuple[int, Reading]]:
        """Take in a batch while the reference is learned anew, comparing it with that of before the release."""
        of_fleet = streams[place : place + 1]
        yield from ((place, self._of_before(reading)) for _, reading in before.changes(batch, of_fleet))
        found = list(self.detector.changes(batch, of_fleet))
        if self.detector.status is not Status.LEARNING:
            self.before = None
            # Where the new reference has a fall too, one alert goes on.
            if before.status is Status.REGRESSED and self.detector.status is not Status.REGRESSED:
                over = replace(before.reading, status=Status.WATCHING, since_mean=None)
                yield place, self._of_before(over)
        yield from ((place, reading) for _, reading in found)

    def passed(self, marks: Times) -> tuple[int, ...]:
        """Return those of the marks that it has passed, or should have."""
        return () if self.last_start is None else tuple(marks[marks <= self.last_start].tolist())

    def compare_with_limit(self, found: Observations, limit: float | None) -> None:
        """Take in batches for the limit that a person has set; with another one it begins anew."""
        if limit is None or not 0.0 < limit < 1.0 or self.by_proposed:
            self.low_mean = None
            return
        if self.low_mean is None or self.low_mean.limit != limit:
            self.low_mean = LowMeanWatch(self.settings, limit)
        self.low_mean.add(found)

    def before_release(self) -> Detector | None:
        """Return what compares with the reference of now if a release is marked; None where there is none yet.

        Nor is there one of a stream that is regressed: who marks a release of it knows that, and accepts it.
        """
        of_now = self.before if self.detector.status is Status.LEARNING else self.detector
        return Detector.of_before_release(of_now) if of_now and of_now.status is Status.WATCHING else None

    @property
    def reading(self) -> Reading:
        """What is known of it: a fall against what came before a marked release, where there is one."""
        reading, low = self.detector.reading, self.low_mean
        if self.before is not None and self.before.status is Status.REGRESSED:
            reading = self._of_before(self.before.reading)
        return reading if low is None else replace(reading, low_mean=low.reading(self.detector.latest))

    def _of_before(self, reading: Reading) -> Reading:
        return replace(reading, marked_release=moment(self.releases[-1]))

    def still_worse(self, mean: float, tolerance: float, since: datetime) -> Reading | None:
        """Return the reading, regressed, where the latest conversations since then are worse than a mean of before.

        That is so where the 95 % interval of their mean is lower by more than the tolerance. None where it is not.
        """
        found = None if self.first > since else self.detector.mean_below(mean - tolerance, since)
        if found is None:
            return None
        return replace(
            self.detector.reading,
            status=Status.REGRESSED,
            since_mean=found.mean,
            since_lower=found.lower,
            since_upper=found.upper,
            reference_mean=mean,
            baseline=mean - tolerance,
            drop=mean - found.mean,
            drop_lower=None,
            drop_upper=None,
            kept=True,
        )

    def reading_on(self, scale: Scale, reading: Reading) -> Reading:
        """Return a reading of its detector in the metric's own values, with what the stream alone knows.

        A fall that may have begun with the first answer of a new version began then: most falls come with a release.
        """
        shown = replace(reading, by_proposed=self.by_proposed, older_version=self.older_version).on(scale)
        ends = shown.since, shown.since_earliest, shown.since_latest
        if self.older_version is None or None in ends or shown.onset is OnsetKind.RECURRING:
            return shown
        first, (since, earliest, latest) = self.first, (max(end, self.first) for end in ends if end is not None)
        if earliest == first:
            return replace(shown, since=first, since_earliest=first, since_latest=first, onset=OnsetKind.RELEASE)
        return replace(shown, since=since, since_earliest=earliest, since_latest=latest)


Place = tuple[StreamKey, Scale, bool]
"""Key and scale of a stream, and whether its scores rest on proposed cases."""
SILENT = timedelta(weeks=4)
"""Of scores by proposed and by accepted cases those count no longer that came so much earlier than the others."""


class StreamTable(dict[Place, Stream]):
    """All streams by their places, and those of them that are in use."""

    def of(self, deployments: Set[str] | None) -> dict[Place, Stream]:
        """Return the streams of some deployments; without these all."""
        chosen = self.items()
        return {place: one for place, one in chosen if deployments is None or place[0].deployment in deployments}

    def newest(self, of: Set[str] | None = None) -> Mapping[StreamKey, tuple[Scale, list[Stream]]]:
        """Return of streams that differ in the scale alone those that are in use."""
        newest: dict[StreamKey, tuple[Scale, datetime]] = {}
        for (key, scale, _), stream in self.of(of).items():
            if key not in newest or stream.latest >= newest[key][1]:
                newest[key] = scale, stream.latest
        return {key: (scale, self.of_scale(key, scale)) for key, (scale, _) in newest.items()}

    def of_scale(self, key: StreamKey, scale: Scale) -> list[Stream]:
        """Return the streams of one range, that of proposed cases last, without one that is long silent."""
        both = (self.get((key, scale, by_proposed)) for by_proposed in (False, True))
        there = [stream for stream in both if stream is not None]
        latest = max(stream.latest for stream in there)
        return [stream for stream in there if latest - stream.latest < SILENT]


@dataclass
class StreamsState:
    """What is known of the streams of one deployment."""

    streams: dict[tuple[StreamKey, Scale, bool], Stream]
    firing: dict[StreamKey, set[bool]]
