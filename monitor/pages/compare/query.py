"""Query of the page: which answers are compared, and by which metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from pydantic import ConfigDict
from starlette.exceptions import HTTPException

from lake.queries.preferences import LoggedAnswers
from lake.spec.schemas import deployment_of
from monitor.pages.answers.addresses import day_of
from monitor.pages.answers.query import MOST_DAYS, BadQueryError, time_of

_USUAL_DAYS = 7
_USUAL_DAYS_OF_TWO = 28
_DAY = timedelta(days=1)


class Between(StrEnum):
    """What is compared."""

    PERIODS = "periods"
    REPLAYS = "replays"


@dataclass(frozen=True)
class CompareQuery:
    """The fields of the form. Days are in UTC, and the first and the last one are both of their period."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    deployment: str
    metric: str
    """Metric whose scores are compared; without it the first that the deployment has."""
    before_deployment: str = ""
    """Deployment of the earlier side, such as another version of the application; without it the same."""
    between: Between = Between.PERIODS
    """`periods`: answers to people; `replays`: two runs that asked accepted cases again."""
    before_since: date = date.min
    """First day of the earlier period; without it the week before the last one, of another deployment the last 28
    days."""
    before_until: date = date.min
    after_since: date = date.min
    """First day of the later period; without it the last week, beside another deployment the last 28 days."""
    after_until: date = date.min
    onset: datetime | None = None
    """Time that divides the periods, such as the onset of an incident, 2026-11-20T21:30Z: answers before it, and those
    since. Without days the earlier period begins 7 days before, and the later one ends today."""
    before_version: str = ""
    """Version of the metric in the earlier period; without it the newest."""
    after_version: str = ""
    before_run: str = ""
    """Run to compare with; without it the baseline of the later run."""
    after_run: str = ""
    """Run that is compared; without it the latest."""

    @property
    def earlier_deployment(self) -> str:
        """Deployment whose answers are the earlier side."""
        return self.before_deployment or self.deployment

    @property
    def sides(self) -> tuple[LoggedAnswers, LoggedAnswers]:
        """Answers of the earlier and of the later period."""
        return (
            LoggedAnswers(deployment_of(self.earlier_deployment), self.before_since, self.before_until, end=self.onset),
            LoggedAnswers(deployment_of(self.deployment), self.after_since, self.after_until, start=self.onset),
        )

    def address(self) -> str:
        """Return the part of the address behind the question mark: the fields that are not empty."""
        fields = {name: str(value) for name, value in asdict(self).items() if value}
        if self.onset is not None:
            fields["onset"] = self.onset.isoformat()
        return urlencode(fields, errors="replace")

    def with_metric(self, metric: str) -> CompareQuery:
        """Return the same query of another metric."""
        return replace(self, metric=metric)

    @classmethod
    def read(cls, given: Mapping[str, str], today: date) -> CompareQuery:
        """Read the fields of an address; one that is absent or empty has its usual value. Raises BadQueryError."""
        fields = {name: value.strip() for name, value in given.items() if value.strip()}
        try:
            between = Between(fields.get("between", Between.PERIODS))
        except ValueError:
            raise BadQueryError("What is compared are `periods` or `replays`") from None
        # Two deployments may answer at the same time, or one after the other.
        is_of_two = fields.get("before_deployment", "") not in ("", fields.get("deployment", ""))
        usual = ((_USUAL_DAYS_OF_TWO if is_of_two else _USUAL_DAYS) - 1) * _DAY
        onset = time_of(fields, "onset")
        after_until = _day(fields, "after_until", _last_day(onset, today))
        after_since = _day(fields, "after_since", onset.date() if onset else after_until - usual)
        last = onset.date() if onset else after_until if is_of_two else after_since - _DAY
        before_until = _day(fields, "before_until", last)
        before_since = _day(fields, "before_since", before_until - (_USUAL_DAYS * _DAY if onset else usual))
        for first, last in ((before_since, before_until), (after_since, after_until)):
            if first > last:
                raise BadQueryError("The first day of a period must not be after its last day")
            if last - first >= MOST_DAYS * _DAY:
                raise BadQueryError(f"A period has at most {MOST_DAYS} days")
        texts = ("before_version", "after_version", "before_run", "after_run")
        return cls(
            deployment=fields.get("deployment", ""),
            metric=fields.get("metric", ""),
            before_deployment=fields["before_deployment"] if is_of_two else "",
            between=between,
            before_since=before_since,
            before_until=before_until,
            after_since=after_since,
            after_until=after_until,
            # Of other days, as a form may send them, it says nothing.
            onset=onset if onset and onset.date() == before_until == after_since else None,
            **{name: fields.get(name, "") for name in texts},
        )


def _last_day(onset: datetime | None, today: date) -> date:
    """Return the last day of the later period where none is given."""
    return today if onset is None else min(max(today, onset.date()), onset.date() + (MOST_DAYS - 1) * _DAY)


def _day(fields: Mapping[str, str], name: str, usual: date) -> date:
    if name not in fields:
        return usual
    try:
        return day_of(fields[name], "day")
    except HTTPException as error:
        raise BadQueryError(error.detail) from None
