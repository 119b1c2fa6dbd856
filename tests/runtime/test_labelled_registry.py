from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

from lake.spec.service_vocabulary import StoreUser
from lake.tables.lake import Lake
from runtime.labelled_registry import LabelledRegistry

Labels = dict[str, str]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def fill(registry: CollectorRegistry, values: Iterable[str]) -> None:
    Info("build", "Its version.", registry=registry).info({"version": "1"})
    gauge = Gauge("depth", "How deep.", ("deployment",), registry=registry)
    counter = Counter("seen", "How many.", registry=registry)
    histogram = Histogram("score", "Scores.", buckets=(0.5,), registry=registry)
    for number, value in enumerate(values):
        gauge.labels(value).set(number)
        counter.inc()
        histogram.observe(number % 2, {"response_id": "r-1"})


def samples(registry: CollectorRegistry) -> list[tuple[str, Labels, float, Labels]]:
    return [
        (sample.name, dict(sample.labels), sample.value, dict(sample.exemplar.labels) if sample.exemplar else {})
        for family in parse(generate_latest(registry).decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    ]


@given(NAMES, st.sets(NAMES))
def test_every_sample_has_the_label_and_is_else_what_it_was(installation: str, values: set[str]) -> None:
    """Of every kind of metric, whatever the names are; exemplars keep their labels."""
    plain, labelled = CollectorRegistry(), LabelledRegistry(installation)
    for registry in (plain, labelled):
        fill(registry, sorted(values))
    assert samples(labelled) == [
        (name, {**labels, "installation": installation}, value, exemplar)
        for name, labels, value, exemplar in samples(plain)
    ]


def test_metrics_of_the_process_have_it_too() -> None:
    """What the client library adds by itself."""
    registry = LabelledRegistry("production")
    ProcessCollector(registry=registry)
    found = samples(registry)
    assert found
    assert {labels["installation"] for _, labels, _, _ in found} == {"production"}


@pytest.mark.parametrize(
    ("root", "name"),
    [("/srv/dialwatch/lake/", "lake"), ("s3://dialwatch-staging/lake", "dialwatch-staging/lake"), ("s3://b/", "b")],
)
def test_a_lake_has_the_name_of_its_root(root: str, name: str) -> None:
    """That of its folder, on a store with that of its bucket; whoever uses it, and unless another name is given."""
    assert Lake(root).installation == Lake(root).used_by(StoreUser.MONITOR).installation == name
    given = Lake(root, installation="production")
    assert given.installation == given.used_by(StoreUser.MONITOR).installation == "production"
