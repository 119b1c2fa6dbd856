"""Metric families of Prometheus's client library, made from labelled samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def counter(name: str, text: str, samples: Iterable[tuple[tuple[str, ...], float]], *labels: str) -> Metric:
    """A counter: (values of the labels, number) each."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def gauge(name: str, text: str, samples: Iterable[tuple[tuple[str, ...], float | None]], *labels: str) -> Metric:
    """A gauge without the samples that are unknown: no series says so better than a made-up number."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        if number is not None:
            family.add_metric(values, number)
    return family


def by_label(counts: Mapping[str, int]) -> Iterable[tuple[tuple[str, ...], int]]:
    """Samples of a family with one label, from numbers by the label's value."""
    return (((label,), number) for label, number in counts.items())
