"""What people asked not to be told for a while."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import AwareDatetime, BaseModel, ConfigDict

from monitor.alerts.change import AlertChange


class Silence(BaseModel):
    """Holds back that alerts fired, of a deployment, a metric or both, until an instant; of all where neither is given.

    Where the alert is over before the silence is, nobody is told of it; else people are told when the silence ends.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    deployment: str | None = None
    metric: str | None = None
    until: AwareDatetime
    """ISO 8601 with a zone, such as 2026-12-01T08:00:00Z."""
    comment: str = ""
    """Why, for the reason in the `alerts` table."""

    def holds(self, change: AlertChange) -> bool:
        """Whether the change is of what is silenced, whenever."""
        return self.deployment in (None, change.key.deployment) and self.metric in (None, change.key.metric)

    @property
    def reason(self) -> str:
        """The words for the `alerts` table."""
        return f"silenced until {self.until.isoformat()}" + (f": {self.comment}" if self.comment else "")


def silence_of(change: AlertChange, silences: Sequence[Silence]) -> Silence | None:
    """Give the silence that holds the change back for longest, None if there is none; ended ones are not looked for."""
    return max((silence for silence in silences if silence.holds(change)), key=lambda s: s.until, default=None)
