"""Which series there are by default, and which with details."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from monitor.exporter.registry import registry_of
from monitor.service.monitor import Monitor
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings

WITH_DETAILS = MonitorSettings(exporter=ExporterSettings(detail=MetricsDetail.ALL))
DETAILS = {
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


def names_of(monitor: Monitor, settings: MonitorSettings) -> set[str]:
    text = generate_latest(registry_of(lambda: monitor.snapshot, "production", settings=settings)).decode()
    return {sample.name for family in parse_text(text) for sample in family.samples}


@pytest.mark.usefixtures("three_deployments")
def test_details_are_there_for_who_asks_for_them(monitor: Monitor) -> None:
    """By default they are not, and no rule and no panel of ours asks for one."""
    monitor.refresh()
    names = names_of(monitor, MonitorSettings())
    assert names_of(monitor, WITH_DETAILS) - names <= DETAILS
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
