"""What an application does, on its page: why which metrics are scored, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient

from lake.queries.application_classes import ApplicationClasses, DecidedClass
from lake.spec.application_classes import CLASS_METRICS, ApplicationClass, SeenAnswers
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.ingest.due_deployments import DueDeployments
from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW, Clock, ScoreColumns
from tests.monitor.pages.deployment.test_deployment import words

PRESENT, REPEATED, KPRECISION = "context_present", "repeated_tool_calls", "faithfulness_kprecision"
WHY = (
    "calls tools: 83 of 120 answers that were looked at called a tool. Scored for that: “failed tool calls per "
    "answer”, "
    "“repeated calls of tools”, “refusals”, “cases passed”"
)


def decided(**changes: Any) -> DecidedClass:
    kind = ApplicationClass.CALLS_TOOLS
    found: dict[str, Any] = {
        "deployment": "bot", "look": 1, "classes": (kind,), "seen": SeenAnswers(120, 3, 83, 0),
        "metrics": CLASS_METRICS[kind], "is_chosen": False, "since": NOW, "decided_at": NOW,
    }  # fmt: skip
    return DecidedClass(**found | changes)


@pytest.fixture
def seen(monitor: Monitor) -> Callable[[str], Any]:
    """Gives a page, as text or as JSON, after a refresh."""
    client = TestClient(create_app(monitor))

    def page(path: str) -> Any:
        monitor.refresh()
        answer = client.get(path)
        assert (answer.status_code, monitor.health().problems) == (200, ())
        return answer.json() if ".json" in path else words(answer.text)

    return page


def test_the_page_says_what_the_application_does_and_why(
    lake: Lake, rows: ScoreColumns, seen: Callable[[str], Any]
) -> None:
    """Before it is known it says nothing; a class that comes later is taken in, though the deployment is quiet."""
    rows.hours("bot", 30, lambda left: 0.7, REPEATED)
    assert "This application" not in seen("/deployment?name=bot")
    assert seen("/deployment.json?name=bot")["application_class"] is None
    ApplicationClasses(lake).keep(decided())
    when = (
        "The answers of the 7 days before 20 Nov, 12:00 UTC that did not fail were checked; later ones count at the "
        "next check, after 7 days."
    )
    assert f"This application {WHY}. {when}" in seen("/deployment?name=bot")
    assert seen("/deployment.json?name=bot")["application_class"] == {
        "classes": ["calls_tools"], "metrics": list(CLASS_METRICS[ApplicationClass.CALLS_TOOLS]), "why": WHY,
        "chosen_by_the_configuration": False, "since": "2026-11-20T12:00:00Z", "decided_at": "2026-11-20T12:00:00Z",
        "answers": 120, "with_contexts": 3, "with_tool_calls": 83, "media": 0,
    }  # fmt: skip


def test_what_is_not_scored_any_more_ends_quietly(
    lake: Lake,
    rows: ScoreColumns,
    clock: Clock,
    seen: Callable[[str], Any],
    monitor: Monitor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not watched from then on, pages nobody, stands last, and is gone once the period has no score of it."""
    rows.hours("bot", 30, lambda left: 0.4, PRESENT)
    rows.hours("bot", 30, lambda left: 0.2, REPEATED, seed=2)
    assert [one["status"] for one in seen("/deployment.json?name=bot")["metrics"]] == ["watching", "watching"]
    ApplicationClasses(lake).keep(decided())
    with monkeypatch.context() as quiet:
        # Nothing came of the deployment itself.
        quiet.setattr(DueDeployments, "of", lambda *_: set())
        monitor.refresh()
    assert monitor.snapshot is not None
    assert set(monitor.snapshot.deployments["bot"].readings) == {REPEATED}
    before, now = seen("/deployment.json?name=bot"), seen("/overview.json")
    assert [(one["metric"], one["status"]) for one in before["metrics"]] == [(REPEATED, "watching"), (PRESENT, None)]
    assert "not watched no score since" in seen("/deployment?name=bot")
    (row,) = now["rows"]
    assert (row["state"], row["why"]) == ("fine", "1 watched")
    clock.advance(days=8)
    at = clock()
    rows.scores("bot", {"requested_at": at, "date": at.date(), "metric": REPEATED, "value": 0.0})
    rows.logs("bot", {"requested_at": at, "date": at.date()})
    assert [one["metric"] for one in seen("/deployment.json?name=bot")["metrics"]] == [REPEATED]
    assert len(seen("/deployment.json?name=bot&days=30")["metrics"]) == 2
    assert monitor.snapshot.deployments["bot"].changes == ()


def test_what_is_scored_all_the_same_is_watched(lake: Lake, rows: ScoreColumns, seen: Callable[[str], Any]) -> None:
    """Where other settings choose it, or another evaluator is behind; a metric of no class never ends so."""
    rows.hours("bot", 30, lambda left: 0.7, PRESENT)
    rows.hours("bot", 30, lambda left: 0.7, "readability", seed=2)
    classes = ApplicationClasses(lake)
    classes.keep(decided(since=NOW - timedelta(hours=2)))
    assert [one["status"] for one in seen("/deployment.json?name=bot")["metrics"]] == ["watching", "watching"]
    classes.keep(decided(look=2))
    found = seen("/deployment.json?name=bot")["metrics"]
    assert [(one["metric"], one["status"]) for one in found] == [("readability", "watching"), (PRESENT, None)]


def test_an_application_that_makes_media_is_watched_by_its_limits(
    lake: Lake, rows: ScoreColumns, seen: Callable[[str], Any]
) -> None:
    """That no metric is scored of it is no lack of data."""
    rows.logs("bot", {})
    media = SeenAnswers(60, 0, 0, 60)
    ApplicationClasses(lake).keep(decided(classes=(ApplicationClass.MEDIA,), seen=media, metrics=()))
    page = seen("/deployment?name=bot")
    assert (
        "makes media: 60 of 60 answers that were looked at have an attachment and no text; so no metric is scored"
        in page
    )
    assert "No metric is scored for it." in page
    (row,) = seen("/overview.json")["rows"]
    assert (row["state"], row["why"]) == ("not watched", "only its limits: no metric is scored of it")


def test_the_configuration_is_named_where_it_chooses(
    lake: Lake, rows: ScoreColumns, seen: Callable[[str], Any]
) -> None:
    """So that nobody wonders why a class does not have its metrics; the class of a later version is left out."""
    rows.logs("bot", {})
    ApplicationClasses(lake).keep(decided(metrics=(KPRECISION,), is_chosen=True))
    why = "called a tool. The configuration names what is scored: “answer words found in the documents”."
    assert why in seen("/deployment?name=bot")
