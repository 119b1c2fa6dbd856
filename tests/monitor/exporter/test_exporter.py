from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from lake.spec.case_tables import REPLAYS
from lake.spec.case_vocabulary import FailedPart
from lake.tables.lake import Lake
from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.requests import RequestStats
from monitor.exporter.registry import registry_of
from monitor.service.monitor import Monitor
from monitor.service.snapshot import DeploymentState, Snapshot
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings
from tests.exposition import without_installation

WITH_DETAILS = MonitorSettings(exporter=ExporterSettings(detail=MetricsDetail.ALL))
NAMES = {
    "dialwatch_all_scores_bucket",
    "dialwatch_build_info",
    "dialwatch_collector_lag_seconds",
    "dialwatch_collector_last_commit_timestamp_seconds",
    "dialwatch_cost_total",
    "dialwatch_evaluation_last_success_timestamp_seconds",
    "dialwatch_evaluation_skips_total",
    "dialwatch_evaluations_total",
    "dialwatch_evaluator_info",
    "dialwatch_entry_cost_total",
    "dialwatch_floor_active",
    "dialwatch_floor_judged",
    "dialwatch_floor_limit",
    "dialwatch_floor_share",
    "dialwatch_judge_cost_total",
    "dialwatch_lines_total",
    "dialwatch_monitor_last_refresh_timestamp_seconds",
    "dialwatch_monitor_refresh_duration_seconds",
    "dialwatch_other_label_values",
    "dialwatch_regression_active",
    "dialwatch_regression_log_evidence",
    "dialwatch_regression_log_threshold",
    "dialwatch_regression_mean",
    "dialwatch_rejected_lines_total",
    "dialwatch_responses_total",
    "dialwatch_score_bucket",
    "dialwatch_score_count",
    "dialwatch_score_mean",
    "dialwatch_score_mean_lower",
    "dialwatch_score_mean_upper",
    "dialwatch_score_reference_mean",
    "dialwatch_score_sum",
    "dialwatch_reference_match_share",
    "dialwatch_score_window_observations",
    "dialwatch_signals_total",
    "dialwatch_tokens_total",
    "dialwatch_webhook_deliveries_total",
}
LABELS = {
    "deployment", "metric", "floor", "signal", "status", "direction", "reason", "verdict", "outcome", "le", "version",
    "judge", "origin", "label", "kind", "tier", "incident",
}  # fmt: skip


def samples(monitor: Monitor) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = without_installation(
        generate_latest(registry_of(lambda: monitor.snapshot, "production", settings=WITH_DETAILS)).decode()
    )
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parse_text(text)
        for sample in family.samples
    }


