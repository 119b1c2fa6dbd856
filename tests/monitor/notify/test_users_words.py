"""What users wrote in messages: for receivers that may have texts alone, and noted in the audit log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.access.audit import AuditLog
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.limits import LimitChange, LimitDetails
from monitor.notify import NotificationView, Notifier, WebhookSettings
from monitor.notify.formats import FORMATS
from monitor.notify.incident_text import IncidentNote
from monitor.notify.users_words import UsersWords, UsersWordsReader
from tests.monitor.alerting.alerts.test_alerts import HOUR, KEY, NOW, fired, resolved
from tests.monitor.notify.conftest import SECRET

READ = UsersWords(("it is <b>wrong</b>",), ("elternzeit",), ("leave", "policy"))


@pytest.fixture
def texts(lake: Lake) -> None:
    """A comment, and answers since the onset whose worst ones are about one topic."""
    since = fired().reading.since
    assert since is not None
    logs, scores = [], []
    for count, value, text in ((40, 0.0, "Is Elternzeit paid"), (90, 1.0, "Is the canteen open")):
        for number in range(count):
            at = since + timedelta(minutes=1 + number / 100)
            place = {"event_id": f"{text} {number}", "requested_at": at, "date": at.date()}
            logs.append(place | {"question": f"{text} {number}?", "user_id": "ann"})
            scores.append(place | {"score_id": place["event_id"], "value": value, "scored_at": at})
    of_metric = {"metric": KEY.metric, "metric_version": KEY.metric_version}
    lake.table(PARSED_LOGS, KEY.deployment).append(PARSED_LOGS.rows(logs))
    lake.table(SCORES, KEY.deployment).append(SCORES.rows([one | of_metric for one in scores]))
    at = since + HOUR / 2
    said = {"signal_id": "1", "signaled_at": at, "date": at.date(), "signal": "dislike"}
    said["details"] = json.dumps({"comment": f"all\nwrong {'x' * 300}"})
    lake.table(USER_SIGNALS, KEY.deployment).append(USER_SIGNALS.rows([said]))


def sent(lake: Lake, receiver: Any, *, settings: dict[str, Any]) -> list[dict[str, Any]]:
    alerts, audit = AlertStore(lake), AuditLog(lake, lambda: NOW)
    webhook = WebhookSettings.model_validate({"url": receiver.url, "secret": SECRET} | settings)
    view = NotificationView(silences=())
    words = UsersWordsReader(lake, audit)
    notifier = Notifier([webhook], alerts, "", view=view, internal_hosts=["127.0.0.1"], users_words=words)
    for step in (fired(), resolved()):
        alerts.record([step], step.at)
        notifier.run_due(step.at)
    audit.write()
    return [json.loads(request.body) for request in receiver.requests]


def test_a_receiver_that_may_have_texts_gets_them(lake: Lake, texts: None, start_receiver: Callable[..., Any]) -> None:
    """In the message of the drop, not in that of its end; and it is noted who got them."""
    begun, ended = sent(lake, start_receiver(), settings={"name": "team", "texts": True})
    words = begun["incident"]["usersWords"]
    assert words["questions"] == ["elternzeit", "paid"]
    (comment,) = words["comments"]
    assert comment.startswith("all wrong xxx")
    assert len(comment) == 200
    assert "usersWords" not in ended["incident"]
    (row,) = lake.table(AUDIT).read().to_pylist()
    assert (row["who"], row["action"], row["deployment"]) == ("receiver team", "read_texts", KEY.deployment)
    assert "lternzeit" not in row["detail"]


def test_who_is_told_of_deployments_that_are_not_theirs_gets_no_texts_of_them(
    lake: Lake, texts: None, start_receiver: Callable[..., Any]
) -> None:
    """That all deployments are silent is told to every receiver."""
    receiver, alerts, audit = start_receiver(), AlertStore(lake), AuditLog(lake, lambda: NOW)
    since = fired().reading.since
    assert since is not None
    at = since + HOUR
    details = LimitDetails(limit_seconds=3600, usual_seconds=900, all_silent=True)
    change = LimitChange(KEY.deployment, LimitKind.NO_DATA, "firing", at, "silent", since=at - HOUR, details=details)
    alerts.record_limits(KEY.deployment, [change], at)
    for globs, has_words in ((["hr-*"], False), (["*"], True)):
        webhook = WebhookSettings.model_validate(
            {"name": globs[0], "url": receiver.url, "secret": SECRET, "texts": True, "deployments": globs}
        )
        words, view = UsersWordsReader(lake, audit), NotificationView(silences=())
        Notifier([webhook], alerts, view=view, internal_hosts=["127.0.0.1"], users_words=words).run_due(at)
        assert ("usersWords" in json.loads(receiver.requests[-1].body)["incident"]) is has_words


def test_comments_of_before_the_onset_are_not_sent(lake: Lake, texts: None, start_receiver: Callable[..., Any]) -> None:
    since = fired().reading.since
    assert since is not None
    at = since - timedelta(minutes=1)
    said = {"signal_id": "old", "signaled_at": at, "date": at.date(), "signal": "dislike"}
    said["details"] = json.dumps({"comment": "an old complaint"})
    lake.table(USER_SIGNALS, KEY.deployment).append(USER_SIGNALS.rows([said]))
    begun, _ = sent(lake, start_receiver(), settings={"texts": True})
    assert len(begun["incident"]["usersWords"]["comments"]) == 1


def test_others_get_none(lake: Lake, texts: None, start_receiver: Callable[..., Any]) -> None:
    begun, _ = sent(lake, start_receiver(), settings={})
    assert "usersWords" not in begun["incident"]
    assert "lternzeit" not in json.dumps(begun)
    assert not lake.table(AUDIT).read().num_rows


def test_without_the_lake_the_message_is_sent_without_them(
    lake: Lake, texts: None, start_receiver: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("the store is away")

    monkeypatch.setattr("monitor.notify.users_words.newest_comments", fail)
    begun, _ = sent(lake, start_receiver(), settings={"texts": True})
    assert begun["alerts"]
    assert "usersWords" not in begun["incident"]


def test_chats_show_them_in_lines(lake: Lake) -> None:
    (change,) = AlertStore(lake).record([fired()], NOW)
    note = IncidentNote("id", "firing", "page", None, (), None, READ)
    lines = (
        "Users wrote: “it is <b>wrong</b>”",
        "Words in questions of the worst answers that good ones have less: elternzeit",
        "Words in documents of the worst answers that good ones have less: leave, policy",
    )
    slack = json.loads(FORMATS["slack"]([change], "team", "", note))
    assert [one["text"]["text"] for one in slack["blocks"][-3:]] == list(lines)
    assert {one["text"]["type"] for one in slack["blocks"][-3:]} == {"plain_text"}
    teams = json.loads(FORMATS["teams"]([change], "team", "", note))["attachments"][0]["content"]["body"]
    assert "it is \\<b\\>wrong" in teams[2]["text"]
    assert "elternzeit" in teams[3]["text"]
    many = json.loads(FORMATS["slack"]([replace(change, alert_id=str(n)) for n in range(60)], "team", "", note))
    assert len(many["blocks"]) <= 50


def test_an_alertmanager_gets_no_texts() -> None:
    with pytest.raises(ValueError, match="gets no texts"):
        WebhookSettings.model_validate({"url": "http://a", "format": "alertmanager", "texts": True})
