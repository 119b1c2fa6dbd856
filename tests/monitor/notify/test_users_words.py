"""What users wrote in messages: for receivers that may have texts alone, and noted in the audit log."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from lake.queries.comments import newest_comments
from lake.spec.alert_vocabulary import AlertEvent, LimitKind
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from monitor.access.audit import AuditLog
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.limits import LimitChange, LimitDetails
from monitor.notify.formats import FORMATS
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from monitor.notify.texts.incident import IncidentNote
from monitor.notify.users_words import MessageWords, UsersWords, UsersWordsReader
from monitor.notify.view import NotificationView
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
    said["details"] = json.dumps({"comment": f"all\nwrong {'y' * 300}"})
    lake.table(USER_SIGNALS, KEY.deployment).append(USER_SIGNALS.rows([said]))


def sent(
    lake: Lake, receiver: Any, *, settings: dict[str, Any], seconds: float = 60, retries: int = 0
) -> list[dict[str, Any]]:
    alerts, audit = AlertStore(lake), AuditLog(lake, lambda: NOW)
    webhook = WebhookSettings.model_validate({"url": receiver.url, "secret": SECRET} | settings)
    view = NotificationView(silences=())
    words = UsersWordsReader(lake, audit, seconds)
    notifier = Notifier([webhook], alerts, "", view=view, internal_hosts=["127.0.0.1"], users_words=words)
    for step in (fired(), resolved()):
        alerts.record([step], step.at)
        for attempt in range(retries + 1):
            notifier.run_due(step.at + attempt * timedelta(minutes=3))
    audit.write()
    return [json.loads(request.body) for request in receiver.requests]


def test_a_receiver_that_may_have_texts_gets_them(lake: Lake, texts: None, start_receiver: Callable[..., Any]) -> None:
    """In the message of the drop, not in that of its end; and it is noted who got them."""
    begun, ended = sent(lake, start_receiver(), settings={"name": "team", "texts": True})
    words = begun["incident"]["usersWords"]
    assert words["questions"] == ["elternzeit", "paid"]
    (comment,) = words["comments"]
    assert comment.startswith("all wrong yyy")
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


def test_texts_are_read_once_and_noted_once_they_were_sent(
    lake: Lake, texts: None, start_receiver: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a message is tried, and another message reads its own."""
    reads: list[Any] = []

    def read(*asked: Any) -> Any:
        reads.append(asked)
        return newest_comments(*asked)

    monkeypatch.setattr("monitor.notify.users_words.newest_comments", read)
    first, second, third, _ = sent(lake, start_receiver(503, 503, 200), settings={"texts": True}, retries=2)
    assert first["incident"]["usersWords"] == second["incident"]["usersWords"] == third["incident"]["usersWords"]
    assert len(reads) == 1
    assert lake.table(AUDIT).read().num_rows == 1


def test_texts_that_nobody_got_are_not_noted(lake: Lake, texts: None, start_receiver: Callable[..., Any]) -> None:
    bodies = sent(lake, start_receiver(503), settings={"texts": True}, retries=2)
    assert all("usersWords" in body["incident"] for body in bodies[:3])
    assert not lake.table(AUDIT).read().num_rows


def test_a_store_that_hangs_delays_no_message(
    lake: Lake, texts: None, start_receiver: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent without texts, and one thread alone waits for the store."""
    goes_on, reads = threading.Event(), list[Any]()

    def hang(*asked: Any) -> tuple[()]:
        reads.append(asked)
        goes_on.wait(30)
        return ()

    monkeypatch.setattr("monitor.notify.users_words.newest_comments", hang)
    began = time.monotonic()
    (message, *_) = sent(lake, start_receiver(), settings={"texts": True}, seconds=0.1)
    assert time.monotonic() - began < 20
    assert "usersWords" not in message["incident"]
    change = next(one for one in AlertStore(lake).changes() if one.change == AlertEvent.FIRING)
    words = MessageWords(UsersWordsReader(lake, AuditLog(lake, lambda: NOW), 0.1), "team")
    assert [words.of(message_id, [change], NOW) for message_id in "abc"] == [None] * 3
    assert len(reads) == 2
    goes_on.set()


def test_texts_of_few_messages_are_kept(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the latest ones, and until they are settled."""
    monkeypatch.setattr("monitor.notify.users_words._MOST_KEPT", 2)
    (change,) = AlertStore(lake).record([fired()], NOW)
    words = MessageWords(UsersWordsReader(lake, AuditLog(lake, lambda: NOW)), "team")
    for message_id in "abac":
        words.of(message_id, [change], NOW)
    assert list(words._found) == ["b", "c"]
    words.forget("b")
    assert list(words._found) == ["c"]


def test_texts_that_were_erased_since_are_not_sent_by_a_retry(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within minutes they are read once; after that again for each try."""
    (change,) = AlertStore(lake).record([fired()], NOW)
    reader = UsersWordsReader(lake, AuditLog(lake, lambda: NOW))
    left = [READ, None]
    monkeypatch.setattr(reader, "read", lambda *_: left.pop(0))
    words = MessageWords(reader, "team")
    shown = [words.of("a", [change], NOW + timedelta(minutes=minutes)) for minutes in (0, 9, 11)]
    assert shown == [READ, READ, None]


def test_chats_show_them_in_lines(lake: Lake) -> None:
    (change,) = AlertStore(lake).record([fired()], NOW)
    note = IncidentNote("id", "firing", "page", None, (), None, users_words=READ)
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
