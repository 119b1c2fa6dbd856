"""Bounds of the series that clients can cause: the rest is summed, counted and logged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from monitor.detect.stats.collector_stats import CollectorStats
from monitor.detect.stats.requests import RequestStats
from monitor.detect.stats.scores import Histogram, MetricStats, ScoreStats
from monitor.detect.stats.tools import ToolStats
from monitor.exporter.registry import registry_of
from monitor.service.snapshot import DeploymentState, Snapshot
from monitor.settings import ExporterSettings, MetricsDetail, MonitorSettings
from tests.exposition import without_installation

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Scrapes:
    """One exporter, scraped after each change of what is known."""

    def __init__(self, most_deployments: int, most_label_values: int) -> None:
        settings = MonitorSettings(
            most_deployments=most_deployments,
            most_label_values=most_label_values,
            exporter=ExporterSettings(detail=MetricsDetail.ALL),
        )
        self._known: dict[str, DeploymentState] = {}
        self._registry: CollectorRegistry = registry_of(self._snapshot, "production", settings=settings)

    def _snapshot(self) -> Snapshot:
        return Snapshot(
            taken_at=AT,
            deployments=self._known,
            collector_stats=CollectorStats(),
            failed_deliveries=0,
            refresh_seconds=0.0,
        )

    def of(self, known: Mapping[str, DeploymentState]) -> dict[tuple[str, ...], float]:
        """Numbers by the name of the sample and the values of its labels, in the order of their names."""
        self._known = dict(known)
        text = without_installation(generate_latest(self._registry).decode())
        return {
            (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
            for family in parse(text)
            for sample in family.samples
        }


def state(likes: int, *, word: str = "like") -> DeploymentState:
    return DeploymentState(requests=RequestStats(signals={word: likes}))


def test_words_without_end_are_few_series(caplog: pytest.LogCaptureFixture) -> None:
    """20,000 words of signals are as many series as the bound says and one more, which has the rest; all add up."""
    scrapes = Scrapes(10, 3)
    words = {f"w{number}": 1 for number in range(20_000)} | {"like": 7, "dislike": 5}
    found = scrapes.of({"a": DeploymentState(requests=RequestStats(signals=words))})
    signals = {labels[-1]: number for labels, number in found.items() if labels[0] == "dialwatch_signals_total"}
    assert signals == {"like": 7, "dislike": 5, "w0": 1, "other": 19_999}
    assert found["dialwatch_other_label_values", "signal"] == 19_999
    assert found["dialwatch_other_label_values", "deployment"] == 0
    [message] = [record.getMessage() for record in caplog.records]
    assert "if they are real, raise monitor.most_label_values" in message


def test_status_codes_without_end_are_few_series() -> None:
    """A status is a number that a line says; those beyond the bound are one series."""
    statuses = {str(status): 1 for status in range(1_000)} | {"200": 50}
    found = Scrapes(10, 1).of({"a": DeploymentState(requests=RequestStats(responses=statuses))})
    shown = {labels[-1]: number for labels, number in found.items() if labels[0] == "dialwatch_responses_total"}
    assert shown == {"200": 50, "other": 999}


def test_names_of_tools_without_end_are_few_series() -> None:
    """A model may make up a name: those called most have series of their own, and the rest is one."""
    tools = {f"t{number:03}": ToolStats(errors=1) for number in range(150)} | {"search": ToolStats(ok=9)}
    found = Scrapes(10, 2).of({"a": DeploymentState(requests=RequestStats(tools=tools))})
    shown = {key[2:]: number for key, number in found.items() if key[0] == "dialwatch_tool_calls_total" and number}
    assert shown == {("ok", "search"): 9, ("error", "t000"): 1, ("error", "other"): 149}


def test_names_of_tools_of_one_deployment_take_no_place_from_another() -> None:
    """Its model makes up names first; the tools of the other one have series all the same."""
    made_up = {f"t{number:03}": ToolStats(errors=9) for number in range(150)}
    first = {"a": DeploymentState(requests=RequestStats(tools=made_up))}
    second = {"b": DeploymentState(requests=RequestStats(tools={"search": ToolStats(ok=3), "t149": ToolStats(ok=2)}))}
    scrapes = Scrapes(10, 2)
    scrapes.of(first)
    found = scrapes.of(first | second)
    shown = {key[1:]: number for key, number in found.items() if key[0] == "dialwatch_tool_calls_total" and number}
    assert {key: number for key, number in shown.items() if key[0] == "b"} == {
        ("b", "ok", "search"): 3,
        ("b", "ok", "t149"): 2,
    }
    assert shown["a", "error", "other"] == 9 * 148
    assert found["dialwatch_other_label_values", "tool"] == 148


def test_names_of_tools_are_bounded_in_all() -> None:
    """Ten times those of one deployment, the first come; what was shown stays, and nothing is lost."""
    tools = {f"t{number}": ToolStats(ok=9) for number in range(3)}
    known = {f"d{number:02}": DeploymentState(requests=RequestStats(tools=tools)) for number in range(15)}
    scrapes = Scrapes(100, 2)
    few = dict(list(known.items())[1:8])
    for some in (few, known, few | known):
        found = scrapes.of(some)
        calls = {key: n for key, n in found.items() if key[0] == "dialwatch_tool_calls_total" and key[2] == "ok"}
        assert sum(calls.values()) == len(some) * 27
        assert all(calls["dialwatch_tool_calls_total", name, "ok", "t1"] == 9 for name in few)
    assert sum(key[3] != "other" for key in calls) == 20
    assert sum(key[3] == "other" for key in calls) == 15


def test_the_busiest_deployments_are_shown_and_stay() -> None:
    """Those with most requests come first; what was shown goes on, whoever comes later."""
    scrapes = Scrapes(2, 10)
    busy = {
        name: DeploymentState(requests=RequestStats(responses={"200": number}))
        for name, number in zip("abc", (1, 9, 5), strict=True)
    }
    for known in (busy, busy | {"0": DeploymentState(requests=RequestStats(responses={"200": 100}))}):
        found = scrapes.of(known)
        shown = {labels[1] for labels in found if labels[0] == "dialwatch_responses_total"}
        assert shown == {"b", "c", "other"}
    assert found["dialwatch_other_label_values", "deployment"] == 2


def test_histograms_of_the_rest_are_summed() -> None:
    """Each bucket of `other` has what the rest has below its bound, and the sum is theirs."""
    scores = MetricStats("1", None, AT, False, histogram=Histogram(counts=(1,) * 12, amount=3 * 10**12))
    one = DeploymentState(
        requests=RequestStats(responses={"200": 1}), scores=ScoreStats(evaluations=12, metrics={"m": scores})
    )
    found = Scrapes(1, 10).of({"a": one, "b": one, "c": one})
    buckets = {key[1:]: value for key, value in found.items() if key[0] == "dialwatch_score_bucket"}
    assert buckets["a", "+Inf", "m"] == 12
    assert buckets["other", "+Inf", "m"] == 24
    assert [buckets["other", bound, "m"] for bound in ("0.0", "0.5", "1.0")] == [2, 12, 22]
    assert found["dialwatch_score_sum", "other", "m"] == 6


NAMES = st.sampled_from("abcdefgh")


@given(
    st.lists(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(1, 9))), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_no_counter_goes_down_and_nothing_is_lost(growth, most_deployments, most_words) -> None:  # type: ignore[no-untyped-def]
    """However names come, the sum of the series is that of all signals, and each series only rises."""
    scrapes, known, before = Scrapes(most_deployments, most_words), {}, {}
    for grown in growth:
        for name, words in grown.items():
            old = known.get(name, DeploymentState()).requests
            new = {word: old.signals.get(word, 0) + words.get(word, 0) for word in {*old.signals, *words}}
            known[name] = DeploymentState(requests=replace(old, signals=new))
        found = {key: n for key, n in scrapes.of(known).items() if key[0] == "dialwatch_signals_total"}
        assert sum(found.values()) == sum(sum(one.requests.signals.values()) for one in known.values())
        assert len({key[1] for key in found}) <= most_deployments + 1
        assert len({key[2] for key in found}) <= most_words + 1
        assert all(found.get(key, 0) >= number for key, number in before.items())
        before = found
