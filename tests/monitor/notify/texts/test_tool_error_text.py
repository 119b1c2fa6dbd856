"""The last error of a failing tool in messages: for receivers that may have texts alone, and noted in the audit log."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from lake.spec.alert_vocabulary import LimitKind
from lake.spec.root_tables import AUDIT
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from monitor.access.audit import AuditLog
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.limits import FailedTool, LimitChange, LimitDetails
from monitor.notify.formats import FORMATS
from monitor.notify.formats.mail import alert_mail
from monitor.notify.notifier import Notifier
from monitor.notify.settings import WebhookSettings
from monitor.notify.texts.incident import IncidentNote
from monitor.notify.users_words import ToolErrorText, UsersWords, UsersWordsReader
from monitor.notify.view import NotificationView
from tests.monitor.alerting.alerts.test_alerts import KEY, NOW
from tests.monitor.notify.conftest import SECRET

MINUTE = timedelta(minutes=1)
TOLD = f"index <b>down</b>\n{'y' * 300}"


@pytest.fixture
def errors(lake: Lake) -> None:
    """Answers whose tools failed: an old one, and two of the last minutes."""
    rows = []
    for ago, result in ((90, "an old error"), (9, "an error before"), (2, TOLD)):
        at = NOW - ago * MINUTE
        calls = [{"id": "1", "name": "search", "arguments": "{}", "result": result, "is_error": True}]
        calls += [{"id": "2", "name": "orders", "arguments": "{}", "result": "of another tool", "is_error": True}]
        turn = {"event_id": f"{ago}", "requested_at": at, "date": at.date(), "kind": "chat_completion"}
        rows.append(turn | {"is_entry": True, "tool_calls": calls})
    lake.table(PARSED_LOGS, KEY.deployment).append(PARSED_LOGS.rows(rows))


def sent(
    lake: Lake, receiver: Any, tool: str = "search", change: Any = "firing", ago: int = 0, **settings: Any
) -> dict[str, Any]:
    """Return the last message of an alert that a tool fails."""
    alerts, audit = AlertStore(lake), AuditLog(lake, lambda: NOW)
    webhook = WebhookSettings.model_validate({"url": receiver.url, "secret": SECRET, "name": "team"} | settings)
    view, words = NotificationView(silences=()), UsersWordsReader(lake, audit)
    notifier = Notifier([webhook], alerts, view=view, internal_hosts=["127.0.0.1"], users_words=words)
    counts = {"share": 0.8, "limit": 0.3, "requests": 30, "bad": 24, "window_seconds": 900.0}
    details = LimitDetails(**counts, tool=FailedTool(tool, 24, 30))  # type: ignore[arg-type]
    at = NOW - ago * MINUTE
    for what in ("firing", change) if change != "firing" else ("firing",):
        found = LimitChange(
            KEY.deployment, LimitKind.TOOL_ERRORS, what, at, "failed", since=at - MINUTE, details=details
        )
        alerts.record_limits(KEY.deployment, [found], at)
        notifier.run_due(at)
        at += MINUTE
    audit.write()
    message: dict[str, Any] = json.loads(receiver.requests[-1].body)
    return message


@pytest.mark.usefixtures("errors")
def test_a_receiver_that_may_have_texts_gets_the_newest_error_of_the_tool(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    """In one line, cut; and it is noted who got it, without what it says."""
    found = sent(lake, start_receiver(), texts=True)["incident"]["usersWords"]["lastToolError"]
    assert found["tool"] == "search"
    assert found["text"].startswith("index <b>down</b> yyy")
    assert len(found["text"]) == 200
    (row,) = lake.table(AUDIT).read().to_pylist()
    assert (row["who"], row["action"], row["deployment"]) == ("receiver team", "read_texts", KEY.deployment)
    assert row["detail"].endswith("comments: 0, words: 0, the last error of a tool")


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize(
    "settings",
    [{}, {"texts": True, "change": "resolved"}, {"texts": True, "tool": "weather"}],
    ids=["without texts", "of the end", "of a tool without errors"],
)
def test_other_messages_have_none(lake: Lake, start_receiver: Callable[..., Any], settings: dict[str, Any]) -> None:
    message = sent(lake, start_receiver(), **settings)
    assert "usersWords" not in message["incident"]
    assert "index" not in json.dumps(message)


@pytest.mark.usefixtures("errors")
def test_errors_of_long_before_the_alert_and_of_after_the_message_are_not_sent(
    lake: Lake, start_receiver: Callable[..., Any]
) -> None:
    """Twenty minutes ago the oldest error was more than an hour old, and the others were still to come."""
    assert "usersWords" not in sent(lake, start_receiver(), ago=20, texts=True)["incident"]


@pytest.mark.usefixtures("errors")
def test_the_error_of_the_time_of_the_alert_is_sent(lake: Lake, start_receiver: Callable[..., Any]) -> None:
    words = sent(lake, start_receiver(), ago=40, texts=True)["incident"]["usersWords"]
    assert words["lastToolError"]["text"] == "an old error"


def test_chats_and_mails_show_it_in_a_line_of_its_own(lake: Lake) -> None:
    """Nothing in it is markup, and it begins no line."""
    details = LimitDetails(share=0.8, limit=0.3, requests=30, bad=24, window_seconds=900.0)
    change = LimitChange(KEY.deployment, LimitKind.TOOL_ERRORS, "firing", NOW, "failed", since=NOW, details=details)
    (recorded,) = AlertStore(lake).record_limits(KEY.deployment, [change], NOW)
    words = UsersWords(("wrong",), last_tool_error=ToolErrorText("se\narch", "index <b>down</b>\u2028now"))
    note = IncidentNote("id", "firing", "page", None, (), None, users_words=words)
    line = "Last error of se arch: index <b>down</b> now"
    assert words.lines == (line, "Users wrote: “wrong”")
    slack = json.loads(FORMATS["slack"]([recorded], "team", "", note))
    (block,) = [one for one in slack["blocks"] if line in str(one)]
    assert block["text"]["type"] == "plain_text"
    teams = FORMATS["teams"]([recorded], "team", "", note).decode()
    assert "index \\\\<b\\\\>down" in teams
    mail = alert_mail([recorded], "", note)
    assert line in mail.text.splitlines()
    assert "index &lt;b&gt;down&lt;/b&gt; now" in mail.html
