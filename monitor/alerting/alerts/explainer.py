"""Looks for what changed around the onset of an alert that begins, and who asked since: a few in a refresh."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from lake.queries.affected import StandsOut, affected, standing_out, without_names
from lake.queries.refusals import refused_answers
from lake.queries.worst_answers.compared_answers import ScoredFall, read_compared
from lake.spec.alert_vocabulary import AlertEvent, OnsetKind
from lake.spec.schemas import deployment_of
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.rating_onset import with_onset_of, with_onset_of_answers
from monitor.detect.causes import AffectedCounts, AroundOnset, CallersOfDays, OnsetInterval, RefusalCounts, around_onset
from monitor.detect.regression import StreamKey, Transition

MOST_AT_ONCE = 5
"""In one refresh: each reads the log, while other alerts wait."""
MOST_COUNTED = 20
"""Counts of who asked, in one refresh: each reads a few short columns."""
LONGEST_COUNTED = timedelta(days=7)
"""Those who asked are counted of so long a time at the most."""
_OLDEST = timedelta(days=2)
"""An alert that is found so late, as in history, is not looked at: nobody is woken by it."""


class Explainer:
    """Gives what the log shows around an onset, for the alerts that are to be recorded."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._callers = CallersOfDays(lake)
        self._left = MOST_AT_ONCE
        self._looked: set[str] = set()
        self._counted: dict[tuple[str, datetime, datetime], AffectedCounts | None] = {}
        self._compared: dict[tuple[StreamKey, datetime], tuple[StandsOut, ...]] = {}
        self._refusals: dict[tuple[str, datetime], RefusalCounts | None] = {}
        self._joined = 0

    def begin(self) -> None:
        """Forget what the last refresh looked at, and how much it was: another one begins."""
        self._left = MOST_AT_ONCE
        self._looked = set()
        self._counted = {}
        self._compared = {}
        self._refusals = {}
        self._joined = 0
        self._callers.forget()

    def with_onset(self, transition: Transition, known: Sequence[AlertChange]) -> Transition:
        """Return a change of dislikes with the onset of the answers; an alert that is open has it already.

        It is as it is where the answers of too many alerts were looked for in this refresh.
        """
        if transition.key.metric != DISLIKES:
            return transition
        opened = next(
            (one for one in _newest(known) if one.key == transition.key and one.change == AlertEvent.FIRING), None
        )
        if opened is not None:
            return replace(transition, reading=with_onset_of(transition.reading, opened))
        if transition.change != AlertEvent.FIRING or self._joined >= MOST_AT_ONCE:
            return transition
        self._joined += 1
        name, reading = transition.key.deployment, transition.reading
        return replace(transition, reading=with_onset_of_answers(self._lake, name, reading, transition.at))

    def around(
        self,
        transition: Transition,
        known: Sequence[AlertChange],
        deployments: Sequence[str | None],
        now: datetime,
    ) -> AroundOnset | None:
        """Look, unless an open alert of the deployment says it already, or too many are looked at.

        `known` are the changes of the deployment's alerts, `deployments` those that it may call.
        """
        name, reading = transition.key.deployment, transition.reading
        if reading.since is None or transition.at < now - _OLDEST or name in self._looked or not self._left:
            return None
        is_open = any(c.change == AlertEvent.FIRING and c.details.around_onset for c in _newest(known))
        if _is_recorded(transition, known) or is_open:
            return None
        self._looked.add(name)
        self._left -= 1
        onset = OnsetInterval(
            reading.since, reading.since_earliest or reading.since, reading.since_latest or reading.since
        )
        older = reading.older_version if reading.onset is OnsetKind.RELEASE else None
        return around_onset(self._lake, name, onset, now, self._callers.around(onset, now, deployments), older)

    def affected(self, transition: Transition, known: Sequence[AlertChange], now: datetime) -> AffectedCounts | None:
        """Count who asked since the onset and before the time of the change; what stands out is compared apart from it.

        Of an end it is until quality was back.

        None of an alert of history, of one that is recorded already, and where too many were counted in this refresh.
        """
        name, since = transition.key.deployment, transition.reading.since
        if since is None or transition.at < now - _OLDEST or _is_recorded(transition, known):
            return None
        # The clock may be long after it, as where logs are read late.
        is_end = transition.change == AlertEvent.RESOLVED
        until = min((is_end and transition.reading.recovering_since) or transition.at, now)
        onset = name, since, until
        if onset not in self._counted and len(self._counted) < MOST_COUNTED:
            self._counted[onset] = None  # a read that fails counts too
            self._counted[onset] = count_affected(self._lake, name, since, until)
        return self._counted.get(onset)

    def standing_out(self, transition: Transition, now: datetime) -> tuple[StandsOut, ...]:
        """Return what the worst answers of the alert's metric have more often; nothing where too many were compared."""
        if transition.reading.since is None:
            return ()
        fall = transition.key, transition.reading.since
        if fall not in self._compared and len(self._compared) < MOST_AT_ONCE:
            self._compared[fall] = ()  # a read that fails is one of the five too
            self._compared[fall] = self._read_standing_out(transition, now)
        return self._compared.get(fall, ())

    def refusals(self, transition: Transition, now: datetime) -> RefusalCounts | None:
        """Count the answers that refuse since the onset and before it, once in a refresh for alerts of one time.

        None where most do not, or did before, and where those of too many deployments were counted.
        """
        name, since = transition.key.deployment, transition.reading.since
        if since is None:
            return None
        asked = name, min(transition.at, now)
        if asked not in self._refusals and len(self._refusals) < MOST_AT_ONCE:
            self._refusals[asked] = None  # a read that fails is one of the five too
            earliest = transition.reading.since_earliest or since
            after = refused_answers(self._lake, deployment_of(name), since, asked[1])
            older = deployment_of(transition.reading.older_version or name)
            before = refused_answers(self._lake, older, earliest - LONGEST_COUNTED, earliest)
            counts = RefusalCounts(*after, *before)
            self._refusals[asked] = counts if counts.are_most else None
        return self._refusals.get(asked)

    def _read_standing_out(self, transition: Transition, now: datetime) -> tuple[StandsOut, ...]:
        key, reading = transition.key, transition.reading
        if key.metric == DISLIKES or reading.since is None or reading.reference_mean is None:
            return ()
        fall = ScoredFall(
            name=deployment_of(key.deployment),
            older=deployment_of(reading.older_version or key.deployment),
            metric=key.metric,
            version=key.metric_version,
            earliest=reading.since_earliest or reading.since,
            onset=reading.since,
            reference=reading.reference_mean,
            lower_is_better=reading.lower_is_better,
        )
        return without_names(standing_out(read_compared(self._lake, fall, now)), with_texts=False)


def count_affected(lake: Lake, name: str, since: datetime, until: datetime) -> AffectedCounts:
    """Count who asked a deployment from `since` on and before `until`, of a long time in its last 7 days."""
    found = affected(lake, deployment_of(name), max(since, until - LONGEST_COUNTED), until)
    return AffectedCounts(found.requests, found.conversations, found.people)


def _is_recorded(transition: Transition, known: Sequence[AlertChange]) -> bool:
    return any(one.key == transition.key and one.changed_at >= transition.at for one in _newest(known))


def _newest(known: Sequence[AlertChange]) -> Collection[AlertChange]:
    return {one.alert_id: one for one in known if one.change in (AlertEvent.FIRING, AlertEvent.RESOLVED)}.values()
