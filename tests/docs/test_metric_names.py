"""Names of metrics and limits in plain words: each has one, and people find them on the page that lists them."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from fastapi.testclient import TestClient

from evaluator.metrics.registry import REGISTRY
from lake.spec.alert_vocabulary import LimitKind
from lake.spec.metric_names import metric_name, metric_names, quoted_name
from lake.spec.vocabulary import DISLIKES
from lake.tables.lake import Lake
from monitor.pages.app import create_app
from monitor.service.monitor import Monitor
from monitor.settings import MonitorSettings


def test_every_metric_and_limit_has_a_name_and_three_sentences() -> None:
    """And no name is left of a metric that is gone."""
    assert set(metric_names()) == {*(metric.partition("@")[0] for metric in REGISTRY), *LimitKind, DISLIKES}
    for metric, known in metric_names().items():
        assert known.name[0].islower() or known.name.split()[0].isupper(), metric
        assert all(said.endswith(".") and said[0].isupper() for said in (known.says, known.fall, known.look)), metric


def test_a_metric_has_a_name_of_its_own() -> None:
    """Two metrics that are watched side by side are told apart; a limit may share the name of its metric."""
    names = [metric_name(metric) for metric in REGISTRY]
    assert len(set(names)) == len(names)
    assert metric_name("hit_rate@5") == "right chunk retrieved among the first 5"
    assert metric_name("latency_over@2.5") == "answers that took over 2.5 s"
    assert metric_name("an_own_metric") == "an_own_metric"


def test_a_name_within_a_sentence_is_in_quotation_marks() -> None:
    """Also one that the installation brings itself: it may be a usual word."""
    assert quoted_name("facts_recall") == "“facts found”"
    assert quoted_name("hit_rate@5") == "“right chunk retrieved among the first 5”"
    assert quoted_name("tone") == "“tone”"


def test_a_metric_has_a_sentence_of_its_own() -> None:
    """Who finds two metrics by what they say is told how they differ."""
    said = Counter(known.says for known in metric_names().values())
    assert [one for one, times in said.items() if times > 1] == []


def test_the_page_of_metrics_has_all_of_them(tmp_path: Path) -> None:
    page = TestClient(create_app(Monitor(Lake(str(tmp_path)), MonitorSettings(), lambda: datetime.now(UTC)))).get(
        "/metrics-guide"
    )
    assert page.status_code == 200
    for known in metric_names().values():
        assert known.look in page.text.replace("&#39;", "'")
