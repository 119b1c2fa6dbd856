"""A judge that changes, an application that gets worse, and both: from the log to the alert's verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fastapi.testclient import TestClient
from prometheus_client import generate_latest

from evaluator.metrics import Description, Metric, OddCases, Scores
from evaluator.metrics.scores import Score, score_rows
from evaluator.service.passes import Evaluator
from evaluator.settings import EvaluatorSettings
from lake.spec.alert_vocabulary import LimitKind
from lake.spec.schemas import ALERTS, ANCHORS, PARSED_LOGS
from lake.tables.lake import Lake
from monitor.alerting.alerts.store import AlertStore
from monitor.detect.regression import RegressionSettings
from monitor.exporter.registry import registry_of
from monitor.notify.texts.alert import description
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings
from tests.exposition import without_installation

# Anchors of a deployment "rag" fall due at 17:58: not between the change and when it is found.
START = datetime(2026, 11, 20, 12, tzinfo=UTC)
CHANGE, FOUND, NEXT = (START + timedelta(hours=hours) for hours in (30, 42, 42.5))
ABOUT = Description(asks="?", formula="", source="", odd_cases=OddCases())
PAGE = {
    "judge": "The judge changed, not the application",
    "system": "The application, its documents or the questions changed, not the judge (on the same answers",
    "both": "The judge changed, and the application, its documents or the questions",
}
REGRESSION = RegressionSettings(reference_observations=100)


@dataclass(frozen=True)
class Judged:
    """A judge that reads how good an answer is, with some noise, another one in each draw, and some `strictness`."""

    strictness: float = 0.0
    draw: int = 0
    judge: str = "model"
    version: str = "1"
    name: str = "judged"
    needs: tuple[str, ...] = ("answer",)
    about: Description = ABOUT

    def fresh(self, draw: int) -> Judged:
        return replace(self, draw=draw)

    def score(self, frame: pd.DataFrame) -> Scores:
        return score_rows(self, frame, self._of_row)

    def _of_row(self, answer: Any) -> Score:
        noise = hashlib.sha256(f"{self.draw} {answer}".encode()).digest()[0] / 255 * 0.2 - 0.1
        return Score(min(1.0, max(0.0, float(answer.split()[0]) + noise - self.strictness)))


@dataclass
class Story:
    """Answers of a deployment, what scores them, and the alerts of it."""

    lake: Lake
    use: Callable[[Judged], None]
    monitor: Monitor = field(init=False)
    now: datetime = NEXT

    def later(self) -> datetime:
        """A day later, by the clock."""
        self.now += timedelta(days=1)
        return self.now

    def log(self, begin: datetime, end: datetime, quality: float) -> None:
        """20 answers an hour."""
        rows, at = [], begin
        while at < end:
            number = f"{at:%d-%H-%M}"
            rows.append(
                {
                    "event_id": number, "response_id": f"r-{number}", "deployment": "rag", "date": at.date(),
                    "requested_at": at, "kind": "chat_completion", "status": 200, "is_entry": True,
                    "question": "?", "answer": f"{quality} {number}", "finish_reason": "stop",
                }
            )  # fmt: skip
            at += timedelta(minutes=3)
        self.lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(rows))

    def evaluate(self, now: datetime, metric: Judged) -> None:
        self.use(metric)
        settings = EvaluatorSettings.model_validate({"anchors": {"size": 120}})
        assert Evaluator(self.lake, settings, clock=lambda: now).run_once().failures == ()

    def alerts(self) -> list[tuple[str, str]]:
        self.monitor.refresh()
        assert self.monitor.health().problems == ()
        return [(row["change"], row["verdict"]) for row in self.rows("judged")]

    def rows(self, metric: str) -> list[dict[str, Any]]:
        rows = self.lake.table(ALERTS, "rag").read().sort_by("changed_at").to_pylist()
        return [row for row in rows if row["metric"] == metric]

    def metrics(self) -> str:
        return without_installation(generate_latest(registry_of(lambda: self.monitor.snapshot, "production")).decode())


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Story:
    def use(metric: Judged) -> None:
        def instead(_: EvaluatorSettings, names: Sequence[str]) -> list[Metric]:
            return [metric]

        monkeypatch.setattr(EvaluatorSettings, "metrics_named", instead)

    lake = Lake(str(tmp_path / "lake"))
    story = Story(lake, use)
    story.monitor = Monitor(lake, MonitorSettings(regression=REGRESSION), lambda: story.now)
    return story


@pytest.mark.parametrize(
    ("quality", "strictness", "verdict", "drifts"),
    [(0.8, 0.3, "judge", 1), (0.5, 0.0, "system", 0), (0.65, 0.15, "both", 1)],
)
def test_an_alert_says_what_changed_once_the_anchors_were_scored_again(
    story: Story, quality: float, strictness: float, verdict: str, drifts: int
) -> None:
    """Undecided when it fires, it fires again with its verdict after the next pass; gauges and page say so too."""
    before, after = Judged(), Judged(strictness)
    story.log(START, CHANGE, 0.8)
    story.evaluate(CHANGE, before)
    story.log(CHANGE, FOUND, quality)
    story.evaluate(FOUND, after)
    first = story.alerts()
    assert {verdict for _, verdict in first} == {"undecided"}
    story.evaluate(NEXT, after)
    for _ in range(2):
        assert story.alerts() == [*first, ("firing", verdict)]
    scorings = story.lake.table(ANCHORS, "rag").version()
    story.evaluate(NEXT + timedelta(hours=1), after)
    assert story.lake.table(ANCHORS, "rag").version() == scorings
    metrics = story.metrics()
    labels = 'deployment="rag",metric="judged"'
    assert f"dialwatch_judge_drift_active{{{labels}}} {drifts}.0" in metrics
    told = f'dialwatch_regression_verdict{{{labels},verdict="{verdict}"}} 1.0' in metrics
    assert told is (verdict != "system")
    assert f'dialwatch_regressions_total{{deployment="rag",verdict="{verdict}"}} 1.0' in metrics
    page = TestClient(create_app(story.monitor)).get("/deployment?name=rag").text
    assert PAGE[verdict] in page
    assert ("judge drifted" in page) is bool(drifts)
    snapshot = story.monitor.snapshot
    assert snapshot is not None
    shift = snapshot.deployments["rag"].judges["judged"].shift
    assert shift is not None
    assert shift.lower <= -strictness <= shift.upper


def test_a_judge_that_changed_alone_wakes_nobody(story: Story) -> None:
    """What would be a page waits for the anchors; the judge's own warning is of the same incident."""
    story.log(START, CHANGE, 0.8)
    story.evaluate(CHANGE, Judged())
    story.log(CHANGE, FOUND, 0.8)
    story.evaluate(FOUND, Judged(0.3))
    story.alerts()
    assert '"page_due":' in story.rows("judged")[-1]["details"]
    story.evaluate(NEXT, Judged(0.3))
    story.alerts()
    changes = AlertStore(story.lake).changes()
    assert [change.key.metric for change in changes if change.pages] == []
    (warning,) = story.rows(LimitKind.JUDGE_DRIFT)
    assert {warning["incident_id"]} == {row["incident_id"] for row in story.rows("judged")}


