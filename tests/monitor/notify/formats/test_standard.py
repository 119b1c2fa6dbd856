import json
from dataclasses import replace
from datetime import UTC, datetime

from msgspec import structs

from monitor.alerting.alerts.change import AlertChange
from monitor.detect.regression import SegmentChange
from monitor.notify.formats.standard import webhook_body


def test_a_body_has_alertmanagers_shape_and_our_data(firing: AlertChange) -> None:
    """Every field of Alertmanager's version 4 is there under its name, and beside it `data` with ids and numbers."""
    body = json.loads(webhook_body([firing], "pager", "https://watch.example/"))
    annotations = body["commonAnnotations"]
    labels = {
        "alertname": "DialwatchRegression",
        "deployment": "apps/rag",
        "metric": "faithfulness_kprecision",
        "metric_version": "1",
        "severity": "warning",
    }
    assert set(annotations) == {"summary", "description"}
    assert body == {
        "version": "4",
        "groupKey": '{}:{alertname="DialwatchRegression", deployment="apps/rag"}',
        "truncatedAlerts": 0,
        "incident": None,
        "summary": None,
        "status": "firing",
        "receiver": "pager",
        "groupLabels": {"alertname": "DialwatchRegression", "deployment": "apps/rag"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "https://watch.example/",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": annotations,
                "startsAt": "2026-11-20T12:00:00Z",
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "https://watch.example/deployment?name=apps/rag",
                "fingerprint": "alert-1-01234567",
            }
        ],
        "data": [
            {
                "change_id": "change-1",
                "alert_id": "alert-1-0123456789abcdef",
                "deployment": "apps/rag",
                "metric": "faithfulness_kprecision",
                "metric_version": "1",
                "before": {"mean": 0.8, "lower": None, "upper": None},
                "after": {"mean": 0.41, "lower": 0.3, "upper": 0.52},
                "since": "2026-11-20T09:30:00Z",
                "since_earliest": None,
                "since_latest": None,
                "onset": None,
                "onset_hours": None,
                "older_version": None,
                "marked_release": None,
                "while_learning": False,
                "changed_at": "2026-11-20T12:00:00Z",
                "log_evidence": 7.1,
                "log_threshold": 6.6,
                "within": None,
                "mix": None,
                "segments": [],
                "verdict": "undecided",
                "judge_shift": None,
                "worst": [{"response_id": "chatcmpl-1", "value": 0.0}, {"response_id": "chatcmpl-2", "value": 0.1}],
                "link": "https://watch.example/deployment?name=apps/rag",
                "floor": None,
                "failed_parts": {},
                "affected": None,
                "worst_links": [
                    "https://watch.example/answer?deployment=apps/rag&response_id=chatcmpl-1&since=2026-11-19",
                    "https://watch.example/answer?deployment=apps/rag&response_id=chatcmpl-2&since=2026-11-19",
                ],
            }
        ],
    }


def test_a_resolved_alert_ends(firing: AlertChange) -> None:
    """`startsAt` stays when it fired, `endsAt` is when it was resolved, and group and fingerprint stay the same."""
    end = replace(firing, change_id="change-2", change="resolved", changed_at=datetime(2026, 11, 21, 8, tzinfo=UTC))
    before, after = (json.loads(webhook_body([change], "pager", "")) for change in (firing, end))
    (alert,) = after["alerts"]
    assert (alert["status"], alert["startsAt"], alert["endsAt"]) == (
        "resolved",
        "2026-11-20T12:00:00Z",
        "2026-11-21T08:00:00Z",
    )
    assert after["groupKey"] == before["groupKey"]
    assert alert["fingerprint"] == before["alerts"][0]["fingerprint"]


def test_a_message_of_several_metrics_has_an_alert_and_data_for_each(firing: AlertChange) -> None:
    """What they share is common, in labels and annotations; the rest stands with each alert, in one order."""
    other = replace(firing, change_id="change-2", key=replace(firing.key, metric="answer_length"))
    body = json.loads(webhook_body([firing, other], "pager", ""))
    assert [alert["labels"]["metric"] for alert in body["alerts"]] == ["faithfulness_kprecision", "answer_length"]
    assert [data["change_id"] for data in body["data"]] == ["change-1", "change-2"]
    assert "metric" not in body["commonLabels"]
    assert body["commonLabels"]["deployment"] == "apps/rag"
    assert body["commonAnnotations"] == {}


def test_the_data_have_the_segments_before_and_since(firing: AlertChange) -> None:
    """Each with its name, shares and means, and beside them what is of the segments and what of their mix."""
    segments = (SegmentChange("language ru", 0.2, 0.3, 0.6, 0.2), SegmentChange("other", 0.0, 0.1, None, 0.5))
    details = structs.replace(firing.details, within=-0.3, mix=-0.09, segments=segments, most_worsened=segments[0])
    (data,) = json.loads(webhook_body([replace(firing, details=details)], "pager", ""))["data"]
    assert (data["within"], data["mix"]) == (-0.3, -0.09)
    names = ("name", "share_before", "share_after", "mean_before", "mean_after")
    assert data["segments"] == [
        dict(zip(names, ("language ru", 0.2, 0.3, 0.6, 0.2), strict=True)),
        dict(zip(names, ("other", 0.0, 0.1, None, 0.5), strict=True)),
    ]
