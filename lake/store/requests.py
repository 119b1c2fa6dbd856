"""Requests that this process has made to stores, by the part of dialwatch that made them and by kind."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from lake.spec.service_vocabulary import RequestKind, StoreUser


class RequestCounts:
    """Counts of requests. Threads may share it."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[StoreUser, RequestKind]] = Counter()
        self._lock = threading.Lock()

    def add(self, user: StoreUser, kind: RequestKind) -> None:
        """Count one request."""
        with self._lock:
            self._counts[user, kind] += 1

    def read(self) -> Mapping[tuple[StoreUser, RequestKind], int]:
        """Return the numbers of all requests so far."""
        with self._lock:
            return dict(self._counts)


REQUESTS = RequestCounts()
"""Of this process."""


def store_requests() -> Mapping[tuple[StoreUser, RequestKind], int]:
    """Return the requests that this process has made so far, each attempt counted; those inside deltalake and Arrow are
    not among them (see `CountedS3`)."""
    return REQUESTS.read()


def kind_of(operation: str, method: str) -> RequestKind:
    """Return the kind of a request by the name of S3's operation and its HTTP method."""
    if operation.startswith("List"):
        return RequestKind.LIST
    return RequestKind(method.lower())
