from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collector.commit.batch import Counts
from dialwatch.demo.checks import METRIC, RETRIEVAL_METRIC, all_told, check_all
from dialwatch.demo.receiver import Delivery
from dialwatch.demo.traffic import Plan
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.root_tables import SERVICES
from lake.spec.schemas import ALERTS, SCORES
from lake.tables.lake import Lake

DROP = datetime(2026, 11, 20, 7, tzinfo=UTC)
PLAN = Plan(
    lines=12,
    answers=2,
    errors=0,
    child_calls=0,
    likes=1,
    dislikes=1,
    malformed={"glued": 1},
    degraded_deployment="rag-app",
    drop_at=DROP,
)
COUNTS = Counts(lines=13, stored=10, signals=2, rejected=1)
ALERT = {
    "deployment": "rag-app",
    "metric": METRIC,
    "change": "firing",
    "change_id": "c",
    "since": DROP,
    "incident_id": "i",
}
DELIVERED = {"deployment": "rag-app", "metric": METRIC, "change": "delivered", "change_id": "s", "delivery_of": "c"}
RETRIEVAL = [
    ALERT | {"metric": RETRIEVAL_METRIC, "change_id": "r"},
    DELIVERED | {"metric": RETRIEVAL_METRIC, "change_id": "t", "delivery_of": "r"},
]
DELIVERY = Delivery("c", verified=True, body={"text": "Part that failed: retrieval did not find the fact"})

FOUND = "just the planted regression is found, as one incident"
NAMED = "retrieval is named as what failed"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """What a good run leaves."""
    lake = Lake(str(tmp_path / "lake"))
    scores: list[dict[str, object]] = [{"metric": METRIC, "value": 1.0}] * 2
    scores.append({"metric": RETRIEVAL_METRIC, "value": 1.0})
    scores.append({"metric": "case_passed", "value": 0.0, "failed_part": "retrieval", "requested_at": DROP})
    lake.table(SCORES, "rag-app").append(SCORES.rows(scores))
    lake.table(GROUND_TRUTH, "rag-app").append(GROUND_TRUTH.rows([{"case_id": "1"}]))
    return lake


def broken(plan: Plan, counts: Counts, lake: Lake, *deliveries: Delivery) -> list[str]:
    return [check.promise for check in check_all(plan, counts, lake, deliveries) if not check.passed]


def test_a_good_run_keeps_all_promises(lake: Lake) -> None:
    """Each check holds when each stage did its work."""
    lake.table(ALERTS, "rag-app").append(ALERTS.rows([ALERT, DELIVERED, *RETRIEVAL]))
    assert broken(PLAN, COUNTS, lake, DELIVERY) == []


def test_a_change_that_has_not_been_delivered_breaks_the_promise(lake: Lake) -> None:
    """An alert that becomes a page is sent again, and what came before is not enough."""
    lake.table(ALERTS, "rag-app").append(ALERTS.rows([ALERT, DELIVERED, *RETRIEVAL, ALERT | {"change_id": "d"}]))
    assert broken(PLAN, COUNTS, lake, DELIVERY) == ["its webhook arrives, signed"]


def test_a_change_without_news_needs_no_message_of_its_own(lake: Lake) -> None:
    """A later alert of an incident that the receiver knows of is told with the first one."""
    grouped = DELIVERED | {"change": "grouped", "change_id": "g", "delivery_of": "d"}
    lake.table(ALERTS, "rag-app").append(
        ALERTS.rows([ALERT, DELIVERED, *RETRIEVAL, ALERT | {"change_id": "d"}, grouped])
    )
    assert all_told(lake)
    assert broken(PLAN, COUNTS, lake, DELIVERY) == []