def labelled(**labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def test_every_promised_series_is_there(monitor: Monitor, three_deployments: None):
    """The names are those of the design, and no label names a response, a chat or a person."""
    monitor.refresh()
    found = samples(monitor)
    assert {name for name, _ in found} >= NAMES
    assert {label for _, labels in found for label, _ in labels} <= LABELS


def test_the_numbers_are_those_of_the_tables(monitor: Monitor, rows: Any):
    """Counts, tokens, money, signals, skips and lines come out as they were written."""
    rows.logs("a", {}, {"status": 500, "deployment_price": 0.2}, {"status": None, "prompt_tokens": None})
    rows.signals("a", "like", "like", "dislike")
    rows.scores("a", {"value": 0.25, "cost": 0.5}, {"reason": "no_contexts"}, {"value": 1.0}, {"value": 0.0})
    rows.batch(stored=3, signals=3, duplicates=2, rejected=1, filtered=4)
    rows.rejected("not_json")
    monitor.refresh()
    found = samples(monitor)
    assert found["dialwatch_responses_total", labelled(deployment="a", origin="production", status="200")] == 1
    assert found["dialwatch_responses_total", labelled(deployment="a", origin="production", status="500")] == 1
    assert found["dialwatch_responses_total", labelled(deployment="a", origin="production", status="unknown")] == 1
    assert found["dialwatch_tokens_total", labelled(deployment="a", origin="production", direction="prompt")] == 200
    assert found["dialwatch_tokens_total", labelled(deployment="a", origin="production", direction="completion")] == 60
    assert found["dialwatch_cost_total", labelled(deployment="a", origin="production")] == 0.202
    assert found["dialwatch_signals_total", labelled(deployment="a", signal="like")] == 2
    assert found["dialwatch_evaluations_total", ()] == 4
    assert found["dialwatch_evaluation_skips_total", labelled(reason="no_contexts")] == 1
    assert found["dialwatch_judge_cost_total", labelled(judge="lexical")] == 0.5
    assert found["dialwatch_lines_total", labelled(outcome="signal")] == 3
    assert found["dialwatch_lines_total", labelled(outcome="filtered")] == 4
    assert found["dialwatch_rejected_lines_total", labelled(reason="not_json")] == 1
    assert found["dialwatch_collector_lag_seconds", ()] == 0


def test_the_mean_of_a_regression_is_that_since_its_onset(monitor: Monitor, rows: Any) -> None:
    """Also where the latest conversations are those of before too; a metric that is well has none."""
    rows.hours("fallen", 48, lambda left: 0.82 if left > 3 else 0.35, "m")
    rows.hours("well", 48, lambda left: 0.82, "m", seed=2)
    monitor.refresh()
    found, fallen = samples(monitor), labelled(deployment="fallen", metric="m")
    assert found["dialwatch_regression_mean", fallen] == pytest.approx(0.35, abs=0.05)
    assert found["dialwatch_score_mean", fallen] > 0.5
    assert ("dialwatch_regression_mean", labelled(deployment="well", metric="m")) not in found


def test_the_share_of_answers_compared_with_a_case_is_by_answers_of_the_last_day(
    monitor: Monitor, rows: Any, clock: Any
) -> None:
    """An answer counts once, however many metrics scored it; backfills and days before do not count."""
    metrics = ({"metric": "facts_recall"}, {"metric": "facts_ndcg"})
    for event, match in {"a": "exact", "b": "normalised", "c": "exact", "d": None}.items():
        marks = {"event_id": event, "value": 1.0, "reference_match": match}
        rows.scores("a", *(marks | metric for metric in metrics if match), {"event_id": event, "value": 1.0})
    old = clock() - timedelta(days=2)
    rows.scores("a", {"value": 1.0, "reference_match": "embedding", "requested_at": old, "date": old.date()})
    rows.scores("a", {"value": 1.0, "reference_match": "embedding", "is_backfill": True})
    rows.scores("b", {"value": 1.0})
    monitor.refresh()
    found, name = samples(monitor), "dialwatch_reference_match_share"
    shares = {kind: found[name, labelled(deployment="a", kind=kind)] for kind in ("exact", "normalised", "embedding")}
    assert shares == {"exact": 0.5, "normalised": 0.25, "embedding": 0.0}
    assert found[name, labelled(deployment="b", kind="exact")] == 0
    clock.advance(days=3)
    monitor.refresh()
    assert (name, labelled(deployment="a", kind="exact")) not in samples(monitor)


def test_answers_that_failed_their_case_are_counted_by_part(monitor: Monitor, rows: Any, clock: Any) -> None:
    """Of the last day, each answer once; where no answer was compared there is no number."""
    parts = {"a": "retrieval", "b": "retrieval", "c": "generation", "d": None}
    for event, part in parts.items():
        compared = {"event_id": event, "reference_match": "exact", "metric": "case_passed", "failed_part": part}
        rows.scores("a", compared | {"value": float(part is None)}, compared | {"metric": "facts_recall", "value": 0.5})
    rows.scores("b", {"value": 1.0})
    old = clock() - timedelta(days=2)
    earlier = {"requested_at": old, "date": old.date(), "event_id": "e", "value": 0.0}
    rows.scores("a", earlier | {"reference_match": "exact", "failed_part": "ranking"})
    monitor.refresh()
    found, name = samples(monitor), "dialwatch_failed_answers"
    counts = {part: found[name, labelled(deployment="a", part=part)] for part in FailedPart}
    assert {part: count for part, count in counts.items() if count} == {"retrieval": 2, "generation": 1}
    assert (name, labelled(deployment="b", part="retrieval")) not in found


def test_the_latest_replay_is_exported(monitor: Monitor, lake: Lake, rows: Any, clock: Any) -> None:
    """Whether it found a regression, how many answers passed, and when it began; nothing where there is no run."""
    rows.scores("b", {"value": 1.0})
    for hours, verdict, values in ((2, "no_regression", (1.0, 1.0)), (1, "regression", (1.0, 0.0, 0.0, None))):
        at = clock() - timedelta(hours=hours)
        of_run = {"run_id": f"run-{hours}", "run_started_at": at, "verdict": verdict, "date": at.date()}
        scores = ([{"metric": "case_passed", "value": value}, {"metric": "bleu", "value": 1.0}] for value in values)
        lake.table(REPLAYS, "a").append(REPLAYS.rows([of_run | {"scores": some} for some in scores]))
        monitor.refresh()
    found, a = samples(monitor), labelled(deployment="a")
    assert found["dialwatch_replay_regression", a] == 1
    assert found["dialwatch_replay_pass_share", a] == pytest.approx(1 / 3)
    assert found["dialwatch_replay_last_run_timestamp_seconds", a] == (clock() - timedelta(hours=1)).timestamp()
    assert ("dialwatch_replay_regression", labelled(deployment="b")) not in found


def test_what_is_left_of_a_judges_budget_is_exported(lake: Lake, rows: Any, clock: Any) -> None:
    """By the costs of today's rows, those of a combination and a part of an ensemble's too; a new day has it whole."""
    monitor = Monitor(lake, MonitorSettings(), clock, {"strict": 2.0, "idle": 1.0})
    rows.scores("a", {"judge": "strict", "cost": 0.5, "value": 1.0}, {"judge": "kind", "cost": 0.125})
    rows.scores("b", {"judge": "lexical+strict", "cost": 0.125, "reason": "judge_timeout"})
    rows.scores("b", {"judge": "lexical+strict+kind", "cost": 0.25, "value": 1.0})
    monitor.refresh()
    found = samples(monitor)
    assert found["dialwatch_judge_budget_remaining", labelled(judge="strict")] == 1.25
    assert found["dialwatch_judge_budget_remaining", labelled(judge="idle")] == 1.0
    assert found["dialwatch_judge_cost_total", labelled(judge="kind")] == 0.25
    assert found["dialwatch_judge_cost_total", labelled(judge="strict")] == 0.75
    clock.advance(days=1)
    rows.scores("a", {"judge": "strict", "cost": 0.5, "value": 1.0, "requested_at": clock()})
    monitor.refresh()
    assert samples(monitor)["dialwatch_judge_budget_remaining", labelled(judge="strict")] == 1.5


def test_what_anchors_cost_is_paid_too(lake: Lake, rows: Any, clock: Any) -> None:
    """In the sum of each judge, and in what is left of its budget of the day."""
    monitor = Monitor(lake, MonitorSettings(), clock, {"strict": 2.0})
    rows.scores("a", {"judge": "strict", "cost": 0.5, "value": 1.0})
    monitor.refresh()
    scored = {"event_id": "1", "deployment": "a", "metric": "m", "draw": 0, "date": clock().date()}
    paid = [{"judge": "strict", "cost": 0.25}, {"judge": "strict+lexical+kind", "cost": 0.5}, {"judge": "strict"}]
    rows.anchors("a", *(scored | one | {"scored_at": clock()} for one in paid))
    monitor.refresh()
    found = samples(monitor)
    assert found["dialwatch_judge_cost_total", labelled(judge="strict")] == 1.0
    assert found["dialwatch_judge_cost_total", labelled(judge="kind")] == 0.25
    assert found["dialwatch_judge_budget_remaining", labelled(judge="strict")] == 1.0


def test_a_collector_that_stands_still_is_seen(monitor: Monitor, rows: Any, clock: Any):
    """The last commit stays where it was, also that of a batch without a request; the lag says nothing of either."""
    rows.batch(stored=1)
    rows.batch(signals=1, newest_requested_at=None, committed_at=clock() + timedelta(minutes=1))
    clock.advance(days=1)
    monitor.refresh()
    found = samples(monitor)
    committed = (clock() - timedelta(days=1) + timedelta(minutes=1)).timestamp()
    assert found["dialwatch_collector_last_commit_timestamp_seconds", ()] == committed
    assert found["dialwatch_collector_lag_seconds", ()] == 0


def test_the_histogram_has_a_bucket_for_zero_and_for_one(monitor: Monitor, rows: Any):
    """Buckets are cumulative; a score of exactly 0, 0.3 or 1 is in the bucket of that bound."""
    rows.scores("a", *({"value": value} for value in (0.0, 0.3, 0.95, 1.0, 1.5)))
    monitor.refresh()
    found = samples(monitor)
    series = {"deployment": "a", "metric": "faithfulness_kprecision"}
    in_buckets = {
        le: found["dialwatch_score_bucket", labelled(le=le, **series)]
        for le in ("0.0", "0.2", "0.3", "0.9", "1.0", "+Inf")
    }
    assert in_buckets == {"0.0": 1, "0.2": 1, "0.3": 2, "0.9": 2, "1.0": 4, "+Inf": 5}
    assert found["dialwatch_score_sum", labelled(**series)] == 3.75


def test_exemplars_name_the_worst_answer(monitor: Monitor, rows: Any):
    """Each bucket points at its worst new answer; an id that OpenMetrics would refuse is left out."""
    rows.scores(
        "a",
        {"value": 0.14, "response_id": "better"},
        {"value": 0.12, "response_id": "worse"},
        {"value": 0.11, "response_id": "x" * 118},
        {"value": 0.13, "response_id": 'odd"\n'},
    )
    monitor.refresh()
    text = generate_openmetrics(registry_of(lambda: monitor.snapshot, "production", settings=WITH_DETAILS)).decode()
    of_scores = (one for one in parse_openmetrics(text) if one.name == "dialwatch_score")
    exemplars = [sample.exemplar for family in of_scores for sample in family.samples if sample.exemplar]
    assert [(exemplar.labels, exemplar.value) for exemplar in exemplars] == [({"response_id": "worse"}, 0.12)]


def test_a_score_without_a_value_makes_no_series(monitor: Monitor, rows: Any):
    """Where nothing could be computed there is no histogram and no mean, only the count of what was skipped."""
    rows.scores("a", {"reason": "no_contexts"})
    monitor.refresh()
    assert not [name for name, _ in samples(monitor) if name.startswith("dialwatch_score")]


def test_an_ended_series_disappears(monitor: Monitor, rows: Any, lake: Any):
    """A deployment that has left the lake has no sample any more."""
    rows.logs("stays", {})
    rows.logs("gone", {})
    monitor.refresh()
    assert "gone" in str(samples(monitor))
    shutil.rmtree(f"{lake.root}/gone")
    monitor.refresh()
    assert "gone" not in str(samples(monitor))


def test_before_the_first_refresh_there_is_the_build(monitor: Monitor):
    """A scrape that comes early sees the version, and no zeros that would be taken for data."""
    shown = {name for name, _ in samples(monitor)}
    assert {name for name in shown if not name.startswith("process_")} == {"dialwatch_build_info"}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_survives_the_exposition(name: str):
    """Whatever a client writes as the deployment's name comes back unchanged from both formats."""
    snapshot = Snapshot(
        taken_at=datetime(2026, 1, 1, tzinfo=UTC),
        deployments={name: DeploymentState(requests=RequestStats(signals={"like": 1}))},
        collector_stats=CollectorStats(),
        failed_deliveries=0,
        refresh_seconds=0.0,
    )
    registry = registry_of(lambda: snapshot, "production", settings=WITH_DETAILS)
    for families in (
        parse_openmetrics(generate_openmetrics(registry).decode()),
        parse_text(generate_latest(registry).decode()),
    ):
        found = [s.labels["deployment"] for family in families for s in family.samples if "signal" in s.labels]
        assert found == [name]


@pytest.mark.integration
@pytest.mark.usefixtures("three_deployments")
def test_promtool_has_nothing_to_say(monitor: Monitor, program: Callable[[str], str]):
    """Prometheus's own linter is silent."""
    monitor.refresh()
    text = generate_latest(registry_of(lambda: monitor.snapshot, "production", settings=WITH_DETAILS))
    result = subprocess.run([program("promtool"), "check", "metrics"], input=text, capture_output=True, timeout=120)
    assert (result.stdout + result.stderr).decode() == ""
    assert result.returncode == 0
