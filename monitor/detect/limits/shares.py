"""Check of one share of one deployment against its limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
import numpy as np
from numpy.typing import NDArray

from lake.spec.alert_vocabulary import AlertEvent, LimitKind, Tier
from monitor.detect.limits.evidence import CLEAN, has_risen, is_clean, latest_mean, usual_share
from monitor.detect.limits.minute_counts import KEPT, LONGEST, MinuteCounts, Windows, minute_of, time_of
from monitor.detect.limits.results import LastChange, LimitChange, LimitDetails, LimitReading
from monitor.detect.limits.settings import LimitSettings

_OVER = 0.5
"""An alert is over at this part of the limit, so that a share near the limit does not come and go."""
_MINUTE = timedelta(minutes=1)
_LASTS = "it lasts"
FAILURES = (LimitKind.ERRORS, LimitKind.EMPTY_ANSWERS, LimitKind.TOOL_ERRORS, LimitKind.CHILD_ERRORS)
"""Limits that a failing deployment exceeds, and whoever calls it: a short outage is no page."""
_REASONS = {
    (True, True): "the share reached its limit",
    (True, False): "far more than usual, at few requests",
    (False, True): "the share fell to half its limit",
    (False, False): "the latest, which are few, were good",
}
"""By whether it begins, and whether there are enough for a share."""


class ShareLimit:
    """One limit of one deployment.

    It fires with the first minute whose window has at least `minimum_requests` and a share of bad ones of at least
    the limit, or, at any number, with the first minute until which the share has risen beyond chance (`has_risen`). It
    is over with the first later minute whose window has a share of at most half the limit, after eight minutes with
    requests and no bad one where there are too few for a share, or a day after the last request. Only the last day is
    judged, by the clock, and nothing up to the last recorded change.

    With `one_of_many` a share is not enough, however many it is of: the limit is one of many, and fires only where the
    share has risen beyond chance above the limit, and above the usual share.

    What fails for less than `page_after` is a warning. It is raised to a page after that, with a
    minute that is as bad as the limit, as are the latest eight with requests together.
    """

    def __init__(
        self, deployment: str, kind: LimitKind, limit: float, settings: LimitSettings, *, one_of_many: bool = False
    ) -> None:
        self.limit = limit
        """Share of bad ones."""
        self._deployment, self._kind, self._settings = deployment, kind, settings
        self._one_of_many = one_of_many
        self._page_after = settings.page_after if kind in FAILURES else timedelta(0)

    def look(
        self,
        minutes: MinuteCounts,
        last_change: LastChange | None,
        now: datetime,
    ) -> tuple[list[LimitChange], LimitReading]:
        """Return what began or ended after the last change, if any, and how things are now.

        An open alert is raised where it is recorded as a warning, whatever its beginning looks like by now: late rows
        or another `page_after` may move that. No good past is needed: a deployment that has failed from its first
        request on fires as others do.
        """
        known = last_change or LastChange(False, now - KEPT)
        is_open, since, tier = known.is_open, known.at, known.tier
        windows = minutes.windows(self._settings.window, self._settings.minimum_requests, now)
        enough = windows.totals >= self._settings.minimum_requests
        told = self._risen(minutes, windows, since) | (enough & (not self._one_of_many))
        begins = told & (windows.bad >= self.limit * windows.totals)
        ends = (windows.bad <= _OVER * self.limit * windows.totals) | (~enough & is_clean(windows.shares))
        judged = windows.ends > minute_of(max(since, now - LONGEST))
        changes: list[LimitChange] = []
        place, fired = 0, known.fired_at or since
        while (found := np.flatnonzero((ends if is_open else begins)[place:] & judged[place:])).size or is_open:
            end = place + int(found[0]) if found.size else len(judged)
            if is_open and tier != Tier.PAGE:
                changes += self._raised(minutes, windows, fired, judged & _between(place, end, len(judged)))
            if not found.size:
                break
            place, is_open = end, not is_open
            change = self._change(minutes, windows, place, is_open, has_share=bool(enough[place]))
            if is_open:
                change = self._with_tier(change)
                fired, tier = change.at, change.tier
            else:
                change = _with_length(change, minutes, windows, fired, self.limit)
            changes.append(change)
            place += 1
        last = time_of(int(windows.ends[-1])) if windows.ends.size else None
        if is_open and (last is None or now - last > LONGEST):
            is_open = False
            at = max(since + _MINUTE, last + LONGEST) if last else now
            changes.append(LimitChange(self._deployment, self._kind, AlertEvent.RESOLVED, at, "no request for a day"))
        share = int(windows.bad[-1]) / int(windows.totals[-1]) if enough.any() and enough[-1] else None
        unjudged = None if is_open else self._unjudged(windows, now)
        return changes, LimitReading(is_open, share, self.limit, unjudged)

    def _with_tier(self, change: LimitChange) -> LimitChange:
        """Return the begin of an alert as a warning, where it has not lasted yet."""
        if change.since is None or change.details is None or change.at - change.since >= self._page_after:
            return change
        seconds = self._page_after.total_seconds()
        return replace(
            change, tier=Tier.WARN, details=msgspec.structs.replace(change.details, page_after_seconds=seconds)
        )

    def _raised(
        self, minutes: MinuteCounts, windows: Windows, fired: datetime, is_open: NDArray[np.bool_]
    ) -> Iterator[LimitChange]:
        """Yield the page of a warning that is open in these windows: once it has lasted, and is still bad."""
        began = _began(minutes, windows, fired, self.limit)
        lasting = windows.ends >= began + self._page_after // _MINUTE
        still_bad = (windows.shares >= self.limit) & (latest_mean(windows.shares, CLEAN) >= self.limit)
        found = np.flatnonzero(is_open & lasting & still_bad)
        if found.size:
            change = self._change(minutes, windows, int(found[0]), begins=True, has_share=True)
            change = replace(change, since=time_of(began), reason=_LASTS)
            yield _with_length(change, minutes, windows, fired, self.limit)

    def _risen(self, minutes: MinuteCounts, windows: Windows, since: datetime) -> NDArray[np.bool_]:
        """Return for each minute whether the share has risen since the last change."""
        risen = np.zeros(len(windows.ends), dtype=np.bool_)
        later = windows.ends > minute_of(since)
        if later.any():
            ends, shares, usual = windows.ends[later], windows.shares[later], minutes.usual
            risen[later] = has_risen(ends, shares, usual, self.limit, above_limit=self._one_of_many)
        return risen

    def _unjudged(self, windows: Windows, now: datetime) -> str | None:
        """Say why the newest window cannot fire."""
        minimum = self._settings.minimum_requests
        total = int(windows.totals[-1]) if windows.ends.size else 0
        if total < minimum:
            return f"too few for a share: {total:,} of {minimum:,} within a day; many bad ones in a row still fire"
        last = time_of(int(windows.ends[-1]))
        if last <= now - LONGEST:
            return f"the newest is older than a day: {last:%Y-%m-%d %H:%M} UTC"
        return None

    def _change(
        self, minutes: MinuteCounts, windows: Windows, place: int, begins: bool, has_share: bool
    ) -> LimitChange:
        first, last = int(windows.firsts[place]), int(windows.ends[place])
        total, bad = int(windows.totals[place]), int(windows.bad[place])
        details = LimitDetails(
            share=bad / total,
            limit=self.limit,
            ends_at=_OVER * self.limit,
            requests=total,
            bad=bad,
            in_a_row=int(windows.in_a_row[place]) if begins else None,
            usual=None if has_share or not begins else usual_share(minutes.usual),
            window_seconds=max(self._settings.window, (last - first + 1) * _MINUTE).total_seconds(),
            mostly=minutes.most_frequent_reason(first, last),
        )
        return LimitChange(
            self._deployment,
            self._kind,
            AlertEvent.FIRING if begins else AlertEvent.RESOLVED,
            time_of(last),
            _REASONS[begins, has_share],
            since=time_of(minutes.begin_of_bad(first, last, self.limit)) if begins else None,
            details=details,
            back_at=None if begins else time_of(last),
        )


def _between(begin: int, end: int, length: int) -> NDArray[np.bool_]:
    places = np.arange(length)
    return (places >= begin) & (places < end)


def _began(minutes: MinuteCounts, windows: Windows, fired: datetime, limit: float) -> int:
    """Return when what an alert fired with began; when it fired, where that is not counted any more."""
    place = int(np.searchsorted(windows.ends, minute_of(fired)))
    is_known = place < len(windows.ends) and windows.ends[place] == minute_of(fired)
    first, last = int(windows.firsts[place]) if is_known else 0, minute_of(fired)
    return minutes.begin_of_bad(first, last, limit) if is_known else last


def _with_length(
    change: LimitChange, minutes: MinuteCounts, windows: Windows, fired: datetime, limit: float
) -> LimitChange:
    """Return a change of an open alert with how long it was bad."""
    last_bad, first = minutes.last_bad(minute_of(change.at)), _began(minutes, windows, fired, limit)
    if last_bad is None or last_bad < first or change.details is None:
        return change
    lasted = (last_bad - first + 1) * _MINUTE
    # What is not kept any more is not counted either.
    total, bad = minutes.between(first, last_bad) if first >= windows.firsts[0] else (None, None)
    details = msgspec.structs.replace(
        change.details, lasted_seconds=lasted.total_seconds(), bad_meanwhile=bad, requests_meanwhile=total
    )
    back_at = None
    if change.change == AlertEvent.RESOLVED:
        details = msgspec.structs.replace(details, mostly=minutes.most_frequent_reason(first, last_bad))
        back_at = time_of(last_bad + 1)
    return replace(change, since=time_of(first), details=details, back_at=back_at)
