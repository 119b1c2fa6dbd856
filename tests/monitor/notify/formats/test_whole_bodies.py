"""Whole bodies of messages: every number stands where it belongs, and there is as much as a receiver takes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from msgspec import structs

from lake.spec.alert_vocabulary import AlertEvent, Tier
from monitor.alerting.alerts.change import AlertChange, WorstAnswer
from monitor.alerting.incidents.state import state_of
from monitor.detect.regression import StreamKey
from monitor.notify.formats import FORMATS
from monitor.notify.formats.daily_summary import SUMMARY_FORMATS, lines, title
from monitor.notify.posted_alert import posted_alerts
from monitor.notify.texts.alert import description, summary
from monitor.notify.texts.incident import incident_line, note_of
from monitor.notify.texts.plain import cut

AT = datetime(2026, 11, 20, 12, 5, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
URL = "https://watch.example/"


def test_the_alert_of_an_alertmanager_is_that_of_its_incident(firing: AlertChange) -> None:
    """Labels of what opened it, words of what still fires, and no end before its beginning."""
    opened = replace(firing, incident_id="id", details=structs.replace(firing.details, recorded_at=AT))
    page = structs.replace(firing.details, tier=Tier.PAGE, recorded_at=AT + HOUR)
    other = replace(opened, alert_id="b", change_id="b", key=replace(firing.key, metric="n"), details=page)
    found = posted_alerts([opened, other], URL, AT + 9 * HOUR)
    assert [(one.labels["severity"], one.ends_at) for one in found] == [
        ("warning", AT + HOUR), ("page", AT + 9 * HOUR),
    ]  # fmt: skip
    assert {one.labels["metric"] for one in found} == {"faithfulness_kprecision"}
    assert {one.labels["incident"] for one in found} == {"id"}
    assert all(one.annotations["summary"].startswith("apps/rag: “n” fell") for one in found)
    assert all(one.annotations["description"].splitlines()[-1].startswith("Incident: ") for one in found)
    ends = [
        replace(one, change=AlertEvent.RESOLVED, details=structs.replace(one.details, recorded_at=AT + at * HOUR))
        for at, one in ((2, opened), (3, other))
    ]
    over = posted_alerts([opened, other, *ends], URL, AT + 9 * HOUR)
    assert [(one.labels["severity"], one.ends_at) for one in over] == [
        ("warning", AT + HOUR), ("page", AT + 3 * HOUR),
    ]  # fmt: skip
    ahead = structs.replace(firing.details, fired_at=AT + DAY, recorded_at=AT)
    (early,) = posted_alerts([replace(opened, change=AlertEvent.RESOLVED, details=ahead)], URL, AT)
    assert (early.starts_at, early.ends_at) == (AT + DAY, AT + DAY)


def test_a_body_has_each_number_in_its_place(firing: AlertChange) -> None:
    """Of an end: when it began and when it was over."""
    details = structs.replace(
        firing.details, since_earliest=AT - 3 * HOUR, since_latest=AT - HOUR, judge_shift=-0.3, judge_shift_lower=-0.4,
        judge_shift_upper=-0.2, within=0.1, mix=-0.2, worst=tuple(WorstAnswer(str(one), 0.0) for one in range(7)),
    )  # fmt: skip
    end = replace(firing, change=AlertEvent.RESOLVED, changed_at=AT, details=details)
    body = json.loads(FORMATS["standard"]([end], "team", URL))
    (alert,), (data,) = body["alerts"], body["data"]
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-11-20T12:00:00Z", "2026-11-20T12:05:00Z")
    assert (alert["fingerprint"], alert["status"]) == ("alert-1-01234567", "resolved")
    assert data["judge_shift"] == {"mean": -0.3, "lower": -0.4, "upper": -0.2}
    assert (data["since_earliest"], data["since_latest"]) == ("2026-11-20T09:05:00Z", "2026-11-20T11:05:00Z")
    assert (data["within"], data["mix"], len(data["worst"]), len(data["worst_links"])) == (0.1, -0.2, 5, 5)
    assert data["before"] == {"mean": 0.8, "lower": None, "upper": None}
    assert data["after"] == {"mean": 0.41, "lower": 0.3, "upper": 0.52}


def test_chats_have_as_much_as_they_take(firing: AlertChange) -> None:
    """A header of 150 characters, fifty blocks, lines of a thousand characters, and an incident after all."""
    assert [cut("abcd", length) for length in (3, 4)] == ["ab…", "abcd"]
    named = replace(firing, key=StreamKey("d" * 200, "m", "1"))
    note = note_of("id", state_of([named]), URL)
    changes = [replace(named, change_id=str(number)) for number in range(60)]
    slack = json.loads(FORMATS["slack"](changes, "team", URL, note))
    assert len(slack["blocks"]) == 50
    assert len(slack["blocks"][0]["text"]["text"]) == 150
    assert slack["blocks"][-2]["text"]["text"] == incident_line(note)
    card = json.loads(FORMATS["teams"](changes[:9], "team", URL, note))["attachments"][0]["content"]["body"]
    assert len(card) == 1 + 1 + 9 * (1 + len(description(named, URL).splitlines()))
    assert len(json.dumps(FORMATS["teams"](changes, "team", URL, note).decode())) > 15_000
    recovered = replace(firing, change=AlertEvent.RESOLVED)
    gone = replace(recovered, current_mean=None, reason="why")
    both = json.loads(FORMATS["teams"]([recovered, gone], "team", ""))
    assert both["attachments"][0]["content"]["body"][0]["color"] == "default"


def test_a_summary_has_twenty_incidents_and_a_number(firing: AlertChange) -> None:
    """And one incident is one."""
    note = note_of("id", state_of([firing]), "")
    line = f"warning since 2026-11-20 12:00 UTC: {summary(firing)}"
    assert title([(firing, note)]) == "1 incident goes on, and nobody has acknowledged it"
    assert lines([(firing, note)] * 20) == [line] * 20
    assert lines([(firing, note)] * 22) == [*[line] * 20, "2 more are on the page of incidents."]
    urgent = replace(firing, details=structs.replace(firing.details, tier=Tier.PAGE))
    assert lines([(urgent, note_of("id", state_of([urgent]), ""))])[0].startswith("urgent since 2026-11-20 12:00 UTC: ")
    linked = note_of("id", state_of([firing]), URL)
    assert lines([(firing, linked)]) == [f"{line}; https://watch.example/incident?id=id"]
    slack = json.loads(SUMMARY_FORMATS["slack"]([(firing, note)], "team", ""))
    assert "Open dialwatch" not in json.dumps(slack)
