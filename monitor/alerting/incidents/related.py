"""Related incidents: those of one time that one cause may have, such as a tool that fails and who calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.shared_cause import Callers, reached
from monitor.detect.limits import FAILURES

RECENT = timedelta(days=2)
"""So long after its end an incident may be the cause of one that is found."""
_NEAR = timedelta(minutes=30)
"""So much before its cause begins, or after it is over, an effect may be found to begin."""


class Relation(StrEnum):
    """What a related incident is to another one."""

    CALLED = "called"
    CALLER = "caller"
    SAME_TOOL = "same_tool"
    SAME_DEPLOYMENT = "same_deployment"


_WORDS: Mapping[Relation, str] = {
    Relation.CALLED: "which it calls",
    Relation.CALLER: "which calls it",
    Relation.SAME_TOOL: "by the same tool",
    Relation.SAME_DEPLOYMENT: "at the same time",
}


@dataclass(frozen=True)
class Related:
    """An incident that may have the same cause as another one."""

    incident: Incident
    relation: Relation
    is_direct: bool = True
    """Whether the one deployment calls the other itself, and not through others."""

    @property
    def words(self) -> str:
        """The relation in words, behind the name of its deployment; and whether it is over."""
        through = "" if self.is_direct else " through others"
        return f"{_WORDS[self.relation]}{through}{'' if self.incident.ended_at is None else ' (over)'}"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics and limits of its alerts, in the order in which they joined."""
        return tuple(dict.fromkeys(one.key.metric for one in self.incident.alerts))


class RelatedIncidents:
    """Finds related incidents among some."""

    def __init__(self, incidents: Iterable[Incident], callers: Callers) -> None:
        self._incidents = tuple(incidents)
        self._callers = callers

    def of(self, incident: Incident) -> tuple[Related, ...]:
        """Return what is related to an incident: what it calls first, itself before others, the earliest first."""
        above = reached(incident.deployment, self._callers)
        order = list(Relation)
        return tuple(
            sorted(
                self._found(incident, above),
                key=lambda one: (order.index(one.relation), not one.is_direct, one.incident.opened_at),
            )
        )

    def _found(self, mine: Incident, above: set[str]) -> Iterator[Related]:
        for other in self._incidents:
            relation = None if other.incident_id == mine.incident_id else self._relation(mine, other, above)
            if relation is not None:
                yield Related(other, relation, self._is_direct(mine.deployment, other.deployment, relation))

    def _is_direct(self, mine: str, other: str, relation: Relation) -> bool:
        if relation is Relation.CALLED:
            return mine in self._callers.get(other, ())
        return relation is not Relation.CALLER or other in self._callers.get(mine, ())

    def _relation(self, mine: Incident, other: Incident, above: set[str]) -> Relation | None:
        if mine.deployment == other.deployment:
            is_one = _follows(mine, other) or _follows(other, mine)
            return Relation.SAME_DEPLOYMENT if is_one else None
        if _follows(mine, other) and mine.deployment in reached(other.deployment, self._callers):
            return Relation.CALLED
        if other.deployment in above and _follows(other, mine):
            return Relation.CALLER
        return Relation.SAME_TOOL if _have_one_tool(mine, other) else None


@dataclass(frozen=True)
class _Found:
    """An alert as it was last said to fire, and when it ended; None while it fires."""

    change: AlertChange
    end: datetime | None

    @property
    def tool(self) -> str | None:
        exceeded = self.change.details.exceeded
        return exceeded.tool.name if exceeded is not None and exceeded.tool is not None else None

    @property
    def is_failure(self) -> bool:
        return self.change.is_limit and self.change.key.metric in FAILURES

    @property
    def may_follow(self) -> bool:
        """Whether a failure elsewhere can lead to it: a score that fell, or a failure too."""
        return self.is_failure or not (self.change.is_limit or self.change.verdict == AlertVerdict.JUDGE)

    def begins_with(self, cause: _Found) -> bool:
        """Whether it may have begun while the cause lasted, by all that is known of when it began."""
        details, began = self.change.details, self.change.since or self.change.fired_at
        cause_began = cause.change.since or cause.change.fired_at
        is_early = (details.since_latest or began) < cause_began - _NEAR
        is_late = cause.end is not None and (details.since_earliest or began) > cause.end + _NEAR
        return not is_early and not is_late


def _found(incident: Incident) -> list[_Found]:
    ends = {one.alert_id: one.changed_at for one in incident.alerts if one.change == AlertEvent.RESOLVED}
    return [_Found(one, ends.get(one.alert_id)) for one in incident.fired]


def _follows(effect: Incident, cause: Incident) -> bool:
    """Whether something of an incident may come from a failure of another one."""
    causes = [one for one in _found(cause) if one.is_failure]
    return any(one.may_follow and one.begins_with(found) for found in causes for one in _found(effect))


def _have_one_tool(mine: Incident, other: Incident) -> bool:
    return any(
        one.tool is not None and one.tool == another.tool and (one.begins_with(another) or another.begins_with(one))
        for one in _found(mine)
        for another in _found(other)
    )
