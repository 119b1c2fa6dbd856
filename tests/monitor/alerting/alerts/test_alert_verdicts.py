from dataclasses import replace
from datetime import timedelta

from lake.spec.schemas import ALERTS
from lake.tables.lake import Lake
from monitor.alerting.alerts.alert_stats import AlertStats
from monitor.alerting.alerts.store import AlertStore
from tests.monitor.alerting.alerts.test_alerts import KEY, NOW, READING, fired, judged, resolved


def verdicts(alerts: AlertStore) -> list[tuple[str, str | None]]:
    return [(change.change, change.verdict) for change in alerts.changes()]


def test_a_verdict_that_comes_later_fires_once_more(lake: Lake) -> None:
    """An undecided alert fires again when it is decided, once, over restarts; its end has the verdict too."""
    judgement, readings = {KEY: judged("judge").judgement}, {KEY: READING}
    AlertStore(lake).record([fired()], NOW)
    for minute in range(3):
        AlertStore(lake).update_verdicts(judgement, readings, NOW + timedelta(minutes=minute))
    AlertStore(lake).record([resolved()], NOW)
    alerts = AlertStore(lake)
    assert verdicts(alerts) == [("firing", "undecided"), ("firing", "judge"), ("resolved", "judge")]
    assert alerts.changes()[1].details.judge_shift_lower == -0.5
    assert len({change.alert_id for change in alerts.changes()}) == 1
    assert AlertStats().with_alerts(lake.table(ALERTS, KEY.deployment).read()).regressions == {
        (KEY.metric, "undecided"): 1,
        (KEY.metric, "judge"): 1,
    }


def test_what_was_decided_fires_again_only_where_the_application_changed_too(lake: Lake) -> None:
    """After `judge` comes `both`; after `system` nothing."""
    alerts, readings = AlertStore(lake), {KEY: READING}
    alerts.record([judged("judge")], NOW)
    for verdict in ("undecided", "both", "judge", "system"):
        alerts.update_verdicts({KEY: judged(verdict).judgement}, readings, NOW)
    assert verdicts(alerts) == [("firing", "judge"), ("firing", "both")]


def test_a_verdict_that_comes_back_fires_again(lake: Lake) -> None:
    """What was the application, and the judge at the next tier, pages once it is the application again."""
    alerts, readings = AlertStore(lake), {KEY: READING}
    alerts.record([judged("undecided")], NOW)
    alerts.update_verdicts({KEY: judged("system").judgement}, readings, NOW)
    alerts.record([judged("judge", "page")], NOW)
    for _ in range(2):
        AlertStore(lake).update_verdicts({KEY: judged("system").judgement}, readings, NOW)
    changes = AlertStore(lake).changes()
    assert [change.verdict for change in changes] == ["undecided", "system", "judge", "system"]
    assert (changes[-2].pages, changes[-1].pages) == (False, True)
    assert len({change.change_id for change in changes}) == 4


def test_a_judge_that_changed_pages_nobody(lake: Lake) -> None:
    """With the evidence of a page it stays a warning, also where its verdict is not known any more."""
    alerts = AlertStore(lake)
    alerts.record([judged("judge"), judged("undecided", "page")], NOW)
    warning, page = alerts.changes()
    assert (warning.pages, page.tier, page.verdict, page.pages) == (False, "page", "judge", False)
    assert replace(page, verdict="both").pages
