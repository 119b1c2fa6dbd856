"""Pages of judged metrics that wait for the judge's anchors."""

from dataclasses import replace
from datetime import timedelta

import pytest

from lake.spec.alert_vocabulary import AlertVerdict, Tier
from lake.tables.lake import Lake
from monitor.alerting.alerts.change import AlertChange
from monitor.alerting.alerts.judge_wait import with_waiting_pages
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import Transition
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, READING, judged, resolved

DUE = NOW + 2 * HOUR
LATER = NOW + timedelta(minutes=20)
WARNING = judged(AlertVerdict.UNDECIDED)


def page(verdict: AlertVerdict = AlertVerdict.UNDECIDED) -> Transition:
    """The evidence of a page, two hours after that of a warning."""
    return replace(judged(verdict, Tier.PAGE), at=WARNING.at + 2 * HOUR, page_due=DUE)


def recorded(lake: Lake, *transitions: Transition) -> AlertStore:
    """Alerts of a monitor that was started again after these."""
    AlertStore(lake).record(list(transitions), NOW)
    return AlertStore(lake)


def newest(alerts: AlertStore) -> AlertChange:
    return alerts.changes()[-1]


@pytest.mark.parametrize("before", [(), (WARNING,)])
def test_a_page_that_waits_is_a_warning_with_its_time(lake: Lake, before: tuple[Transition, ...]) -> None:
    """Also where the stream pages at once; what the detector says again after a restart changes nothing."""
    alerts = recorded(lake, *before, page())
    assert (newest(alerts).tier, newest(alerts).pages, newest(alerts).details.page_due) == ("warn", False, DUE)
    again = replace(page(), at=page().at + HOUR, page_due=DUE + HOUR)
    assert alerts.record([page(), again], LATER) == []
    assert alerts.raise_overdue({}, DUE - timedelta(seconds=1)) == []


def test_it_is_a_page_once_its_time_has_come(lake: Lake) -> None:
    """Once, whoever restarts; and another monitor that was slower repeats nothing."""
    alerts, slower = recorded(lake, WARNING, page()), AlertStore(lake)
    (raised,) = alerts.raise_overdue({}, DUE)
    assert (raised.pages, raised.details.page_due, raised.verdict) == (True, None, "undecided")
    assert raised.details.recorded_at == DUE
    for store in (alerts, slower, AlertStore(lake)):
        assert store.raise_overdue({}, DUE + HOUR) == []
    assert len({change.change_id for change in AlertStore(lake).changes()}) == 3


@pytest.mark.parametrize(("verdict", "pages"), [("system", True), ("both", True), ("judge", False)])
def test_a_verdict_ends_the_wait(lake: Lake, verdict: AlertVerdict, pages: bool) -> None:
    """It pages at once, unless only the judge changed: then it never does."""
    alerts = recorded(lake, WARNING, page())
    (change,) = alerts.update_verdicts({KEY: judged(verdict).judgement}, {KEY: READING}, LATER)
    assert (change.pages, change.verdict, change.details.page_due) == (pages, verdict, None)
    assert AlertStore(lake).raise_overdue({}, DUE + HOUR) == []


@pytest.mark.parametrize(("verdict", "pages"), [("system", True), ("both", True), ("judge", False)])
def test_what_is_decided_does_not_wait(lake: Lake, verdict: AlertVerdict, pages: bool) -> None:
    """The anchors may have been scored for the warning already."""
    alerts = recorded(lake, WARNING, page(verdict))
    assert (newest(alerts).tier, newest(alerts).pages, newest(alerts).details.page_due) == ("page", pages, None)


def test_what_the_judge_explains_waits_on(lake: Lake) -> None:
    """The judge is proven to have changed, and nothing proves that anything else has: a page once that is not so."""
    alerts = recorded(lake, WARNING, page())
    explained = replace(WARNING.judgement, is_explained=True)
    assert alerts.raise_overdue({KEY: explained}, DUE + HOUR) == []
    assert len(alerts.raise_overdue({KEY: WARNING.judgement}, DUE + HOUR)) == 1


def test_an_alert_that_ends_while_it_waits_never_pages(lake: Lake) -> None:
    alerts = recorded(lake, WARNING, page(), resolved())
    assert alerts.raise_overdue({}, DUE + HOUR) == []


def test_a_stream_is_no_page_before_its_alert_is(lake: Lake) -> None:
    """The pages and metrics say the tier that receivers were told."""
    readings = {KEY: replace(READING, tier=Tier.PAGE)}
    alerts = recorded(lake, WARNING, page())
    assert with_waiting_pages(readings, alerts.active())[KEY].tier == "warn"
    alerts.raise_overdue({}, DUE)
    assert with_waiting_pages(readings, alerts.active())[KEY].tier == "page"
