import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from lake.spec.alert_vocabulary import OnsetKind
from monitor.alerting.alerts.change import AlertChange, from_row, to_row
from monitor.notify.formats.standard import webhook_body
from monitor.notify.texts.alert import description, summary

AT = datetime(2026, 3, 3, 14, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def told(
    alert: AlertChange, before: timedelta, after: timedelta, kind: OnsetKind, hours: tuple[int, int] | None = None
) -> AlertChange:
    details = structs.replace(
        alert.details, since_earliest=AT - before, since_latest=AT + after, onset=kind, onset_hours=hours
    )
    return replace(alert, since=AT, details=details)


@pytest.mark.parametrize(
    ("before", "after", "kind", "hours", "line", "brief"),
    [
        (0 * HOUR, 0 * HOUR, "sudden", None, "about 2026-03-03 14:00 UTC", "since 2026-03-03 14:00 UTC"),
        (
            100 * HOUR / 60,
            65 * HOUR / 60,
            "sudden",
            None,
            "about 2026-03-03 14:00 UTC (between 2026-03-03 12:00 UTC and 2026-03-03 16:00 UTC)",
            "since 2026-03-03 14:00 UTC",
        ),
        (
            2 * DAY,
            4 * DAY,
            "gradual",
            None,
            "gradually, since about 2026-03-03 (between 2026-03-01 and 2026-03-07)",
            "gradually since about 2026-03-03",
        ),
        (
            0 * DAY,
            0 * DAY,
            "recurring",
            (14, 15),
            "each day between 14 and 15 UTC, since 2026-03-03",
            "each day between 14 and 15 UTC since 2026-03-03",
        ),
        (
            DAY,
            0 * DAY,
            "recurring",
            (23, 2),
            "each day between 23 and 2 UTC, since about 2026-03-03 (between 2026-03-02 and 2026-03-03)",
            "each day between 23 and 2 UTC since about 2026-03-03",
        ),
    ],
)
def test_an_onset_is_told_as_exactly_as_it_is_known(
    firing: AlertChange,
    before: timedelta,
    after: timedelta,
    kind: str,
    hours: tuple[int, int] | None,
    line: str,
    brief: str,
) -> None:
    """No minutes where the interval is of hours, and no hours where it is of days; the hours of what recurs."""
    change = told(firing, before, after, OnsetKind(kind), hours)
    (since,) = [one for one in description(change, "").splitlines() if one.startswith("Since: ")]
    assert since.removeprefix("Since: ").split(";")[0] == line
    assert summary(change).endswith(f" {brief}")


def test_an_onset_is_stored_and_sent_with_its_kind(firing: AlertChange) -> None:
    """The row has it, and so has the body; a row of before does not, and is told as it was."""
    change = told(firing, HOUR, HOUR, OnsetKind.RECURRING, (14, 15))
    row = to_row(change)
    assert from_row(row) == change
    (data,) = json.loads(webhook_body([change], "team", ""))["data"]
    assert (data["onset"], data["onset_hours"]) == ("recurring", [14, 15])
    details = json.loads(row["details"])
    del details["onset"], details["onset_hours"]
    old = from_row(row | {"details": json.dumps(details)})
    assert old.details.onset is None
    assert summary(old).endswith(" since 2026-03-03 14:00 UTC")


@pytest.mark.parametrize("known", [{"since_earliest": AT}, {"since_latest": AT}, {}])
def test_an_interval_of_which_an_end_is_not_known_is_not_told(firing: AlertChange, known: dict[str, datetime]) -> None:
    """Rows of earlier versions have none."""
    details = structs.replace(firing.details, **({"since_earliest": None, "since_latest": None, "onset": None} | known))
    alert = replace(firing, since=AT, details=details)
    assert "since 2026-03-03 14:00 UTC" in summary(alert)
    assert "between" not in description(alert, "")
