"""Counts, histograms and newest versions of one deployment's scores, from its rows of `scores`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.spec.case_vocabulary import FailedPart, ReferenceMatch
from lake.spec.vocabulary import asks_llm
from monitor.detect.regression import Scale
from monitor.detect.regression.arrays import groups_of
from monitor.detect.stats.means import weighted_sums
from monitor.detect.stats.period_sums import DAY_HOURS, HOUR_SECONDS, PeriodSums
from monitor.detect.stats.sums import PER_UNIT, add_counts, exact_sum, floats, value_counts

BUCKETS = tuple(tenth / 10 for tenth in range(11))
"""Upper bounds of the histogram's buckets; one more holds all that is above 1."""

OLD = timedelta(days=1)
"""A score made this long after its answer, or later, is of the past, as one of a backfill is."""

DAY = timedelta(hours=DAY_HOURS - 1)
"""The last 24 hours, of which the one that has begun is one."""

IDLE, REPLACED_IDLE = timedelta(weeks=4), timedelta(days=3)
"""A metric without a score for so long is not watched until there is one: nights, weekends and repairs are shorter.

The second is of a version of an application of which another version gets the requests.
"""

SCORE_COLUMNS = (
    "event_id",
    "response_id",
    "deployment",
    "requested_at",
    "chat_id",
    "question_key",
    "segment",
    "metric",
    "metric_version",
    "value",
    "reason",
    "judge",
    "cost",
    "sampling_probability",
    "scored_at",
    "is_backfill",
    "direction",
    "low",
    "high",
    "reference_match",
    "reference_status",
    "failed_part",
)

_OF_METRIC = (
    "metric",
    "metric_version",
    "judge",
    "response_id",
    "value",
    "sampling_probability",
    "requested_at",
    "scored_at",
    "is_backfill",
    "direction",
    "low",
    "high",
)

_UNKNOWN = "unknown"
"""Reason of a row that has neither value nor reason."""

_EXEMPLAR_LIMIT = 128 - len("response_id")
"""OpenMetrics allows 128 characters for an exemplar's labels, names included."""


@dataclass(frozen=True)
class ExemplarAnswer:
    """The answer with the lowest score of those that came into a bucket last."""

    response_id: str
    value: float


@dataclass(frozen=True)
class Histogram:
    """Scores of new answers, a count a bucket (not cumulative), and the worst answer of each bucket."""

    counts: tuple[int, ...] = (0,) * (len(BUCKETS) + 1)
    amount: int = 0
    worst: tuple[ExemplarAnswer | None, ...] = (None,) * (len(BUCKETS) + 1)

    @property
    def total(self) -> float:
        """Sum of all scores."""
        return self.amount / PER_UNIT

    @property
    def cumulative(self) -> list[int]:
        """Number of scores that are at most each bound, all of them last."""
        return list(accumulate(self.counts))

    def __add__(self, other: Histogram) -> Histogram:
        """Return both together; of the worst answers of a bucket the lower one is kept."""
        return Histogram(
            tuple(one + two for one, two in zip(self.counts, other.counts, strict=True)),
            self.amount + other.amount,
            tuple(_worse(one, two) for one, two in zip(self.worst, other.worst, strict=True)),
        )

    def with_scores(self, rows: pa.Table) -> Histogram:
        """Add rows that have a value."""
        values = floats(rows["value"])
        index = np.searchsorted(BUCKETS, values, side="left")
        new_counts = np.bincount(index, minlength=len(self.counts)).tolist()
        short = pc.less_equal(pc.utf8_length(rows["response_id"]), _EXEMPLAR_LIMIT)
        namable = np.asarray(pc.fill_null(short, False))
        worst = list(self.worst)
        for bucket in range(len(worst)):
            (candidates,) = np.nonzero((index == bucket) & namable)
            if len(candidates):
                row = int(candidates[np.argmin(values[candidates])])
                worst[bucket] = ExemplarAnswer(rows["response_id"][row].as_py(), float(values[row]))
        return Histogram(
            tuple(old + new for old, new in zip(self.counts, new_counts, strict=True)),
            self.amount + exact_sum(values),
            tuple(worst),
        )


def _worse(one: ExemplarAnswer | None, two: ExemplarAnswer | None) -> ExemplarAnswer | None:
    if one is None or two is None:
        return one or two
    return one if one.value <= two.value else two


