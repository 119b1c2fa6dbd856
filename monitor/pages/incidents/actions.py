"""Changes that the forms of an incident make: acknowledge, silence, accept the new level; each once, if sent twice."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TypeVar

from starlette.exceptions import HTTPException

from lake.spec.service_vocabulary import AuditAction
from lake.store.store_errors import log_failure
from monitor.access.reader import Reader
from monitor.alerting.controls.releases import mark_release, read_releases, withdraw_release
from monitor.alerting.controls.silences import Silence, add_silence, end_silence, read_silences
from monitor.detect.regression import Release, Releases
from monitor.pages.incidents.finding import FoundIncident, incident_of
from monitor.service.monitor import Monitor
from runtime.unseen_characters import visible

logger = logging.getLogger(__name__)
T = TypeVar("T")

_HOURS = {"1": "1 hour", "2": "2 hours", "4": "4 hours", "24": "1 day", "168": "7 days"}
MORNING = "morning"
_MORNING_HOUR = 8
MOST_CHARACTERS = 1_000
"""Of a comment."""
_SAME = timedelta(minutes=10)
"""Silences whose ends are no farther apart are one that was sent twice."""
_FORBIDDEN, _CONFLICT, _UNPROCESSABLE, _UNAVAILABLE = 403, 409, 422, 503
_MOST_DIGITS = 10
_FIRST_YEAR, _LAST_YEAR = 1970, 2999


@dataclass(frozen=True)
class SilenceLength:
    """How long a silence may be, in words, until when it then holds, and the option of the command."""

    words: str
    until: datetime
    option: tuple[str, str]


def silence_lengths(now: datetime, zone: tzinfo) -> Mapping[str, SilenceLength]:
    """Return what a form may ask for, by the value of its field: hours, or the next morning of `zone`."""
    lengths = {
        hours: SilenceLength(words, now + timedelta(hours=int(hours)), ("--for", f"{hours}h"))
        for hours, words in _HOURS.items()
    }
    local = (now + timedelta(hours=1)).astimezone(zone)
    day = local.date() + timedelta(days=local.hour >= _MORNING_HOUR)
    morning = datetime.combine(day, time(_MORNING_HOUR), zone).astimezone(UTC)
    lengths[MORNING] = SilenceLength("Until the morning", morning, ("--until", f"{morning:%Y-%m-%dT%H:%MZ}"))
    return dict(sorted(lengths.items(), key=lambda item: item[1].until))


class Actions:
    """Changes in the lake, one at a time, so that a form that is sent twice at once finds what the first has done."""

    def __init__(self, monitor: Monitor, zone: tzinfo) -> None:
        """`zone` is that of the pages: their mornings are its."""
        self._monitor, self._zone = monitor, zone
        self._one_at_a_time = threading.Lock()

    def acknowledge(self, reader: Reader, found: FoundIncident, fields: Mapping[str, str]) -> None:
        """Record that the reader takes note, unless that is what the incident says already; 409 where it is over."""
        if not found.is_open:
            raise HTTPException(_CONFLICT, "This incident is over: there is nothing to acknowledge")
        comment = _comment(fields)

        def acknowledge() -> bool:
            newest = incident_of(self._monitor.snapshot, found.incident.incident_id) or found
            last = newest.incident.acknowledged
            if last is not None and (last.who, last.comment) == (reader.who, comment):
                return False
            self._monitor.acknowledge(newest.incident, reader.who, comment)
            return True

        if self._done(acknowledge):
            self._note(reader, AuditAction.ACKNOWLEDGE, found, "")

    def withdraw_acknowledgement(self, reader: Reader, found: FoundIncident) -> None:
        """Take the acknowledgement of an incident back; nothing where it has none, as where that is asked for twice."""

        def withdraw() -> bool:
            newest = incident_of(self._monitor.snapshot, found.incident.incident_id) or found
            if newest.incident.acknowledged is None:
                return False
            self._monitor.withdraw_acknowledgement(newest.incident, reader.who)
            return True

        if self._done(withdraw):
            self._note(reader, AuditAction.ACKNOWLEDGE, found, "taken back")

    def silence(self, reader: Reader, found: FoundIncident, fields: Mapping[str, str], now: datetime) -> int:
        """Add a silence and return its id; where there is such a one already, that one's."""
        lengths = silence_lengths(now, self._zone)
        chosen = lengths.get(fields.get("length", ""))
        if chosen is None:
            said = ", ".join(one.words.lower() for one in lengths.values())
            raise HTTPException(_UNPROCESSABLE, f"A silence is as long as the form says: {said}")
        until = chosen.until.replace(microsecond=0)
        silence = Silence(
            deployment=found.name, metric=_metric(fields, found), until=until, comment=_comment(fields)
        )  # fmt: skip

        def add() -> tuple[int, bool]:
            known = read_silences(self._monitor.lake)
            same = [number for number, one in known.items() if _is_same(one, silence)]
            return (max(same), False) if same else (add_silence(self._monitor.lake, silence, now, reader.who), True)

        number, is_new = self._done(add)
        if is_new:
            what = f"silence {number} of {silence.metric or 'all metrics'} until {until.isoformat()}"
            self._note(reader, AuditAction.SILENCE, found, what)
        return number

    def end_silence(self, reader: Reader, found: FoundIncident, fields: Mapping[str, str], now: datetime) -> int:
        """End a silence of the deployment and return its id; 403 for one that holds for others too."""
        known = self.silence_of(found, fields.get("silence", ""))
        if known is None:
            raise HTTPException(_UNPROCESSABLE, "There is no such silence of this deployment")
        number, silence = known
        if silence.deployment is None:
            raise HTTPException(_FORBIDDEN, "This silence holds for every deployment: it is ended by the command")

        def end() -> bool:
            is_holding = now < read_silences(self._monitor.lake)[number].until
            if is_holding:
                end_silence(self._monitor.lake, number, now, reader.who)
            return is_holding

        if self._done(end):
            self._note(reader, AuditAction.SILENCE, found, f"ended silence {number}")
        return number

    def release(self, reader: Reader, found: FoundIncident, fields: Mapping[str, str], now: datetime) -> int:
        """Accept the new level and return the id of the mark; where there is such a mark already, that one's."""
        release = Release(found.name, _metric(fields, found), _moment(fields.get("at", "")), _comment(fields))

        def mark() -> tuple[int, bool]:
            known = read_releases(self._monitor.lake).valid
            same = [
                number
                for number, one in known.items()
                if (one.deployment, one.metric, one.at) == (release.deployment, release.metric, release.at)
            ]
            return (max(same), False) if same else (mark_release(self._monitor.lake, release, now), True)

        number, is_new = self._done(mark)
        if is_new:
            what = f"release {number} of {release.metric or 'all metrics'} at {release.at.isoformat()}"
            self._note(reader, AuditAction.RELEASE, found, what)
        return number

    def withdraw(self, reader: Reader, found: FoundIncident, fields: Mapping[str, str], now: datetime) -> int:
        """Take the mark of an accepted level back and return its id; once, if that is asked for twice."""
        number = _number(fields.get("release", ""))

        def known() -> Releases:
            return read_releases(self._monitor.lake)

        marked = None if number is None else self._done(known).marked.get(number)
        if number is None or marked is None or marked.deployment != found.name:
            raise HTTPException(_UNPROCESSABLE, "No such level of this deployment was accepted")

        def take_back() -> bool:
            is_valid = number in known().valid
            if is_valid:
                withdraw_release(self._monitor.lake, number, now)
            return is_valid

        if self._done(take_back):
            self._note(reader, AuditAction.RELEASE, found, f"took release {number} back")
        return number

    def silence_of(self, found: FoundIncident, number: str) -> tuple[int, Silence] | None:
        """Return a silence that holds back alerts of the deployment, by its id; None where none is found."""
        known = self._found(number, lambda: read_silences(self._monitor.lake))
        return known if known and known[1].deployment in (None, found.name) else None

    def release_of(self, found: FoundIncident, number: str) -> tuple[int, Release] | None:
        """Return a mark of the deployment by its id; None where none is found."""
        known = self._found(number, lambda: read_releases(self._monitor.lake).valid)
        return known if known and known[1].deployment == found.name else None

    def _found(self, number: str, read: Callable[[], Mapping[int, T]]) -> tuple[int, T] | None:
        known = _number(number)
        if known is None:
            return None
        try:
            one = read().get(known)
        except Exception as error:
            log_failure(logger, error, "What a form of an incident has stored could not be read")
            return None
        return None if one is None else (known, one)

    def _done(self, change: Callable[[], T]) -> T:
        with self._one_at_a_time:
            try:
                return change()
            except Exception as error:
                log_failure(logger, error, "A form of an incident could not be stored")
                message = "This could not be stored, the lake does not take it now: go back, and send it again"
                raise HTTPException(_UNAVAILABLE, message) from None

    def _note(self, reader: Reader, action: AuditAction, found: FoundIncident, what: str) -> None:
        detail = f"incident {found.incident.incident_id}" + (f", {what}" if what else "")
        self._monitor.audit.note(reader.who, action, found.name, detail=detail)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS else None