def test_each_promise_can_be_broken(lake: Lake) -> None:
    """A lost line, a lost rating, an answer without a score and an unsigned webhook are each seen."""
    lake.table(ALERTS, "rag-app").append(ALERTS.rows([ALERT, DELIVERED, *RETRIEVAL]))
    assert broken(PLAN, replace(COUNTS, stored=9), lake, DELIVERY) == ["all 13 lines are accounted for"]
    assert broken(PLAN, replace(COUNTS, signals=1, stored=11), lake, DELIVERY) == ["all 2 ratings are signals"]
    assert broken(replace(PLAN, answers=3), COUNTS, lake, DELIVERY) == ["all 3 answers are scored"]
    assert broken(PLAN, COUNTS, lake, replace(DELIVERY, verified=False)) == ["its webhook arrives, signed"]
    assert broken(PLAN, COUNTS, lake) == ["its webhook arrives, signed", NAMED]
    assert broken(PLAN, COUNTS, lake, replace(DELIVERY, body={})) == [NAMED]


def test_another_part_than_retrieval_breaks_the_promise(lake: Lake) -> None:
    """Most answers that fail their case must have failed for want of a retrieved fact."""
    lake.table(ALERTS, "rag-app").append(ALERTS.rows([ALERT, DELIVERED, *RETRIEVAL]))
    row = {"metric": "case_passed", "value": 0.0, "failed_part": "generation", "requested_at": DROP}
    lake.table(SCORES, "rag-app").append(SCORES.rows([row]))
    assert broken(PLAN, COUNTS, lake, DELIVERY) == [NAMED]


@pytest.mark.parametrize("late", [METRIC, RETRIEVAL_METRIC])
def test_a_drop_at_another_time_breaks_the_promise(lake: Lake, late: str) -> None:
    """Each metric must be found to have dropped within an hour of the planted time."""
    rows = [ALERT, DELIVERED, *RETRIEVAL]
    rows = [row | {"since": DROP + timedelta(hours=2)} if row["metric"] == late else row for row in rows]
    lake.table(ALERTS, "rag-app").append(ALERTS.rows(rows))
    assert broken(PLAN, COUNTS, lake, DELIVERY) == ["it is located at 07:00, give or take an hour"]


@pytest.mark.parametrize(
    "others",
    [
        [ALERT | {"deployment": "other-app", "change_id": "d"}],
        [ALERT | {"metric": "context_present", "change_id": "d", "incident_id": "j"}],
        [ALERT | {"change": "resolved", "change_id": "d"}],
    ],
    ids=["other deployment", "other incident", "resolved"],
)
def test_a_second_finding_breaks_the_promise(lake: Lake, others: list[dict[str, object]]) -> None:
    """Just the planted regression may be found, and nothing else."""
    for row in (ALERT, *RETRIEVAL, *others):
        lake.table(ALERTS, str(row["deployment"])).append(ALERTS.rows([row]))
    assert FOUND in broken(PLAN, COUNTS, lake, DELIVERY)


def test_finding_nothing_breaks_the_promise(lake: Lake) -> None:
    """A run without an alert, or with one of faithfulness alone, is no good run."""
    assert FOUND in broken(PLAN, COUNTS, lake)
    lake.table(ALERTS, "rag-app").append(ALERTS.rows([ALERT, DELIVERED]))
    assert FOUND in broken(PLAN, COUNTS, lake, DELIVERY)


@pytest.mark.integration
def test_the_demo_shows_the_whole_way_and_ends_by_itself(tmp_path: Path) -> None:
    """`dialwatch demo --once` exits with 0 and shows the stages, the drop, the signed webhook and the addresses."""
    kept = tmp_path / "kept"
    done = subprocess.run(
        [sys.executable, "-m", "dialwatch", "demo", "--once", "--keep", str(kept)],
        capture_output=True,
        text=True,
        env=os.environ | {"COLUMNS": "120"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    events = [
        "searches an index that lacks most texts",
        "signature verified",
        "What this run had to show",
        "/metrics",
        "overview",
    ]
    places = [done.stdout.find(event) for event in events[:4]]
    assert -1 not in places
    assert places == sorted(places)
    assert done.stderr == ""
    lake = Lake(str(kept / "lake"))
    assert {"support-rag", "hr-policies-assistant"} <= set(map(str, lake.deployments()))
    parts = set(lake.table(SERVICES).read(["part"])["part"].to_pylist())
    assert parts == {"collector", "evaluator", "monitor", "webhooks"}