@dataclass(frozen=True)
class MetricStats:
    """One metric of one deployment. `version` and `judge` are those of the newest score.

    That is the newest one of the service; a backfill's only where the service has made none.

    Sums over periods: `means_by_time` of the scores of `version` (`weighted_sums`), `scored_by_time` of the answers
    that the service scored, by any version.
    """

    version: str
    judge: str | None
    scored_at: datetime
    is_backfill: bool
    scale: Scale | None = None
    """None where it has no better end, or no two ends, and so is not watched for regressions."""
    histogram: Histogram = field(default_factory=Histogram)
    means_by_time: PeriodSums = field(default_factory=PeriodSums)
    scored_by_time: PeriodSums = field(default_factory=PeriodSums)

    def is_idle(self, now: datetime, *, is_replaced: bool = False) -> bool:
        """Whether the newest score was made `IDLE` ago or longer; `REPLACED_IDLE` if another version is in use."""
        return now - self.scored_at >= (REPLACED_IDLE if is_replaced else IDLE)

    def with_scores(self, rows: pa.Table) -> MetricStats:
        """Add rows that have a value."""
        is_new, values = ~_is_backfill(rows), floats(rows["value"])
        late = np.asarray(pc.subtract(rows["scored_at"], rows["requested_at"]).cast(pa.int64()).to_numpy())
        fresh = _where(rows, (late < OLD / timedelta(microseconds=1)) & is_new)
        probabilities = floats(rows["sampling_probability"])
        usable = (probabilities > 0) & (probabilities <= 1)
        weights = 1 / np.where(usable, probabilities, 1.0)
        own = np.asarray(pc.equal(pc.fill_null(rows["metric_version"], ""), self.version)) & np.isfinite(values)
        scored_at = _where(rows, is_new)["requested_at"]
        return replace(
            self,
            histogram=self.histogram.with_scores(fresh),
            means_by_time=self.means_by_time.with_values(
                _where(rows, own)["requested_at"], *weighted_sums(values[own], weights[own])
            ),
            scored_by_time=self.scored_by_time.with_values(scored_at, np.ones(len(scored_at))),
        )

    def renewed(self, newest: MetricStats) -> MetricStats:
        """Return `newest` with the sums of this one; means are kept where the version is the same."""
        means = self.means_by_time if newest.version == self.version else newest.means_by_time
        return replace(
            newest,
            histogram=self.histogram,
            means_by_time=means,
            scored_by_time=self.scored_by_time,
        )


