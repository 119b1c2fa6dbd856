"""What got worse in all deployments: regressions and limits, from a snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from monitor.alerts.change import AlertChange
from monitor.floors import FloorReading
from monitor.regression import UNDECIDED, Judgement, Reading, Status
from monitor.snapshot import DeploymentState, Snapshot


@dataclass(frozen=True)
class ActiveRegression:
    """A regression that has not ended."""

    deployment: str
    metric: str
    reading: Reading
    judgement: Judgement

    @property
    def mean(self) -> float | None:
        """Mean since the regression began, or of the whole window where no conversation is left from then."""
        return self.reading.mean if self.reading.since_mean is None else self.reading.since_mean

    @property
    def rose(self) -> bool:
        """Whether higher is worse, and so it rose."""
        return self.reading.lower_is_better

    @property
    def is_of_part(self) -> bool:
        """Whether only a segment got worse, as the mean of all did not."""
        reference = self.reading.reference_mean
        rose = self.mean is not None and reference is not None and self.mean > reference
        return self.reading.most_worsened is not None and rose is not self.rose

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """95 % interval of `mean`."""
        if self.reading.since_mean is None:
            return self.reading.mean_lower, self.reading.mean_upper
        return self.reading.since_lower, self.reading.since_upper


@dataclass(frozen=True)
class News:
    """What got worse, and how many metrics are watched; deployments with the most requests first."""

    regressions: tuple[ActiveRegression, ...]
    passed: tuple[tuple[AlertChange, FloorReading | None], ...]
    """Limits that are passed, and how they stand now."""
    incidents: Mapping[str, str]
    """By deployment the id of the incident that is open."""
    watching: int
    learning: int
    stopped: int


def news_of(snapshot: Snapshot) -> News:
    """Give what got worse in the deployments of a snapshot."""
    ordered = sorted(snapshot.deployments.items(), key=lambda item: (-item[1].requests.total, item[0]))
    readings = [reading for _, state in ordered for reading in state.readings.values()]
    return News(
        regressions=tuple(one for name, state in ordered for one in regressions_of(name, state)),
        passed=tuple((c, _floor_of(c, state)) for _, state in ordered for c in state.passed),
        incidents={name: found for name, state in ordered if (found := open_incident(state))},
        watching=sum(reading.status is Status.WATCHING for reading in readings),
        learning=sum(reading.status is Status.LEARNING for reading in readings),
        stopped=sum(
            len(one) for _, state in ordered for one in (state.stopped, state.stopped_judges, state.stopped_floors)
        ),
    )


def open_incident(state: DeploymentState) -> str | None:
    """Give the id of the incident of a deployment that is open."""
    return next((one.incident_id for one in state.incidents if one.ended_at is None), None)


def regressions_of(name: str, state: DeploymentState) -> Iterator[ActiveRegression]:
    """Give the regressions of a deployment that have not ended."""
    for metric, reading in state.readings.items():
        if reading.status is Status.REGRESSED:
            yield ActiveRegression(name, metric, reading, state.judgements.get(metric, UNDECIDED))


def _floor_of(change: AlertChange, state: DeploymentState) -> FloorReading | None:
    return next((reading for floor, reading in state.floors.items() if floor == change.key.metric), None)
