"""Texts of scrapes against those of prometheus_client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar, Timestamp

from runtime.metric_texts import encoder

ACCEPTED = (
    "",
    "text/plain;version=1.0.0;escaping=allow-utf-8",
    "application/openmetrics-text;version=1.0.0",
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8",
    "application/openmetrics-text;version=1.0.0;escaping=dots",
    "application/openmetrics-text;version=1.0.0;escaping=values",
)
TEXTS = st.text(st.sampled_from('a"\\\nü%{}, ='), max_size=6)
NUMBERS = st.floats() | st.integers(-(10**18), 10**18)


class Families(Collector):
    def __init__(self, families: Sequence[Metric]) -> None:
        self.families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self.families)


def families(help_text: str, labels: Sequence[tuple[str, str]], numbers: Sequence[float]) -> list[Metric]:
    """One of each kind that the exporters have, and samples with all that a sample may have."""
    gauge = GaugeMetricFamily("g_ratio", help_text, labels=("z", "a"), unit="ratio")
    counter = CounterMetricFamily("c", help_text, labels=("z", "a"))
    bare = GaugeMetricFamily("bare", help_text, value=1)
    mixed = Metric("mixed", help_text, "gauge")
    for values, number in zip(labels, numbers, strict=False):
        gauge.add_metric(values, number)
        counter.add_metric(values, number)
        mixed.add_sample("mixed", {"z": values[0]}, number)
        mixed.add_sample("mixed", {"a": values[1], "z": values[0]}, number)
        mixed.add_sample("mixed", {}, number)
    created = CounterMetricFamily("made", help_text, labels=("a",))
    created.add_metric(("x",), 1, created=7.5)
    shown = CounterMetricFamily("shown", help_text, labels=("a",))
    shown.add_metric(("x",), 1, exemplar=Exemplar({"id": "1"}, 0.5))
    late = GaugeMetricFamily("late", help_text, labels=("a",))
    late.add_metric(("x",), 1, timestamp=Timestamp(7, 0))
    histogram = HistogramMetricFamily("h", help_text, labels=("a",))
    histogram.add_metric(("x",), [("1.0", 1), ("+Inf", 2)], 2.5)
    info = InfoMetricFamily("i", help_text, {"version": "1"})
    return [gauge, counter, bare, mixed, created, shown, late, histogram, info, GaugeMetricFamily("none", help_text)]


@pytest.mark.parametrize("accept", ACCEPTED)
@given(TEXTS, st.lists(st.tuples(TEXTS, TEXTS), max_size=3), st.lists(NUMBERS, min_size=3, max_size=3))
def test_the_text_is_that_of_prometheus_client(
    accept: str, help_text: str, labels: list[tuple[str, str]], numbers: list[float]
) -> None:
    """To the byte, in each format, whatever stands in labels and numbers."""
    collector = Families(families(help_text, labels, numbers))
    expected, expected_type = choose_encoder(accept)
    encode, content_type = encoder([accept])
    assert content_type == expected_type
    assert encode(collector) == expected(collector)
