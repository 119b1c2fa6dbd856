"""Requests of this process to stores as a Prometheus metric."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from lake.spec.service_vocabulary import StoreUser
from lake.store.requests import store_requests


class StoreRequests(Collector):
    """Shows the requests of some parts of this process; what several addresses show together is each part once."""

    def __init__(self, users: Collection[StoreUser] = tuple(StoreUser)) -> None:
        self._users = users

    def collect(self) -> Iterator[Metric]:
        """Yield the metric, without series where there were no requests."""
        family = CounterMetricFamily(
            "dialwatch_store_requests_total",
            "Requests of this process to a store (S3) since it started, each attempt counted, by the part that made "
            "them and by kind; without those that deltalake makes when it creates, merges and cleans tables, and "
            "without reads of parts of large files.",
            labels=("part", "kind"),
        )
        for (user, kind), number in sorted(store_requests().items()):
            if user in self._users:
                family.add_metric((user.value, kind.value), number)
        yield family
