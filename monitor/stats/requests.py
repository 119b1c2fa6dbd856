"""What a deployment was asked and how people liked its answers, counted from its rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake import IS_PRODUCTION, NO_ERROR, Origin
from monitor.stats.sums import PER_UNIT, added, counts, exact_sum, floats
from monitor.stats.timeline import Timeline

LOG_COLUMNS = (
    "requested_at",
    "status",
    "error",
    "is_entry",
    "prompt_tokens",
    "completion_tokens",
    "deployment_price",
    "price",
    "origin",
)


@dataclass(frozen=True)
class RequestStats:
    """Totals since the first row.

    `responses` counts every call by HTTP status, `answers` the calls that a person made, `failed` the calls with
    a status of 400 or more or without a whole answer. Tokens and costs are those that DIAL logged for these calls.
    """

    responses: dict[str, int] = field(default_factory=dict)
    answers: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    own_amount: int = 0
    entry_amount: int = 0
    signals: dict[str, int] = field(default_factory=dict)
    answers_over_time: Timeline = field(default_factory=Timeline)

    @property
    def total(self) -> int:
        """All calls."""
        return sum(self.responses.values())

    @property
    def has_answered(self) -> bool:
        """Whether any call has not failed: anybody can ask for a name that there is not."""
        return self.total > self.failed

    @property
    def own_cost(self) -> float:
        """Sum of the calls' own prices, in the currency of DIAL's price table; an application's own calls have none.

        Over all deployments it counts nothing twice.
        """
        return self.own_amount / PER_UNIT

    @property
    def entry_cost(self) -> float:
        """What the answers that people saw took in all: the price of each with all calls that it led to."""
        return self.entry_amount / PER_UNIT

    def with_logs(self, rows: pa.Table) -> RequestStats:
        """Add rows of `parsed_logs` (columns LOG_COLUMNS)."""
        is_entry = pc.fill_null(rows["is_entry"], False)
        answered_at = rows["requested_at"].filter(is_entry).drop_null()
        # A call that led to no other may have its own price alone.
        prices = pc.coalesce(rows["price"], rows["deployment_price"]).filter(is_entry)
        ones = np.ones(len(answered_at))
        return replace(
            self,
            responses=added(self.responses, counts(rows["status"], "unknown")),
            answers=self.answers + (pc.sum(rows["is_entry"]).as_py() or 0),
            failed=self.failed + int(failed(rows).sum()),
            prompt_tokens=self.prompt_tokens + (pc.sum(rows["prompt_tokens"]).as_py() or 0),
            completion_tokens=self.completion_tokens + (pc.sum(rows["completion_tokens"]).as_py() or 0),
            own_amount=self.own_amount + exact_sum(floats(rows["deployment_price"])),
            entry_amount=self.entry_amount + exact_sum(floats(prices)),
            answers_over_time=self.answers_over_time.with_values(answered_at, ones, ones),
        )

    def with_signals(self, rows: pa.Table) -> RequestStats:
        """Add rows of `user_signals` (column `signal`)."""
        return replace(self, signals=added(self.signals, counts(rows["signal"], "unknown")))


def production(rows: pa.Table) -> pa.Table:
    """Take the rows of `parsed_logs` that people's own use made; most tables have no others."""
    has_others = not {None, Origin.PRODUCTION.value}.issuperset(pc.unique(rows["origin"]).to_pylist())
    return rows.filter(IS_PRODUCTION) if has_others else rows


def failed(rows: pa.Table) -> NDArray[np.bool_]:
    """Tell of each row of `parsed_logs` (status, error) whether it has a status of 400 or more or no whole answer.

    What was mended to read a line is no failure, also where an earlier version wrote it into `error`.
    """
    errors = rows["error"]
    has_error = pc.fill_null(pc.invert(pc.match_substring_regex(errors, NO_ERROR)), False)
    return (floats(rows["status"]) >= 400) | np.asarray(has_error, np.bool_)
