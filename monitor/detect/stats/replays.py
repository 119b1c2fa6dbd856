"""The latest run that asked the accepted cases of a deployment again, from rows of `replays`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from lake.spec.case_vocabulary import CASE_PASSED, ReplayVerdict

REPLAY_COLUMNS = ("run_id", "run_started_at", "is_baseline", "verdict", "scores")


@dataclass(frozen=True)
class ReplayStats:
    """The latest run: its verdict, when it began, and the share of its answers that agree with their cases.

    `is_baseline` says that later runs are compared with it, `failed_part` which part failed most often.

    All are None where no run has been read, and `pass_share` where no answer was scored.
    """

    run_id: str | None = None
    started_at: datetime | None = None
    verdict: ReplayVerdict | None = None
    is_baseline: bool = False
    failed_part: str | None = None
    passed: int = 0
    scored: int = 0

    @property
    def pass_share(self) -> float | None:
        """Share of the answers that agree with their cases."""
        return self.passed / self.scored if self.scored else None

    def with_replays(self, rows: pa.Table) -> ReplayStats:
        """Add rows of `replays` (columns REPLAY_COLUMNS); those of one run come together."""
        runs: dict[tuple[datetime, str], list[dict[str, Any]]] = {}
        for row in rows.to_pylist():
            if row["run_id"] is not None and row["run_started_at"] is not None:
                runs.setdefault((row["run_started_at"], row["run_id"]), []).append(row)
        newest = max(runs, default=None)
        if newest is None or (self.started_at is not None and newest[0] <= self.started_at):
            return self
        values = [
            score["value"]
            for row in runs[newest]
            for score in row["scores"] or ()
            if score["metric"] == CASE_PASSED and score["value"] is not None
        ]
        parts = Counter(
            score["failed_part"] for row in runs[newest] for score in row["scores"] or () if score["failed_part"]
        )
        started_at, run_id = newest
        first = runs[newest][0]
        return ReplayStats(
            run_id,
            started_at,
            ReplayVerdict(first["verdict"]),
            bool(first["is_baseline"]),
            next((part for part, _ in parts.most_common(1)), None),
            sum(value == 1 for value in values),
            len(values),
        )