@pytest.mark.slow
def test_a_judge_that_became_milder_is_a_warning_of_its_own(story: Story) -> None:
    """Nothing fell; receivers are told once which judge changed by how much, and that it is as before again."""
    story.log(START, FOUND, 0.5)
    story.evaluate(CHANGE, Judged())
    for strictness, expected in [(-0.2, ["firing"]), (0.0, ["firing", "resolved"])]:
        for _ in range(6):
            story.evaluate(story.later(), Judged(strictness))
            story.alerts()
        changes = [change for change in AlertStore(story.lake).changes() if change.is_judge_drift]
        assert [change.change for change in changes] == expected
        assert {(change.tier, change.pages, change.verdict) for change in changes} == {("warn", False, "judge")}
    first = description(changes[0], "")
    assert "that of “judged” now differs by +0.1" in first
    assert "never becomes urgent" in first
    assert story.rows("judged") == []


def test_a_metric_without_a_judge_is_the_application_at_once(story: Story) -> None:
    """The first row of the alert has the verdict, and no other one follows."""
    measured = Judged(judge="lexical")
    story.log(START, CHANGE, 0.8)
    story.log(CHANGE, FOUND, 0.5)
    story.evaluate(FOUND, measured)
    assert {verdict for _, verdict in story.alerts()} == {"system"}


def test_a_stricter_version_is_no_alert_and_its_offset_is_known(story: Story) -> None:
    """Scores of a new version are a new stream; both versions have scored the same answers, and differ by 0.3."""
    story.log(START, CHANGE, 0.8)
    story.evaluate(CHANGE, Judged())
    story.log(CHANGE, FOUND, 0.8)
    story.evaluate(FOUND, Judged(0.3, version="2"))
    assert story.alerts() == []
    snapshot = story.monitor.snapshot
    assert snapshot is not None
    judge = snapshot.deployments["rag"].judges["judged"]
    assert judge.offset is not None
    assert (judge.version_before, judge.offset.answers, judge.active) == ("1", 240, False)
    assert judge.offset.lower < -0.3 < judge.offset.upper < -0.25
    assert (
        "from those of version 1 (240 answers)"
        in TestClient(create_app(story.monitor)).get("/deployment?name=rag").text
    )
    assert 'dialwatch_judge_offset{deployment="rag",metric="judged"} -0.' in story.metrics()


def test_a_restart_comes_to_the_same_reading_of_the_judge(story: Story) -> None:
    """A monitor that reads all anchors at once says what one that saw them day by day says."""
    story.log(START, CHANGE, 0.8)
    for day in range(5):
        story.evaluate(CHANGE + timedelta(days=day), Judged(0.2 if day > 2 else 0.0))
        story.monitor.refresh()
    again = Monitor(story.lake, MonitorSettings(regression=REGRESSION), lambda: NEXT)
    again.refresh()
    assert story.monitor.snapshot is not None
    assert again.snapshot is not None
    judges = story.monitor.snapshot.deployments["rag"].judges
    assert judges["judged"].active
    assert judges["judged"].since == CHANGE + timedelta(days=3)
    assert again.snapshot.deployments["rag"].judges == judges
