"""Detector of one stream: it learns a reference, watches for a regression, then for its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from lake.spec.alert_vocabulary import Tier
from monitor.detect.regression.arrays import Floats, Integers, moment
from monitor.detect.regression.baselines import Baselines
from monitor.detect.regression.e_detector.alarm import Alarm
from monitor.detect.regression.e_detector.bets import ALL
from monitor.detect.regression.e_detector.betting import Interval, mean_interval, weighted_mean
from monitor.detect.regression.e_detector.change_point import BatchHistory, ChangePoint
from monitor.detect.regression.early_fall import LOOKS, EarlyFall, early_fall
from monitor.detect.regression.new_classes import NewClass, NewClassWarning
from monitor.detect.regression.observations import Observation, Observations
from monitor.detect.regression.outage import Outage
from monitor.detect.regression.reading import Reading, Status
from monitor.detect.regression.recent import Recent, Sensitivity
from monitor.detect.regression.recovery import Recovery
from monitor.detect.regression.segments.classes import TrafficClasses
from monitor.detect.regression.segments.mix import Decomposition, SegmentChange, decompose, shares_and_means
from monitor.detect.regression.segments.others import is_of, names_with_worst_class
from monitor.detect.regression.settings import RegressionSettings

_AT_ONCE = 1 << 14
"""Conversations."""
_TOLD_FOR = timedelta(days=7) // timedelta(microseconds=1)
"""How long the warning of a new class, or of a fall while the reference was learned, stays."""
_ENOUGH = 100
"""Conversations since a fall, from which its mean is known well enough: that of the first ones is often too low."""
_LEFT_OF_FALL = 1 / 3
"""Part of a fall that is left where it counts as recovering; a half is too much, as a first estimate is too large."""
_LATEST = 200
"""Conversations that say how a stream does now."""


@dataclass(slots=True, init=False, eq=False)
class Detector:
    """Finds a lasting fall of a stream's mean below its reference, with a stated rate of false alarms.

    A regression fires (`warn`) when the evidence for "the mean is below the baseline of the reference" (see
    `Evidence`, `Reference`) reaches the number of batches in `false_alarm_every`, and pages when it reaches that in
    `page_every` times the number of streams. It is resolved when the same evidence for "the mean is above the
    baseline", begun at the alarm, reaches the first of these. Then the watch starts again. The mirror image of it,
    above the upper end of the reference, says whether the stream has improved.

    Where attributes of the traffic explain the scores, each of its segments has a baseline of its own (`Baselines`),
    and the evidence is for "the mean of some segment is below its baseline" (`Mixture`): however the shares of
    the segments change, nothing fires as long as none of them is worse.
    """

    _settings: RegressionSettings
    _may_page: bool
    _baselines: Baselines
    _classes: TrafficClasses
    _recent: Recent
    _worse: Alarm
    _better: Alarm
    _log_page_threshold: float
    _history: BatchHistory
    _tier: Tier | None
    _fallen: int
    _change: ChangePoint | None
    _new_class: NewClassWarning | None
    _early_fall: EarlyFall | None
    _told_until: int | None
    _recovery: Recovery | None
    _outage: Outage | None
    _reading: Reading | None

    def __init__(self, settings: RegressionSettings, *, may_page: bool = True) -> None:
        """Without `may_page` no evidence makes a regression a page."""
        self._settings = settings
        self._may_page = may_page
        self._baselines = Baselines(settings)
        self._classes = TrafficClasses()
        self._recent = Recent(settings)
        self._worse, self._better = Alarm(settings.log_threshold), Alarm(settings.log_threshold)
        self._log_page_threshold = settings.log_page_threshold
        self._history = BatchHistory()
        self._tier = None
        self._fallen = ALL
        self._change = None
        self._new_class = None
        self._early_fall = None
        self._told_until = None
        """End of a warning of either, in microseconds since 1970."""
        self._recovery, self._outage, self._reading = None, None, None

    @classmethod
    def of_new_version(cls, older: Detector) -> Detector:
        """Return one that begins with the reference of an older version, and without evidence.

        The batches of the older version stay in its history, so that a fall may have begun between the two.
        """
        settings = older._settings
        made = cls(settings, may_page=older._may_page)
        parts = older._baselines, older._classes, older._history
        # There are no copies of the settings: they are those of all detectors.
        made._baselines, made._classes, made._history = deepcopy(parts, {id(settings): settings})
        return made

    @classmethod
    def of_before_release(cls, older: Detector) -> Detector:
        """Return one that compares what follows a marked release with what came before; nothing it finds pages."""
        made = cls.of_new_version(older)
        made._may_page = False
        made._history.begin_again()
        return made

    @property
    def status(self) -> Status:
        """Where the stream stands."""
        if self._baselines.baseline is None:
            return Status.LEARNING
        return Status.REGRESSED if self._worse.is_on or self._told_until is not None else Status.WATCHING

    @property
    def beyond(self) -> Mapping[str, int]:
        """How many conversations have values beyond the first 500, by attribute; see `TrafficClasses`."""
        return self._classes.beyond

    def update(self, batch: Sequence[Observation], streams: int = 1) -> Reading | None:
        """Take in one batch, in any order; an empty one is no batch. `streams` are those of the fleet.

        Returns the reading if a regression fires or pages (its status is REGRESSED) or is resolved (WATCHING).
        """
        return next((reading for _, reading in self.changes(Observations.of(batch), np.array([streams]))), None)

    def changes(self, found: Observations, streams: Integers) -> Iterator[tuple[int, Reading]]:
        """Take in batches, in order of time, each with the number of streams of the fleet; see `update`.

        Gives the place and the reading of each batch that has one, before later batches are taken in: an error in those
        does not lose it. In whatever portions they come, batches give the same to the last bit.
        """
        log_page_thresholds = self._settings.log_page_threshold + np.log(streams)
        mine = self._classes.numbered(found.ordered())
        begin = 0
        while begin < mine.batches:
            run = mine.between(begin, self._end_of_run(mine, begin))
            taken, reading = self._take_run(run, log_page_thresholds[begin : begin + run.batches])
            begin += taken
            if reading is not None:
                yield begin - 1, reading

    @property
    def latest(self) -> Observations:
        """The latest conversations, as many as a reference needs."""
        return self._recent.conversations

    @property
    def reading(self) -> Reading:
        """What is known after the last batch; the first look after each takes some milliseconds."""
        if self._reading is None:
            self._reading = self._read(self._worse.log_evidence, self._change, self._change)
        return self._reading

    def is_worse_since(self, at: datetime) -> bool:
        """Whether the conversations from then on, alone, say that the latest regression goes on.

        That is so where the 95 % interval of their mean is below the baseline, of the segment that fell or of all.
        """
        since, level = self._recent.conversations.since(at), self._baselines.baseline
        mine = np.ones(len(since), dtype=np.bool_)
        if self._fallen != ALL:
            mine, level = self._baselines.numbers(since) == self._fallen, float(self._baselines.levels[self._fallen])
        if level is None or not mine.any():
            return False
        return mean_interval(since.values[mine], since.weights[mine]).upper < level

    def mean_below(self, quality: float, at: datetime) -> Interval | None:
        """Return the mean of the latest conversations from then on, where its 95 % interval is below a quality."""
        since = self._recent.conversations.since(at)
        found = mean_interval(since.values[-_LATEST:], since.weights[-_LATEST:]) if since else None
        return found if found is not None and found.upper < quality else None

    def _end_of_run(self, found: Observations, begin: int) -> int:
        """Return the end of the batches that can be taken at once: baselines and memory are enough for them."""
        small = int(np.searchsorted(found.begins, found.begins[begin] + _AT_ONCE, side="right")) - 1
        end = max(begin + 1, small if small < found.batches - 1 else found.batches)
        if self._worse.is_on:
            # It may be after any batch that enough is known of the fall to look for a recovery.
            return end if self._recovery is not None and self._outage is None else begin + 1
        if self._told_until is not None:
            # The warning ends with its batch, in whatever portions they come.
            end = min(end, max(begin, int(np.searchsorted(found.starts, self._told_until))) + 1)
        return begin + self._baselines.until_change(found.between(begin, end))

    def _take_run(self, run: Observations, log_page_thresholds: Floats) -> tuple[int, Reading | None]:
        """Take in batches up to the first after which a reading is due; gives how many these were."""
        was_on, baselines = self._worse.is_on, self._baselines
        numbers = baselines.numbers(run)
        bets = baselines.bets(run, numbers, learns=not was_on)
        taken, changed = run.batches, None
        if bets is not None:
            looks = log_page_thresholds if self._may_page and self._tier != Tier.PAGE else None
            taken, changed = self._worse.take(bets[0], baselines.segments, looks)
            run = run.between(0, taken)
            numbers = numbers[: len(run)]
        if was_on and self._recovery is not None:
            mine = np.ones(len(run), dtype=np.bool_) if self._fallen == ALL else numbers == self._fallen
            self._recovery.add(run.values[mine], run.weights[mine], run.numbers[mine], run.starts)
        known = numbers if baselines.segments > 1 else None
        self._history.add(baselines.without_mix(run.values, numbers), run.weights, run.numbers, run.starts, known)
        looks_before = baselines.whole.looks
        # The reference may learn from a batch only after the bet on it is settled.
        if not was_on:
            baselines.add(run)
        if bets is not None:
            done = 0
            while done < taken:
                done += self._better.take(bets[1].between(done, taken), baselines.segments)[0]
        self._log_page_threshold, self._reading = float(log_page_thresholds[taken - 1]), None
        until_last = self._recent.until(run)
        self._recent.add(run)
        # Also where the evidence ends the alarm: of a busy application it is all there at once.
        became = self._outage.add(run, until_last, baselines.mean or 0.0) if self._outage else None
        if became == "lasts":
            self._outage = None
        after = self._worse.end() if became == "back" else changed
        reading = self._reading_after(after, run.starts[-1], until_last, looked=baselines.whole.looks > looks_before)
        if self._worse.is_on and self._recovery is None and self._change is not None:
            self._recovery = self._recovery_from(self._change)
        return taken, reading

    def _reading_after(
        self, changed: str | None, start: np.int64, until_last: Observations, *, looked: bool
    ) -> Reading | None:
        if changed in ("off", "back"):
            began, outage, self._change, self._outage, self._tier = self._change, self._outage, None, None, None
            recovery = self._history.rise(self._fallen)
            self._history.begin_again()
            reading = self._read(self._worse.log_evidence_against, began, recovery or began)
            reading, self._recovery = replace(reading, recovering_since=recovery.at) if recovery else reading, None
            return replace(reading, outage_lasted=outage.length) if outage and changed == "back" else reading
        if changed == "on":
            self._fallen = self._worse.leading
            told = self._change if self._early_fall else None
            self._change = told or self._history.fall(self._fallen) or ChangePoint.known(moment(int(start)))
            self._history.begin_again()
            self._tier = Tier.WARN
            since = until_last.since(self._change.level_from)
            self._outage = Outage.of(since, self._baselines.mean, int(start)) if self._fallen == ALL else None
            self._new_class = self._early_fall = self._told_until = None
        elif changed is None and not self._worse.is_on:
            return self._reading_of_told(int(start), looked=looked)
        has_evidence = self._worse.is_on and self._worse.log_evidence >= self._log_page_threshold
        pages = self._may_page and has_evidence and self._outage is None and self._tier != Tier.PAGE
        if pages:
            self._tier = Tier.PAGE
        return self.reading if pages or changed else None

    def _recovery_from(self, change: ChangePoint) -> Recovery | None:
        """Begin to look for a recovery, once the mean of what fell is known from enough conversations; None before."""
        baselines, since = self._baselines, self._recent.conversations.since(change.level_from)
        mine = np.ones(len(since), dtype=np.bool_)
        mean = baselines.mean
        if self._fallen != ALL:
            mine, mean = baselines.numbers(since) == self._fallen, float(baselines.means[self._fallen])
        if mean is None or mine.sum() < _ENOUGH:
            return None
        level = mean - _LEFT_OF_FALL * (mean - weighted_mean(since.values[mine], since.weights[mine]))
        return Recovery(level) if 0.0 < level < 1.0 else None

    def _reading_of_told(self, start: int, *, looked: bool) -> Reading | None:
        """Return the reading after a batch where a warning that ends by itself is to be told, or was long enough."""
        if self._told_until is not None:
            if start < self._told_until:
                return None
            reading = replace(self.reading, status=Status.WATCHING)
            self._new_class = self._early_fall = self._told_until = None
            self._change, self._tier, self._reading = None, None, None
            return reading
        if not (self._tell_new_class(start) or (looked and self._tell_early_fall(start))):
            return None
        self._tier, self._told_until = Tier.WARN, start + _TOLD_FOR
        return self.reading

    def _tell_new_class(self, start: int) -> bool:
        baselines = self._baselines
        number = baselines.new_and_worse()
        if number is None:
            return False
        since = baselines.references[number].first or start
        self._new_class = NewClassWarning(number - baselines.segments, since)
        self._change = ChangePoint.known(moment(since))
        return True

    def _tell_early_fall(self, start: int) -> bool:
        """Note a fall within what is learned, once."""
        baselines, batches = self._baselines, self._history.from_first
        if batches is None or baselines.whole.looks > LOOKS:
            return False
        effect = baselines.design_effect(baselines.whole.observations / len(batches[0]))
        found = early_fall(*batches, self._settings.tolerance, baselines.whole.spread, effect)
        if found is None:
            return False
        self._early_fall = found
        self._change = self._history.fall() or ChangePoint.known(moment(start))
        self._history.begin_again()
        return True

    def _described(self, told: NewClassWarning | None) -> NewClass | None:
        baselines = self._baselines
        if told is None or baselines.mean is None:
            return None
        number = told.number + baselines.segments
        mine = baselines.numbers(self._recent.conversations) == number
        mean = baselines.references[number].mean or 0.0
        return NewClass(baselines.names[number], float(mine.mean()), mean, baselines.mean)

    def _read(self, log_evidence: float, began: ChangePoint | None, mean_from: ChangePoint | None) -> Reading:
        baselines = self._baselines
        recent = self._recent.conversations
        window = mean_interval(recent.values, recent.weights) if recent else None
        since = None if mean_from is None else recent.since(mean_from.level_from)
        changed = mean_interval(since.values, since.weights) if since else None
        known = baselines.interval if changed else None
        is_learning, is_watching = self.status is Status.LEARNING, self.status is Status.WATCHING
        sensitivity = self._recent.sensitivity(baselines) if is_watching else Sensitivity()
        parts = self._split(since or recent)
        shown = parts if parts and len(parts.segments) > 1 else Decomposition(())
        settings, early = self._settings, self._early_fall
        reading = Reading(
            status=self.status,
            tier=self._tier,
            reference_observations=baselines.whole.observations,
            reference_needed=self._settings.reference_observations,
            learning_left=self._recent.learning_left(baselines) if is_learning else None,
            reference_mean=baselines.mean,
            baseline=baselines.baseline,
            can_fire=bool((baselines.levels > 0.0).any()),
            observations=len(recent),
            mean=window.mean if window else None,
            mean_lower=window.lower if window else None,
            mean_upper=window.upper if window else None,
            log_evidence=log_evidence,
            log_threshold=self._settings.log_threshold,
            log_page_threshold=self._log_page_threshold,
            false_alarm_every=settings.page_every if self._tier == Tier.PAGE else settings.false_alarm_every,
            latest=self._recent.latest,
            since=began.at if began else None,
            since_earliest=began.earliest if began else None,
            since_latest=began.latest if began else None,
            onset=began.kind if began else None,
            onset_hours=began.hours if began else None,
            since_mean=changed.mean if changed else None,
            since_lower=changed.lower if changed else None,
            since_upper=changed.upper if changed else None,
            since_observations=len(since) if since else 0,
            drop=baselines.mean - changed.mean if known and changed and baselines.mean is not None else None,
            drop_lower=known.lower - changed.upper if known and changed else None,
            drop_upper=known.upper - changed.lower if known and changed else None,
            recovering_since=self._recovery.since if self._recovery else None,
            improved=self._better.is_on,
            smallest_drop=sensitivity.smallest_drop,
            delay=sensitivity.delay,
            small_delay=sensitivity.small_delay,
            small_conversations=sensitivity.small_conversations,
            within=parts.within if parts else None,
            mix=parts.mix if parts else None,
            segments=shown.segments,
            most_worsened=self._named(shown),
            not_learned=self._not_learned(),
            beyond=tuple(sorted(self.beyond.items())),
            page_held_until=self._outage.held_until if self._outage and self._may_page else None,
            new_class=self._described(self._new_class),
        )
        return reading if early is None else early.on(reading)

    def _split(self, after: Observations) -> Decomposition | None:
        baselines = self._baselines
        if self.status is Status.LEARNING or not after:
            return None
        found = shares_and_means(baselines.numbers(after), after.values, after.weights, len(baselines.references))
        return decompose(self._names_after(after), (baselines.shares, baselines.means), found)

    def _names_after(self, after: Observations) -> tuple[str, ...]:
        """Return the names of the segments, that of the others with the class in it that fell."""
        baselines, others = self._baselines, len(self._baselines.partition.kept)
        known = after.where(baselines.numbers(after) <= others)
        names = names_with_worst_class(baselines.partition, known, float(baselines.means[others]))
        return (*names, *baselines.names[len(names) :])

    def _named(self, parts: Decomposition) -> SegmentChange | None:
        """Return the segment that fired, or the one with the greatest part in a fall where all together did."""
        fired = self._baselines.names[self._fallen] if self._tier and self._fallen != ALL else None
        return next((one for one in parts.segments if fired and is_of(one.name, fired)), parts.most_worsened)

    def _not_learned(self) -> int:
        if self.status is Status.LEARNING:
            return 0
        return int(np.isnan(self._recent.levels(self._baselines)).sum())
