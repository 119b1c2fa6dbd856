"""State of an incident, made of the newest change of each of its alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, IncidentEvent, Tier
from monitor.alerting.alerts.change import AlertChange


@dataclass(frozen=True)
class IncidentState:
    """What alerts together say; the same in whatever order their changes were added.

    Alerts that are over count for tier and verdict too: what an incident was stays until it ends.
    """

    alerts: Mapping[str, AlertChange] = field(default_factory=dict)
    """By alert_id the newest change, the earliest alert first."""
    fired: Mapping[str, AlertChange] = field(default_factory=dict)
    """By alert_id the newest `firing` change: tier and verdict are those that these say."""

    def with_change(self, change: AlertChange) -> IncidentState:
        """Add a change that begins or ends an alert; one that is older than what is known of its alert adds nothing."""
        fired = _with_newest(self.fired, change) if change.change == AlertEvent.FIRING else self.fired
        return IncidentState(_with_newest(self.alerts, change), fired)

    @property
    def is_open(self) -> bool:
        """Whether one of the alerts still fires."""
        return any(change.change == AlertEvent.FIRING for change in self.alerts.values())

    @property
    def foremost(self) -> AlertChange | None:
        """The first alert that still fires, a page before a warning; None where it is over."""
        firing = [change for change in self.alerts.values() if change.change == AlertEvent.FIRING]
        return next((change for change in firing if change.pages), next(iter(firing), None))

    @property
    def tier(self) -> Tier:
        """`page` if one of the alerts is a page."""
        return Tier.PAGE if any(change.pages for change in self.fired.values()) else Tier.WARN

    @property
    def verdict(self) -> AlertVerdict | None:
        """What has changed, by all alerts; None if only limits were exceeded, which are not judged, but for a judge's.

        That only the judge changed is said where it is so of each alert.
        """
        verdicts = {
            c.verdict or AlertVerdict.UNDECIDED for c in self.fired.values() if not c.is_limit or c.is_judge_drift
        }
        if not verdicts:
            return None
        by_system = bool(verdicts & {AlertVerdict.SYSTEM, AlertVerdict.BOTH})
        by_judge = bool(verdicts & {AlertVerdict.JUDGE, AlertVerdict.BOTH})
        if by_system:
            return AlertVerdict.BOTH if by_judge else AlertVerdict.SYSTEM
        return AlertVerdict.JUDGE if verdicts == {AlertVerdict.JUDGE} else AlertVerdict.UNDECIDED


def state_of(changes: Iterable[AlertChange]) -> IncidentState:
    """Return the state after all of these changes."""
    state = IncidentState()
    for change in changes:
        state = state.with_change(change)
    return state


def events(before: IncidentState, after: IncidentState) -> tuple[IncidentEvent, ...]:
    """Return what became of an incident between two states."""
    return tuple(_events(before, after))


def _events(before: IncidentState, after: IncidentState) -> Iterable[IncidentEvent]:
    if not before.is_open and after.is_open:
        yield IncidentEvent.OPENED
    elif after.alerts.keys() - before.alerts.keys():
        yield IncidentEvent.JOINED
    if before.is_open:
        if (before.tier, after.tier) == (Tier.WARN, Tier.PAGE):
            yield IncidentEvent.RAISED
        if (before.verdict or AlertVerdict.UNDECIDED) != (after.verdict or AlertVerdict.UNDECIDED):
            yield IncidentEvent.VERDICT_CHANGED
        if any(
            _means_of(one) - _means_of(before.fired[key]) for key, one in after.fired.items() if key in before.fired
        ):
            yield IncidentEvent.LIMIT_ADDED
        if not after.is_open:
            yield IncidentEvent.ENDED


def _means_of(change: AlertChange) -> frozenset[str]:
    """Return the means that a change says to be beyond the limit that a person set."""
    exceeded = change.details.exceeded
    return frozenset(one.metric for one in exceeded.means) if exceeded else frozenset()


def _with_newest(known: Mapping[str, AlertChange], change: AlertChange) -> Mapping[str, AlertChange]:
    before = known.get(change.alert_id)
    return known if before is not None and _age(change) < _age(before) else {**known, change.alert_id: change}


def _age(change: AlertChange) -> tuple[bool, object]:
    return change.change == AlertEvent.RESOLVED, change.changed_at