@dataclass(frozen=True)
class ScoreStats:
    """Totals since the first row.

    `evaluations` counts the rows of the service, `skips` those without a value by their reason, and `last_scored_at` is
    when it made the last one: a backfill's rows are in none of them. `unscored_by_time` has the skips by when their
    answers were asked for. `matches_by_time` has the answers, and of them those compared with a case by each kind of
    match, in the order of `ReferenceMatch`, then those that failed against it by part, in the order of `FailedPart`.
    """

    evaluations: int = 0
    skips: dict[str, int] = field(default_factory=dict)
    last_scored_at: datetime | None = None
    metrics: Mapping[str, MetricStats] = field(default_factory=dict)
    unscored_by_time: Mapping[str, PeriodSums] = field(default_factory=dict)
    matches_by_time: PeriodSums = field(default_factory=PeriodSums)

    def match_shares(self, now: datetime) -> Mapping[ReferenceMatch, float]:
        """Return the share of each kind of match in the answers of the last day; nothing where there is no answer."""
        total, *matched = self._matches(now - DAY, now)
        kinds = zip(ReferenceMatch, matched[: len(ReferenceMatch)], strict=True)
        return {kind: count / total for kind, count in kinds} if total else {}

    def failed_parts(self, since: datetime, until: datetime) -> Mapping[FailedPart, int]:
        """Return how many answers failed against their case, by part; whole hours of when they were asked for.

        Nothing where no answer was compared with a case.
        """
        _, *counts = self._matches(since, until)
        matched, failed = counts[: len(ReferenceMatch)], counts[len(ReferenceMatch) :]
        return {part: int(count) for part, count in zip(FailedPart, failed, strict=True)} if sum(matched) else {}

    def _matches(self, since: datetime, until: datetime) -> tuple[float, ...]:
        first, last = (int(at.timestamp()) // HOUR_SECONDS for at in (since, until))
        nothing = (0.0,) * (1 + len(ReferenceMatch) + len(FailedPart))
        return self.matches_by_time.total(first, last) or nothing

    def with_scores(self, rows: pa.Table) -> ScoreStats:
        """Add rows of `scores` (columns SCORE_COLUMNS)."""
        without_value = np.isnan(floats(rows["value"]))
        is_new = ~_is_backfill(rows)
        skipped = rows.filter(pa.array(without_value & is_new))
        skips = value_counts(skipped["reason"], _UNKNOWN)
        newest = pc.max(rows["scored_at"].filter(pa.array(is_new))).as_py()
        return ScoreStats(
            evaluations=self.evaluations + int(is_new.sum()),
            skips=add_counts(self.skips, skips),
            last_scored_at=max(filter(None, (self.last_scored_at, newest)), default=None),
            metrics=self._metrics_with(_where(rows.select(_OF_METRIC), ~without_value)),
            unscored_by_time=self._unscored_with(skipped),
            matches_by_time=self._matches_with(_where(rows, is_new)),
        )

    def _matches_with(self, rows: pa.Table) -> PeriodSums:
        if "reference_match" not in rows.column_names:
            return self.matches_by_time
        # Scores of judges may come later than the others of their answers, which would then count again.
        judged = pc.is_in(rows["judge"], pa.array(filter(asks_llm, rows["judge"].unique().to_pylist()), pa.string()))
        rows = rows.filter(pc.invert(judged)) if not pc.all(judged).as_py() else rows
        rows = rows.filter(pc.and_(pc.is_valid(rows["event_id"]), pc.is_valid(rows["requested_at"])))
        latest = [("requested_at", "min"), ("reference_match", "max"), ("failed_part", "max")]
        answers = rows.group_by("event_id").aggregate(latest)
        kinds = [_equal(answers["reference_match_max"], kind) for kind in ReferenceMatch]
        parts = [_equal(answers["failed_part_max"], part) for part in FailedPart]
        return self.matches_by_time.with_values(answers["requested_at_min"], np.ones(answers.num_rows), *kinds, *parts)

    def _unscored_with(self, skipped: pa.Table) -> Mapping[str, PeriodSums]:
        dated = skipped.filter(pc.is_valid(skipped["requested_at"]))
        reasons = pc.fill_null(dated["reason"], _UNKNOWN)
        by_time = dict(self.unscored_by_time)
        for reason in pc.unique(reasons).to_pylist():
            at = dated["requested_at"].filter(pc.equal(reasons, reason))
            by_time[reason] = by_time.get(reason, PeriodSums()).with_values(at, np.ones(len(at)))
        return by_time

    def _metrics_with(self, rows: pa.Table) -> Mapping[str, MetricStats]:
        metrics = dict(self.metrics)
        # The library's tables promise these three; a row of another writer without them still counts as evaluated.
        dated = pc.and_(pc.is_valid(rows["requested_at"]), pc.is_valid(rows["scored_at"]))
        rows = _where(rows, np.asarray(pc.and_(dated, pc.is_valid(rows["metric"]))))
        # Put in order once, so that each metric's rows are a slice: a year's are many to copy again and again.
        places = list(groups_of(rows, ("metric",)))
        rows = rows.take(pa.array(np.concatenate([np.empty(0, dtype=np.int64), *places])))
        begin = 0
        for size in map(len, places):
            of_metric, begin = rows.slice(begin, size), begin + size
            name = of_metric["metric"][0].as_py()
            newest = _newest(of_metric)
            held = metrics.get(name)
            if held is None:
                held = newest
            elif (not newest.is_backfill, newest.scored_at) >= (not held.is_backfill, held.scored_at):
                held = held.renewed(newest)
            metrics[name] = held.with_scores(of_metric)
        return {name: metrics[name] for name in sorted(metrics)}


def _newest(rows: pa.Table) -> MetricStats:
    of_service = _where(rows, ~_is_backfill(rows))
    some = of_service if of_service.num_rows else rows
    row = some.slice(pc.index(some["scored_at"], pc.max(some["scored_at"])).as_py(), 1).to_pylist()[0]
    scale = Scale.of(row["direction"], row["low"], row["high"])
    version = str(row["metric_version"] or "")
    return MetricStats(version, row["judge"], row["scored_at"], not of_service.num_rows, scale)


def _equal(column: pa.ChunkedArray, value: str) -> NDArray[np.float64]:
    return np.asarray(pc.fill_null(pc.equal(column, value), False), np.float64)


def _where(rows: pa.Table, chosen: NDArray[np.bool_]) -> pa.Table:
    return rows if chosen.all() else rows.filter(pa.array(chosen))


def _is_backfill(rows: pa.Table) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(rows["is_backfill"], False), dtype=np.bool_)
