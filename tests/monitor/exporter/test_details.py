"""Which series there are by default, and which with details."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from monitor.exporter.registry import registry_of
from monitor.service.monitor import Monitor
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings
from tests.monitor.conftest import NOW

WITH_DETAILS = MonitorSettings(exporter=ExporterSettings(detail=MetricsDetail.ALL))
DETAILS = {
    "dialwatch_floor_judged",
    "dialwatch_improvement_active",
    "dialwatch_reference_match_share",
    "dialwatch_regression_delay_seconds",
    "dialwatch_regression_log_evidence",
    "dialwatch_regression_log_page_threshold",
    "dialwatch_regression_log_threshold",
    "dialwatch_regression_recovering",
    "dialwatch_regression_smallest_drop",
    "dialwatch_score_bucket",
    "dialwatch_score_count",
    "dialwatch_score_mean_lower",
    "dialwatch_score_mean_upper",
    "dialwatch_score_mix_change",
    "dialwatch_score_sum",
    "dialwatch_score_window_observations",
}
STATES = {"dialwatch_regression_active", "dialwatch_regression_page", "dialwatch_floor_active"}
STATES |= {"dialwatch_regression_verdict"}
"""Of what holds nowhere there is no series without details."""


def names_of(monitor: Monitor, settings: MonitorSettings) -> set[str]:
    text = generate_latest(registry_of(lambda: monitor.snapshot, "production", settings=settings)).decode()
    return {sample.name for family in parse_text(text) for sample in family.samples}


def series_of(monitor: Monitor, name: str, settings: MonitorSettings) -> dict[tuple[str, ...], float]:
    """Values of a metric by the values of its labels, the labels in the order of their names."""
    families = parse_text(
        generate_latest(registry_of(lambda: monitor.snapshot, "production", settings=settings)).decode()
    )
    return {
        tuple(value for label, value in sorted(one.labels.items()) if label != "installation"): one.value
        for family in families
        for one in family.samples
        if one.name == name
    }


@pytest.mark.usefixtures("three_deployments")
@pytest.mark.parametrize("name", ["dialwatch_regression_active", "dialwatch_regression_page", "dialwatch_floor_active"])
def test_without_details_a_state_has_a_series_only_while_it_holds(monitor: Monitor, rows: Any, name: str) -> None:
    """With details it is 0 otherwise."""
    times = [NOW - timedelta(minutes=ago) for ago in range(10, 0, -1) for _ in range(6)]
    rows.logs(
        "failing", {"requested_at": times[0]}, *({"status": 503, "requested_at": at, "date": at.date()} for at in times)
    )
    monitor.refresh()
    all_of_it = series_of(monitor, name, WITH_DETAILS)
    usual = series_of(monitor, name, MonitorSettings())
    assert set(all_of_it.values()) == {0.0, 1.0}
    assert usual == {labels: value for labels, value in all_of_it.items() if value == 1.0}


@pytest.mark.usefixtures("three_deployments")
def test_limits_that_are_judged_have_their_share_and_limit_and_the_others_are_counted(
    monitor: Monitor, rows: Any
) -> None:
    """By limit, so that a deployment with few requests has no series for what nobody can know of it."""
    rows.logs("busy", *[{}] * 60)
    monitor.refresh()
    judged = series_of(monitor, "dialwatch_floor_judged", WITH_DETAILS)
    with_share = set(series_of(monitor, "dialwatch_floor_share", MonitorSettings()))
    assert with_share >= {("busy", "errors")}
    assert set(series_of(monitor, "dialwatch_floor_limit", MonitorSettings())) == with_share
    assert set(series_of(monitor, "dialwatch_floor_limit", WITH_DETAILS)) > with_share
    unjudged = Counter(floor for (_, floor), is_judged in judged.items() if not is_judged)
    counted = series_of(monitor, "dialwatch_unjudged_floors", MonitorSettings())
    assert counted == {(floor,): float(unjudged[floor]) for _, floor in judged}
    assert counted["errors",] == 1


@pytest.mark.usefixtures("three_deployments")
def test_regressions_are_counted_by_deployment_and_with_details_by_metric(monitor: Monitor) -> None:
    """Their sums are the same."""
    monitor.refresh()
    name = "dialwatch_regressions_total"
    assert series_of(monitor, name, MonitorSettings()) == {("rag-search", "system"): 1.0}
    assert series_of(monitor, name, WITH_DETAILS) == {("rag-search", "faithfulness_kprecision", "system"): 1.0}
    verdict = "dialwatch_regression_verdict"
    assert series_of(monitor, verdict, MonitorSettings()) == {}
    assert series_of(monitor, verdict, WITH_DETAILS) == {("rag-search", "faithfulness_kprecision", "system"): 1.0}


@pytest.mark.usefixtures("three_deployments")
def test_means_have_six_digits(monitor: Monitor) -> None:
    """All digits of a mean take as many bytes as a label."""
    monitor.refresh()
    for name in ("dialwatch_score_mean", "dialwatch_score_reference_mean", "dialwatch_regression_mean"):
        means = series_of(monitor, name, MonitorSettings())
        assert means
        assert all(value == float(f"{value:.6g}") for value in means.values())


@pytest.mark.usefixtures("three_deployments")
def test_details_are_there_for_who_asks_for_them(monitor: Monitor) -> None:
    """By default they are not, and no rule and no panel of ours asks for one."""
    monitor.refresh()
    names = names_of(monitor, MonitorSettings())
    assert names_of(monitor, WITH_DETAILS) - names <= DETAILS | STATES
    assert names & DETAILS == set()
    deploy = Path(__file__).parents[3] / "deploy"
    for path in (deploy / "grafana" / "dialwatch.json", *(deploy / "prometheus" / "rules").iterdir()):
        assert set(re.findall(r"dialwatch_\w+", path.read_text())) & DETAILS == set()


def test_scores_of_all_deployments_are_summed(monitor: Monitor, rows: Any) -> None:
    """Counts and sum by metric; the exemplar of a bucket is the worst answer of all."""
    rows.scores("a", {"value": 0.25, "response_id": "r-a"}, {"value": 1.0, "response_id": "r-b"})
    rows.scores("b", {"value": 0.22, "response_id": "r-c"})
    monitor.refresh()
    text = generate_openmetrics(registry_of(lambda: monitor.snapshot, "production")).decode()
    found = [line for line in text.splitlines() if line.startswith("dialwatch_all_scores")]
    assert [line.rpartition("} ")[2] for line in found if "_count" in line] == ["3.0"]
    assert [float(line.rpartition("} ")[2]) for line in found if "_sum" in line] == [pytest.approx(1.47)]
    (bucket,) = (line for line in found if 'le="0.3"' in line)
    assert "} 2.0 # " in bucket
    assert 'response_id="r-c"' in bucket
