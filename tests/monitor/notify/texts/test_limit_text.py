from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from lake.spec.alert_vocabulary import LIMIT_VERSION, LimitKind
from lake.spec.metric_names import metric_look
from lake.spec.vocabulary import DISLIKES
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.detect.limits import LimitDetails
from monitor.detect.regression import StreamKey
from monitor.notify.formats.standard import webhook_body
from monitor.notify.messages import messages
from monitor.notify.texts.alert import description, summary
from monitor.notify.texts.http_status import failed_requests
from monitor.notify.texts.limit import limit_look
from monitor.notify.texts.link import link_to

AT = datetime(2026, 11, 20, 12, 5, tzinfo=UTC)


def exceeded(kind: str, details: LimitDetails) -> AlertChange:
    details = AlertDetails(fired_at=AT, tier="page", recorded_at=AT, exceeded=details)
    key = StreamKey("rag-chat", kind, LIMIT_VERSION)
    return AlertChange("change-1", "alert-1", key, "firing", AT, details, since=AT - timedelta(minutes=9))


def share(requests: int, mostly: str | None = None) -> LimitDetails:
    return LimitDetails(share=0.71, limit=0.3, ends_at=0.15, requests=requests, window_seconds=900, mostly=mostly)


def test_a_limit_has_no_verdict() -> None:
    """Its numbers are counted: a webhook says null, not that its cause is undecided."""
    (data,) = json.loads(webhook_body([exceeded("errors", share(240))], "team", ""))["data"]
    assert data["verdict"] is None
    assert data["floor"]["requests"] == 240


@pytest.mark.parametrize(
    ("kind", "mostly", "expected"),
    [
        (
            "errors",
            "503",
            "71 % of 240 requests of rag-chat in the last 15 minutes failed, mostly HTTP 503 (server not "
            "available); limit 30 %",
        ),
        ("empty_answers", None, "71 % of 240 answers of rag-chat in the last 15 minutes are empty; limit 30 %"),
        (
            "refusals",
            None,
            "71 % of 240 answers of rag-chat in the last 15 minutes refuse or say that the information is missing; "
            "limit 30 %",
        ),
        (
            "unscored",
            "judge_timeout",
            "71 % of 240 evaluations of rag-chat in the last 15 minutes got no score of the judge, mostly "
            "judge_timeout; limit 30 %",
        ),
    ],
)
def test_a_share_says_of_what_and_over_which_time(kind: str, mostly: str | None, expected: str) -> None:
    """One line that a person understands at 3 a.m."""
    assert summary(exceeded(kind, share(240, mostly))) == expected


@pytest.mark.parametrize(
    ("status", "what_to_do"),
    [
        ("429", "What to do: look at the rate limit: a deployment that refuses because of it is not broken; see who "
         "sends more than usual, and the limits in DIAL and at the provider of the model."),
        ("401", "What to do: look at the API key of those that are refused: whether it has expired, was replaced, or "
         "lost its rights in DIAL."),
    ],
)  # fmt: skip
def test_requests_that_were_refused_have_advice_of_their_own(status: str, what_to_do: str) -> None:
    """A limit or a key is not looked for in the log of the deployment."""
    assert what_to_do in description(exceeded("errors", share(240, status)), "").splitlines()


def test_a_woken_person_reads_what_since_when_and_what_to_look_at() -> None:
    """The text of a limit that is passed, in full, and of its end."""
    fired = exceeded("errors", share(240, "503"))
    assert description(fired, "https://watch.example").splitlines() == [
        "What: 71 % of 240 requests of rag-chat in the last 15 minutes failed, mostly HTTP 503 (server not "
        "available); limit 30 %.",
        "Since: 2026-11-20 11:56 UTC; found with what came until 2026-11-20 12:05 UTC.",
        "How sure: this is counted, not estimated. The alert ends when the share falls to 15 %.",
        "What to do: look at the logs of the deployment and of the models that it calls; status 429 means a "
        "rate limit, 401 and 403 mean a problem with a key.",
        "Look at: https://watch.example/deployment?name=rag-chat",
    ]
    over = replace(fired, change="resolved", reason="the share fell to half its limit", changed_at=AT)
    assert description(over, "").splitlines() == [
        "Over: the alert on “failed requests” of deployment rag-chat, found at 2026-11-20 12:05 UTC, closed at "
        "2026-11-20 12:05 UTC.",
        "Why: the share fell to half its limit.",
        "Look at: the overview page of dialwatch",
    ]
    counted = msgspec.structs.replace(share(240), lasted_seconds=50 * 60, bad_meanwhile=1312, requests_meanwhile=1400)
    ended = replace(over, details=msgspec.structs.replace(over.details, exceeded=counted))
    bad = "from 2026-11-20 11:56 UTC to about 2026-11-20 12:46 UTC, 50 minutes"
    said = f"In all, {bad}: 1,312 of 1,400 requests failed."
    assert said in description(ended, "").splitlines()


@pytest.mark.parametrize(
    ("all_silent", "hint"), [(True, "check the collector and the log first"), (False, "Other deployments get requests")]
)
def test_silence_says_what_is_usual_and_whether_others_are_heard(all_silent: bool, hint: str) -> None:
    """Where nobody is heard the collector comes first."""
    alert = exceeded("no_data", LimitDetails(usual_seconds=1500, limit_seconds=4500, all_silent=all_silent))
    assert summary(alert) == (
        "rag-chat has had no request since 2026-11-20 11:56 UTC; at this time of day its longest pause in four weeks "
        "was 25 minutes"
    )
    assert hint in description(alert, "")


@pytest.mark.parametrize("kind", LimitKind)
def test_what_to_look_at_first_is_that_of_the_guide_to_metrics(kind: LimitKind) -> None:
    """Of each limit; of refused requests what the status says."""
    look = metric_look(kind)
    found = exceeded(kind, LimitDetails(window_seconds=900))
    assert limit_look(found).startswith(look)
    (to_do,) = (line for line in description(found, "").splitlines() if line.startswith("What to do: look at "))
    assert look[1:] in to_do


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("400", "6: HTTP 400 (bad request)"),
        ("429", "6: HTTP 429 (too many requests)"),
        ("418", "6: HTTP 418"),
        ("no whole answer", "6: no whole answer"),
    ],
)
def test_failed_requests_are_told_with_their_status_in_words(reason: str, words: str) -> None:
    """One that has no usual words has its number."""
    assert failed_requests(reason, 6) == words
    assert failed_requests(reason, 1234) == words.replace("6:", "1,234:")


def test_a_link_leads_to_the_deployment() -> None:
    """Whatever its name holds, it is one query; without an address there is no link."""
    assert link_to('apps/"Ü&=#', "https://watch.example/dial/") == (
        "https://watch.example/dial/deployment?name=apps/%22%C3%9C%26%3D%23"
    )
    assert link_to("rag", "") == ""


def test_dislikes_say_who_rates(firing: AlertChange) -> None:
    """Raters choose themselves, and the text says so."""
    text = description(replace(firing, key=replace(firing.key, metric=DISLIKES)), "")
    assert "all of its rated answers" in text
    assert "Who: only people who rate. They choose to rate" in text
    assert "Who:" not in description(firing, "")


def test_limits_and_regressions_are_messages_of_their_own(firing: AlertChange) -> None:
    """They have other names for Alertmanager's routes, and a group has one name."""
    other = replace(exceeded("errors", share(240)), key=StreamKey(firing.key.deployment, "errors", LIMIT_VERSION))
    assert len(messages([replace(firing, details=other.details), other], timedelta(hours=1))) == 2
