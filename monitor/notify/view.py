"""The view that receivers are notified by: what the monitor knows beside the alerts themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from monitor.alerting.controls.silences import Silence
from monitor.alerting.incidents.incident import Incident
from monitor.alerting.incidents.related import Related, RelatedIncidents
from monitor.alerting.incidents.shared_cause import Callers, FailsSince, fails_always
from monitor.notify.digest.table import DigestPeriod, DigestRow


@dataclass(frozen=True)
class NotificationView:
    """What is known of silences, callers and incidents. The monitor hands down another one; none is ever changed.

    While silences or callers are not known, only Alertmanagers are notified: they hold back by themselves.
    """

    silences: Sequence[Silence] | None = ()
    """Also those that are over; None while they are not known."""
    callers: Callers | None = field(default_factory=dict)
    """Who calls which deployment; None while that is not known."""
    fails_since: FailsSince = fails_always
    """Whether the requests of a deployment fail since a time."""
    open_incidents: Sequence[Incident] = ()
    """Those that a summary of the day may be of."""
    recent_incidents: Sequence[Incident] = ()
    """Those that are open, or that ended in the last two days: what may have caused one of them."""
    digest_rows: Callable[[DigestPeriod], Sequence[DigestRow]] | None = None
    """Gives what each deployment had in a period; None while that is not known."""
    complete_until: datetime | None = None
    """Up to when the tables have all rows, where the collector or the evaluator is late; None where neither is."""
    once_quiet_incidents: Sequence[Incident] = ()
    """Those that are quiet or were, also those that are over: an Alertmanager is to hold their repeats back, or to end
    that."""

    def related_to(self, incident_id: str | None) -> tuple[Related, ...]:
        """Return the incidents that may have the same cause as one of the recent ones."""
        mine = next((one for one in self.recent_incidents if one.incident_id == incident_id), None)
        return RelatedIncidents(self.recent_incidents, self.callers or {}).of(mine) if mine else ()

    def with_silences(self, silences: Sequence[Silence], *, is_certain: bool) -> NotificationView:
        """Return the view with these; where it is not certain that they are all, those that were known stay."""
        return replace(self, silences=silences) if is_certain or self.silences is None else self
