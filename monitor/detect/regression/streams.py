"""The detectors of all streams: new rows of `scores` in, regressions that begin or end out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pyarrow as pa

from lake.spec.alert_vocabulary import AlertEvent, Tier
from lake.spec.deployment_families import Families
from monitor.detect.regression.arrays import Times, microseconds, moment
from monitor.detect.regression.batches.batches import ClosedBatches
from monitor.detect.regression.batches.grouping import ScoreGrouper, SkipReason, StreamRows
from monitor.detect.regression.detector import Detector
from monitor.detect.regression.outage import LONGEST_HOLD
from monitor.detect.regression.reading import Reading, Status, StreamKey, Transition
from monitor.detect.regression.releases import Releases
from monitor.detect.regression.scale import Scale
from monitor.detect.regression.segments.classes import MOST_VALUES
from monitor.detect.regression.settings import RegressionSettings
from monitor.detect.regression.stopped import StoppedStreams, StreamName, by_metric, of_metrics
from monitor.detect.regression.stream import Place, Stream, StreamsState, StreamTable

logger = logging.getLogger(__name__)
_SAYS = {Status.LEARNING: 0, Status.WATCHING: 1, Status.REGRESSED: 2}
"""Of two readings the one that says more is the stream's."""


class Streams:
    """One detector for each deployment, metric and metric version, fed with rows of the `scores` table.

    - An observation is a conversation (`chat_id`; without one the answer alone) within a batch of event time.
    - A batch closes once the stream's latest `requested_at` is `grace` after its end, or, where nothing new comes,
      once the clock is so and has moved by `batch` and `grace` since the last new row. A score that comes after
      that joins the oldest open batch.
    - A score of a backfill is left out: it is about the past of a stream that has moved on, and would be taken for
      traffic of the oldest open batch, or after a restart for a part of the reference.
    - A score without a value is left out. So are rows that cannot be used, such as a value outside [0, 1] or a time
      in the future; `skipped` counts them by reason. A sampling probability of null counts as 1.
    - A conversation is of the class of traffic (`segment`) of its first score in the batch; one that cannot be read is
      none, so that its score counts like one of an unknown class.
    - A metric's range is laid on the scale from 0 (worst) to 1 (best), see `Scale`; one that has no better end or no
      two ends is not watched (`no_scale`). A metric whose range or direction changes is a new stream.
    - Batches of all streams are taken in by their ends. The evidence that pages grows with the number of metrics of
      deployments that had scores before that end, so that the promise is one for all of them together, and history read
      again comes to the same alarms.
    - Scores by proposed cases of ground truth (`reference_status`) are watched apart from the others of their metric,
      and are never a page. What is found in either is the stream's: it is regressed as long as one of them is.
    - With the first batch that begins after a release that was marked (`Releases`), a stream learns its reference anew.
      Until it has, it is compared with the reference of before, and what is found is a warning.
    - A new version of an application (`Families`) begins with the reference of its newest older version that has one by
      then, so that its first answer is watched.
    - A metric in which an error arises stops, and the others go on: what its detectors know may be the half of a batch,
      so it is dropped. What was found before stays found. New rows are left out (`stopped`) until all rows come again.
    """

    def __init__(
        self,
        settings: RegressionSettings,
        releases: Releases | None = None,
        families: Families | None = None,
        limit_of: Callable[[str, str], float | None] = lambda _deployment, _metric: None,
    ) -> None:
        """`limit_of` gives the worst mean that is accepted of a deployment's metric, in its own values."""
        self._settings = settings
        self._limit_of = limit_of
        self._releases = releases or Releases()
        self._families = families or Families()
        self._streams = StreamTable()
        self._versions: dict[str, set[str]] = {}
        """Deployments by family."""
        self._grouper = ScoreGrouper(settings.segment_by)
        self._firing: dict[StreamKey, set[bool]] = {}
        """In which scores of a stream there is a regression: those by proposed cases, the others."""
        self._logged: set[str] = set()
        """Attributes with too many values that the log has named."""
        self._found: list[Transition] = []
        self._closed: set[str] = set()
        self._dropped: dict[StreamName, tuple[datetime, datetime]] = {}
        """Of metrics whose streams were dropped: their first score, and when, by the clock, their last new row came."""
        self._before: dict[Place, Detector | None] = {}
        """Of streams that are outdated by the mark of a release: what compares with the reference of before it."""
        self.stopped = StoppedStreams("is not watched for regressions")

    @property
    def skipped(self) -> Mapping[SkipReason, int]:
        """How many rows took no part, by reason."""
        return dict(self._grouper.skipped)

    def add(
        self, scores: pa.Table, now: datetime, only: Set[str] | None = None, without: Set[str] = frozenset()
    ) -> None:
        """Take in new rows of `scores`, in any order. All of them that are known are to be added before `advance`.

        `only` and `without` name metrics. An error stops its metric alone.
        """
        scores = of_metrics(scores, only, without)
        # What is far in the future would close every batch until then.
        for stream_rows in self._grouped(scores, now + self._settings.grace):
            if not self.stopped.takes_rows(stream_rows.key.of_metric):
                self._grouper.skipped["stopped"] += len(stream_rows.rows)
                self._note_dropped(stream_rows.key.of_metric, stream_rows.first, now)
                continue
            try:
                self._take_in(stream_rows, now)
            except Exception as error:
                self._stop(stream_rows.key.of_metric, error)

    def _grouped(self, scores: pa.Table, latest: datetime) -> list[StreamRows]:
        """Group rows by stream; where that fails, metric by metric, so that only those stop whose rows it fails for."""
        skipped = self._grouper.skipped.copy()
        try:
            return list(self._grouper.group(scores, latest))
        except Exception:
            self._grouper.skipped = skipped
        found: list[StreamRows] = []
        for metric, rows in by_metric(scores):
            try:
                found += list(self._grouper.group(rows, latest))
            except Exception as error:
                self._stop(metric, error)
        return found

    def _take_in(self, stream_rows: StreamRows, now: datetime) -> None:
        place = stream_rows.key, stream_rows.scale, stream_rows.by_proposed
        if place[0].of_metric in self.stopped.errors:
            # What comes again to learn anew is not new.
            now = self._dropped.get(place[0].of_metric, (now, now))[1]
        stream = self._streams.get(place)
        if stream is None:
            stream = Stream.new(self._settings, place[2], stream_rows.first, now)
            stream.before = self._before.pop(place, None)
            self._streams[place] = stream
            self._know_version(place[0].deployment)
        stream.first, stream.latest = min(stream.first, stream_rows.first), max(stream.latest, stream_rows.latest)
        stream.last_added_at = now
        stream.batches.add(stream_rows.rows)

    def _know_version(self, deployment: str) -> None:
        version = self._families.version_of(deployment)
        if version is not None:
            self._versions.setdefault(version.family, set()).add(deployment)

    def advance(self, now: datetime, of: Set[str] | None = None) -> list[Transition]:
        """Close batches; returns what began or ended since the last call, in order of time.

        Call it where nothing was added too: only so do the last batches of idle streams close. `of` names deployments.
        """
        self._close(now, of)
        found, self._found = self._found, []
        return found

    def close_batches(self) -> None:
        """Close batches by what was added alone, between two portions of a history; `advance` gives what was found."""
        self._close(None)

    def _close(self, now: datetime | None, of: Set[str] | None = None) -> None:
        begun, chosen = self._begun(), self._streams.of(of)
        found = list(self._begin_new_versions(chosen, now, begun))
        for place, stream in chosen.items():
            key, scale, _ = place
            if place not in self._streams:
                continue  # Another stream of its metric has stopped.
            try:
                closed = stream.batches.close(self._watermark(key, scale, now))
                if closed is not None:
                    # One by one: what was found before an error stays.
                    found.extend(self._advance(key, scale, stream, closed, begun))
            except Exception as error:
                self._stop(key.of_metric, error)
        self._found += self._of_both(
            transition for transition, _ in sorted(found, key=lambda one: (*one[0].order, one[1]))
        )

    def _begin_new_versions(
        self, chosen: Mapping[Place, Stream], now: datetime | None, begun: Times
    ) -> Iterator[tuple[Transition, bool]]:
        """Begin the streams of new versions whose first batch is over, before later batches of older ones close."""
        due = [
            (place, stream)
            for place, stream in chosen.items()
            if stream.last_start is None
            and self._families.version_of(place[0].deployment) is not None
            and stream.batches.has_ended(self._watermark(place[0], place[1], now))
        ]
        for place, stream in sorted(due, key=lambda one: one[1].first):
            yield from self._begin_with_older(place, stream, begun)

    def _begin_with_older(self, place: Place, stream: Stream, begun: Times) -> Iterator[tuple[Transition, bool]]:
        """Have the stream of a new version begin with the reference of the newest older one that has a reference.

        That of when its first batch begins: the batches of the older ones before that are closed first.
        """
        key, scale, by_proposed = place
        version = self._families.version_of(key.deployment)
        for name in self._families.older(key.deployment, self._versions[version.family] if version else ()):
            older_place = replace(key, deployment=name), scale, by_proposed
            older = self._streams.get(older_place)
            if older is None or older.first >= stream.first:
                continue
            if older.last_start is None:
                yield from self._begin_with_older(older_place, older, begun)
            try:
                closed = older.batches.close(stream.first + self._settings.grace)
                if closed is not None:
                    yield from self._advance(older_place[0], scale, older, closed, begun)
            except Exception as error:
                self._stop(older_place[0].of_metric, error)
                continue
            if older.detector.status is not Status.LEARNING:
                stream.detector, stream.older_version = Detector.of_new_version(older.detector), name
                return

    def take_closed(self) -> set[str]:
        """Return, once, the deployments of which batches were closed."""
        closed, self._closed = self._closed, set()
        return closed

    def state_of(self, deployment: str) -> StreamsState:
        """Return what is known of a deployment's streams, to be kept; what is given is not to be changed."""
        firing = {key: found for key, found in self._firing.items() if key.deployment == deployment}
        return StreamsState(self._streams.of({deployment}), firing)

    def restore(self, state: StreamsState) -> None:
        """Go on with what was kept of a deployment's streams."""
        self._streams |= state.streams
        for key, _, _ in state.streams:
            self._know_version(key.deployment)
        self._firing |= state.firing

    def forget(self, deployment: str) -> None:
        """Forget all of a deployment."""
        for place in self._streams.of({deployment}):
            del self._streams[place]
        self._firing = {key: one for key, one in self._firing.items() if key.deployment != deployment}
        self._dropped = {one: times for one, times in self._dropped.items() if one[0] != deployment}
        self.stopped.forget(deployment)

    def forget_metrics(self, deployment: str, metrics: Set[str]) -> None:
        """Forget what is known of some metrics of a deployment, of all versions and scales."""
        for place in [one for one in self._streams if one[0].deployment == deployment and one[0].metric in metrics]:
            dropped = self._streams.pop(place)
            self._note_dropped(place[0].of_metric, dropped.first, dropped.last_added_at)
            self._firing.pop(place[0], None)

    def _note_dropped(self, metric: StreamName, first: datetime, last_added_at: datetime) -> None:
        known = self._dropped.get(metric, (first, last_added_at))
        self._dropped[metric] = min(known[0], first), max(known[1], last_added_at)

    def forget_outdated(self, deployment: str) -> Mapping[str, datetime | None]:
        """Forget the metrics of a deployment of which a release was marked, or its mark withdrawn, in what they know.

        Gives them with the time from when on their rows are needed again; None is from the first.
        """
        found: dict[str, datetime | None] = {}
        for place, stream in self._streams.items():
            metric, passed = place[0].metric, stream.passed(self._releases.of(deployment, place[0].metric))
            if place[0].deployment == deployment and passed != stream.releases:
                found[metric] = moment(passed[-1]) if passed else None
                if passed[: len(stream.releases)] == stream.releases:
                    self._before[place] = stream.before_release()
        self.forget_metrics(deployment, found.keys())
        return found

    def readings(self, of: Set[str] | None = None) -> Mapping[StreamKey, Reading]:
        """Return what is known of all streams, or of those of some deployments; milliseconds for each with new rows."""
        found: dict[StreamKey, Reading] = {}
        for key, (scale, streams) in self._streams.newest(of).items():
            readings: list[Reading] = []
            for stream in streams:
                try:
                    readings.append(stream.reading_on(scale, stream.reading))
                except Exception as error:
                    self._stop(key.of_metric, error)
            if readings and self.stopped.takes_rows(key.of_metric):
                said = max(readings, key=lambda one: _SAYS[one.status])
                found[key] = replace(said, low_mean=readings[0].low_mean)
        return found

    def with_ended_holds(
        self, readings: Mapping[StreamKey, Reading], told: Mapping[StreamKey, datetime], now: datetime
    ) -> dict[StreamKey, Reading]:
        """Return the readings; a page that a short outage holds back is one once that took too long, by the clock.

        That is three hours, of the fall where no score comes, and else after its warning was `told`: late scores may
        say more. The detectors stay as they are, so that what they find does not depend on the clock.
        """

        def is_due(key: StreamKey, one: Reading) -> bool:
            until, grace = one.page_held_until, self._settings.grace
            if until is None or one.log_evidence < one.log_page_threshold or now < until + grace:
                return False
            is_idle = self._watermark(key, self._streams.newest({key.deployment})[key][0], now) == now
            return is_idle or now >= told.get(key, now) + LONGEST_HOLD + self._settings.batch + grace

        page = partial(replace, tier=Tier.PAGE, false_alarm_every=self._settings.page_every)
        return {key: page(one) if is_due(key, one) else one for key, one in readings.items()}

    def is_worse_since(self, key: StreamKey, at: datetime) -> bool:
        """Whether the conversations from then on, alone, say that a stream's latest regression goes on."""
        _, streams = self._streams.newest().get(key, (None, []))
        try:
            return any(stream.detector.is_worse_since(at) for stream in streams)
        except Exception as error:
            self._stop(key.of_metric, error)
            return False

    def begins_after(self, key: StreamKey, at: datetime) -> bool:
        """Whether a stream has no score of before a time, of whatever range."""
        return all(stream.first > at for (other, _, _), stream in self._streams.items() if other == key)

    def has_release_after(self, key: StreamKey, at: datetime) -> bool:
        """Whether a release of a stream was marked, or a mark withdrawn, later than `at`, by the clock."""
        marked = self._releases.last_changed(key.deployment, key.metric)
        return marked is not None and marked > at

    def still_worse(self, key: StreamKey, reference_mean: float, since: datetime, known_at: datetime) -> Reading | None:
        """Return the reading of a stream whose latest conversations since then are worse than a reference of before.

        That is so where the 95 % interval of their mean is worse by more than the tolerance. None where it is not,
        where the scores are of another range, and where a release was marked, or a mark withdrawn, later than
        `known_at`, by the clock: then the reference of before says nothing.
        """
        newest = self._streams.newest().get(key)
        if newest is None or self.has_release_after(key, known_at):
            return None
        scale, streams = newest
        mean, tolerance = scale.quality(reference_mean), self._settings.tolerance
        try:
            found = (one.still_worse(mean, tolerance, since) for one in streams)
            return next((one.on(scale) for one in found if one is not None), None)
        except Exception as error:
            self._stop(key.of_metric, error)
            return None

    def _stop(self, metric: StreamName, error: Exception) -> None:
        self.forget_metrics(metric[0], {metric[1]})
        self.stopped.stop(metric, error)

    def _of_both(self, transitions: Iterable[Transition]) -> Iterator[Transition]:
        """Leave out the end of a regression that goes on in the scores by the other cases."""
        for one in transitions:
            firing = self._firing.setdefault(one.key, set())
            if one.change == AlertEvent.FIRING:
                firing.add(one.reading.by_proposed)
                yield one
                continue
            firing.discard(one.reading.by_proposed)
            _, streams = self._streams.newest().get(one.key, (None, []))
            if not firing.intersection(stream.by_proposed for stream in streams):
                yield one

    def _advance(
        self, key: StreamKey, scale: Scale, stream: Stream, closed: ClosedBatches, begun: Times
    ) -> Iterator[tuple[Transition, bool]]:
        """Take in batches; gives what begins or ends, and whether the scale is reversed."""
        self._closed.add(key.deployment)
        worst = stream.worst.followed_by(closed.worst)
        stream.worst = worst.of_latest()
        starts = closed.ends - self._settings.batch // timedelta(microseconds=1)
        limit = self._limit_of(key.deployment, key.metric)
        stream.compare_with_limit(closed.observations, None if limit is None else float(scale.quality(limit)))
        marks, streams = self._releases.of(key.deployment, key.metric), np.searchsorted(begun, closed.ends)
        for place, reading in stream.take(closed.observations, starts, marks, np.maximum(streams, 1)):
            change: AlertEvent = AlertEvent.FIRING if reading.status is Status.REGRESSED else AlertEvent.RESOLVED
            end = closed.ends[place]
            known = worst.where(worst.ends <= end).of_latest()
            since = known if reading.since is None else known.where(known.ends > microseconds(reading.since))
            answers = tuple((answer, scale.value(quality)) for answer, quality in since.worst())
            shown = stream.reading_on(scale, reading)
            yield Transition(key, change, moment(int(end)), shown, answers), scale.is_reversed
        self._log_beyond(key, stream.detector)

    def _log_beyond(self, key: StreamKey, detector: Detector) -> None:
        for name in sorted(detector.beyond.keys() - self._logged):
            self._logged.add(name)
            logger.warning(
                "monitor.detect.regression.segment_by names %s, which has too many values to divide traffic by, seen "
                "first in %s of %r: the %d that came first are kept apart, what comes later is taken together. Take it "
                "out of segment_by; the page counts the conversations.", name, key.metric, key.deployment, MOST_VALUES,
            )  # fmt: skip

    def _begun(self) -> Times:
        """When each metric of each deployment had its first score, in order: a version that is over is replaced."""
        first = {metric: begun for metric, (begun, _) in self._dropped.items()}
        for (key, _, _), stream in self._streams.items():
            first[key.of_metric] = min(first.get(key.of_metric, stream.first), stream.first)
        return np.array(sorted(map(microseconds, first.values())), dtype=np.int64)

    def _watermark(self, key: StreamKey, scale: Scale, now: datetime | None) -> datetime:
        both = self._streams.of_scale(key, scale)  # What is found in them is put in one order of time.
        last_added_at = max(stream.last_added_at for stream in both)
        if now is not None and now - last_added_at >= self._settings.batch + self._settings.grace:
            return now
        return max(stream.latest for stream in both)
