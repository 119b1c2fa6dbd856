"""Relearning: which streams, judges and limits read all of their rows again, by handlers of their own, and when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.detect.regression import StoppedStreams
from runtime.backoff import Backoff

_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 5.0, 3600.0


@dataclass
class _Tries:
    """The last time when a stream began to learn anew, and from when on it may do so again."""

    waits: Backoff
    tried_at: datetime
    due_at: datetime


class Relearning:
    """What learns anew of one kind, by deployment; `handler` is the name of the handler that takes its rows.

    A stream that an error has stopped learns anew at the next refresh, and where the error arises again after waits
    that double up to an hour: each time all of its rows are read.
    """

    def __init__(self, handler: str) -> None:
        self.handler = handler
        self._names: dict[str, frozenset[str]] = {}
        self._tries: dict[tuple[str, str], _Tries] = {}

    def of(self, deployment: str) -> frozenset[str]:
        """Return what the handler is to take of a deployment; the other handlers leave it out."""
        return self._names.get(deployment, frozenset())

    def begin(self, deployment: str, names: Set[str]) -> frozenset[str]:
        """Add what learns anew; gives all that does, as the handler begins with the first row again."""
        self._names[deployment] = self.of(deployment) | names
        return self._names[deployment]

    def end(self, deployment: str) -> None:
        """Note that the handler has all rows that the others have, or that the deployment is forgotten."""
        self._names.pop(deployment, None)

    def due(self, stopped: StoppedStreams, now: datetime) -> Mapping[str, frozenset[str]]:
        """Return, once, what is to learn anew now, by deployment."""
        due: dict[str, frozenset[str]] = {}
        for deployment, name in sorted(stopped.waiting):
            tries = self._tries.get((deployment, name))
            # A clock that was set back makes nobody wait longer.
            if tries is not None and tries.tried_at <= now < tries.due_at:
                continue
            if tries is None or now - tries.due_at > timedelta(seconds=_LONGEST_WAIT_SECONDS):
                tries = _Tries(Backoff(_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS), now, now)
                self._tries[deployment, name] = tries
            tries.tried_at, tries.due_at = now, now + timedelta(seconds=tries.waits.next_delay())
            due[deployment] = due.get(deployment, frozenset()) | {name}
        return due


@dataclass(frozen=True)
class RelearningKind:
    """What an error may stop: streams, judges or limits. `begin` has some of a deployment learn anew."""

    stopped: StoppedStreams
    relearning: Relearning
    begin: Callable[[str, Set[str], datetime], None]


def relearn_stopped(kinds: Mapping[str, RelearningKind], now: datetime) -> list[str]:
    """Have what an error has stopped learn anew, if it is time to; gives the deployments that it is of."""
    found: set[str] = set()
    for kind in kinds.values():
        due = kind.relearning.due(kind.stopped, now)
        for deployment, names in due.items():
            kind.begin(deployment, names, now)
            kind.stopped.learn_anew(deployment, names)
        found |= due.keys()
    return sorted(found)


def stopped_of(kinds: Mapping[str, RelearningKind], deployment: str) -> dict[str, tuple[str, ...]]:
    """Return what an error has stopped of a deployment, and has not learned anew, by kind."""
    found = {name: tuple(sorted(kind.stopped.of(deployment))) for name, kind in kinds.items()}
    return {name: stopped for name, stopped in found.items() if stopped}