def _is_same(one: Silence, other: Silence) -> bool:
    is_alike = (one.deployment, one.metric, one.comment) == (other.deployment, other.metric, other.comment)
    return is_alike and abs(one.until - other.until) <= _SAME


def _comment(fields: Mapping[str, str]) -> str:
    """Return the comment on one line, without characters that a terminal takes as commands."""
    comment = visible(" ".join(fields.get("comment", "").split()))
    if len(comment) > MOST_CHARACTERS:
        raise HTTPException(_UNPROCESSABLE, f"A comment has at most {MOST_CHARACTERS:,} characters")
    return comment


def _metric(fields: Mapping[str, str], found: FoundIncident) -> str | None:
    metric = fields.get("metric") or None
    if metric is not None and metric not in found.metrics:
        raise HTTPException(_UNPROCESSABLE, "That is no metric of this incident: choose one of the form's")
    return metric


def _moment(text: str) -> datetime:
    """Read a time of UTC, as a browser's field of date and time writes it."""
    try:
        at = datetime.fromisoformat(text.strip())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise HTTPException(_UNPROCESSABLE, "A time is written as 2026-11-20T09:30, in UTC") from None
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise HTTPException(_UNPROCESSABLE, f"A time has a year from {_FIRST_YEAR} to {_LAST_YEAR}")
    return at
