"""Does a share of what a deployment does pass its limit, and when is it over?"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from monitor.floors.minute_counts import LONGEST, Minutes, Stretches, minute_of, time_of
from monitor.floors.results import Finding, FloorChange, FloorName, FloorReading
from monitor.floors.settings import FloorSettings

_OVER = 0.5
"""An alert is over at this part of the limit, so that a share near the limit does not come and go."""
_MINUTE = timedelta(minutes=1)


class ShareFloor:
    """One floor of one deployment.

    It fires with the first minute whose stretch has at least `minimum_requests` and a share of bad ones of at least
    the limit. It is over with the first later minute whose stretch has a share of at most half the limit, or a day
    after the last request. Only the last day is judged, by the clock, and nothing up to the last recorded change.
    """

    def __init__(self, deployment: str, floor: FloorName, limit: float, settings: FloorSettings) -> None:
        self._deployment, self._floor, self._limit, self._settings = deployment, floor, limit, settings

    def look(
        self,
        minutes: Minutes,
        last_change: tuple[bool, datetime] | None,
        answered_since: datetime | None,
        now: datetime,
    ) -> tuple[list[FloorChange], FloorReading]:
        """Give what began or ended after the last change, if any, and how things are now.

        The last change says whether an alert is open, and since when. Before the first request that was answered, and
        without one, nothing begins or ends.
        """
        is_open, since = last_change or (False, answered_since or now)
        stretches = minutes.stretches(self._settings.window, self._settings.minimum_requests, now)
        enough = stretches.totals >= self._settings.minimum_requests
        begins = enough & (stretches.bad >= self._limit * stretches.totals)
        ends = stretches.bad <= _OVER * self._limit * stretches.totals
        judged = (stretches.ends > minute_of(max(since, now - LONGEST))) & (answered_since is not None)
        changes: list[FloorChange] = []
        place = 0
        while (found := np.flatnonzero((ends if is_open else begins)[place:] & judged[place:])).size:
            place += int(found[0])
            is_open = not is_open
            changes.append(self._change(minutes, stretches, place, is_open))
            place += 1
        last = time_of(int(stretches.ends[-1])) if stretches.ends.size else None
        if is_open and answered_since is not None and (last is None or now - last > LONGEST):
            is_open = False
            at = max(since + _MINUTE, last + LONGEST) if last else now
            changes.append(FloorChange(self._deployment, self._floor, "resolved", at, "no request for a day"))
        share = int(stretches.bad[-1]) / int(stretches.totals[-1]) if enough.any() and enough[-1] else None
        unjudged = None if is_open else self._unjudged(stretches, answered_since, now)
        return changes, FloorReading(is_open, share, self._limit, unjudged)

    def _unjudged(self, stretches: Stretches, answered_since: datetime | None, now: datetime) -> str | None:
        """Say why the newest stretch can fire nothing."""
        minimum = self._settings.minimum_requests
        total = int(stretches.totals[-1]) if stretches.ends.size else 0
        if answered_since is None:
            return "no request has been answered yet"
        if total < minimum:
            return f"too few to tell: {total:,} of {minimum:,} within a day"
        last = time_of(int(stretches.ends[-1]))
        if last <= now - LONGEST:
            return f"the newest is older than a day: {last:%Y-%m-%d %H:%M} UTC"
        if last <= answered_since:
            return f"none since the minute of the first answer, {last:%Y-%m-%d %H:%M} UTC"
        return None

    def _change(self, minutes: Minutes, stretches: Stretches, place: int, begins: bool) -> FloorChange:
        first, last = int(stretches.firsts[place]), int(stretches.ends[place])
        total, bad = int(stretches.totals[place]), int(stretches.bad[place])
        mostly = max(minutes.reasons(first, last).items(), key=lambda one: (one[1], one[0]), default=(None, 0))[0]
        finding = Finding(
            share=bad / total,
            limit=self._limit,
            ends_at=_OVER * self._limit,
            requests=total,
            bad=bad,
            window_seconds=max(self._settings.window, (last - first + 1) * _MINUTE).total_seconds(),
            mostly=mostly,
        )
        return FloorChange(
            self._deployment,
            self._floor,
            "firing" if begins else "resolved",
            time_of(last),
            "the share reached its limit" if begins else "the share fell to half its limit",
            since=time_of(minutes.first_bad(first, last)) if begins else None,
            finding=finding,
        )
