"""Counts of what became of every line that the collector's sources handed over."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.service_vocabulary import OUTCOMES, LineOutcome
from monitor.detect.stats.sums import add_counts, value_counts
from runtime.clocks import age_of

BATCH_COLUMNS = ("lines", *LineOutcome, "newest_requested_at", "committed_at")
REJECTED_COLUMNS = ("reason",)


@dataclass(frozen=True)
class CollectorStats:
    """Totals since the first batch.

    `unaccounted` is how many lines were handed over and have no outcome, which a defect alone can bring about; below
    zero where there are more outcomes than lines. `last_commit` is when the newest batch was complete. `lag_seconds`
    is how old the newest request was in `newest_batch`, the newest that has any; below
    0 where it was ahead of the collector's clock by more than may be.
    """

    lines: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    rejected: dict[str, int] = field(default_factory=dict)
    unaccounted: int = 0
    last_commit: datetime | None = None
    newest_batch: datetime | None = None
    lag_seconds: float | None = None

    @property
    def handed_over(self) -> int:
        """All lines."""
        return sum(self.lines.values())

    def with_batches(self, rows: pa.Table) -> CollectorStats:
        """Add rows of `_batches` (columns BATCH_COLUMNS)."""
        lines = {name: self.lines[name] + (pc.sum(rows[column]).as_py() or 0) for name, column in OUTCOMES.items()}
        # A batch that does not say how many lines it had cannot be checked.
        checked = rows.filter(pc.is_valid(rows["lines"]))
        ended = sum(pc.sum(checked[column]).as_py() or 0 for column in LineOutcome)
        unaccounted = self.unaccounted + (pc.sum(checked["lines"]).as_py() or 0) - ended
        commits = (self.last_commit, pc.max(rows["committed_at"]).as_py())
        collector_stats = replace(
            self, lines=lines, unaccounted=unaccounted, last_commit=max(filter(None, commits), default=None)
        )
        # A batch of ratings alone has no newest request, and so says nothing of the lag.
        dated = rows.filter(pc.and_(pc.is_valid(rows["newest_requested_at"]), pc.is_valid(rows["committed_at"])))
        if not dated.num_rows:
            return collector_stats
        committed_at = pc.max(dated["committed_at"]).as_py()
        if self.newest_batch is not None and committed_at < self.newest_batch:
            return collector_stats
        newest = dated.filter(pc.equal(dated["committed_at"], pa.scalar(committed_at, dated["committed_at"].type)))
        lag = committed_at - pc.max(newest["newest_requested_at"]).as_py()
        return replace(collector_stats, newest_batch=committed_at, lag_seconds=age_of(lag))

    def with_rejected(self, rows: pa.Table) -> CollectorStats:
        """Add rows of `_rejected` (columns REJECTED_COLUMNS)."""
        return replace(self, rejected=add_counts(self.rejected, value_counts(rows["reason"], "unknown")))
