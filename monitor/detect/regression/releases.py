"""Marks of releases, from which on a stream learns its reference anew."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa

from lake.spec.alert_vocabulary import ReleaseEvent
from monitor.detect.regression.arrays import Times, microseconds

RELEASE_COLUMNS = ("release_id", "change", "changed_at", "deployment", "metric", "released_at", "comment")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Release:
    """A mark that somebody set: from `at` on a deployment's metric, or every one, is compared with what follows."""

    deployment: str
    metric: str | None
    at: datetime
    comment: str = ""

    def concerns(self, deployment: str, metric: str) -> bool:
        """Whether the mark is of this stream."""
        return self.deployment == deployment and self.metric in (None, metric)


@dataclass(frozen=True)
class Releases:
    """Marks by their ids; rows of the table `_releases` may come in any order and more than once."""

    marked: Mapping[int, Release] = field(default_factory=dict)
    withdrawn: frozenset[int] = frozenset()
    changed: Mapping[int, datetime] = field(default_factory=dict)
    """By the clock, when each was marked or withdrawn last."""

    @property
    def valid(self) -> Mapping[int, Release]:
        """The marks that nobody took back, by their ids."""
        return {number: one for number, one in sorted(self.marked.items()) if number not in self.withdrawn}

    def with_rows(self, rows: pa.Table) -> Releases:
        """Add rows (columns RELEASE_COLUMNS)."""
        marked, withdrawn, changed = dict(self.marked), set(self.withdrawn), dict(self.changed)
        for row in rows.to_pylist():
            number, at = row["release_id"], row["changed_at"]
            if number is not None and at is not None:
                changed[number] = max(at, changed.get(number, at))
            if row["change"] == ReleaseEvent.WITHDRAWN:
                withdrawn.add(row["release_id"])
            elif None in (row["release_id"], row["deployment"], row["released_at"]):
                logger.warning("A row of _releases without id, deployment or time marks nothing: %s", row["release_id"])
            else:
                release = Release(row["deployment"], row["metric"], row["released_at"], row["comment"] or "")
                marked[row["release_id"]] = release
        return Releases(marked, frozenset(withdrawn), changed)

    def of(self, deployment: str, metric: str) -> Times:
        """Times of a stream's marks, in order."""
        found = {one.at for one in self.valid.values() if one.concerns(deployment, metric)}
        return np.array(sorted(map(microseconds, found)), dtype=np.int64)

    def last_changed(self, deployment: str, metric: str) -> datetime | None:
        """When, by the clock, one of a stream's marks was set or withdrawn last; None where there never was one."""
        mine = [number for number, one in self.marked.items() if one.concerns(deployment, metric)]
        return max((self.changed[number] for number in mine if number in self.changed), default=None)
