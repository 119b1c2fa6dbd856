"""Counts of one deployment's requests, tokens, costs and signals, from its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lake.queries.answer_rows import CALLED_TOOLS, IS_PRODUCTION
from lake.queries.ratings import IS_NO_LABEL
from lake.spec.vocabulary import NO_ERROR, TOOL_ERROR, Origin, Signal
from monitor.detect.stats.period_sums import PeriodSums
from monitor.detect.stats.sums import PER_UNIT, add_counts, exact_sum, floats, rough_amounts, value_counts
from monitor.detect.stats.tools import ToolStats, called_tools, with_calls

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
    "answer_kind",
    "tool_calls",
)
LOG_EXPRESSIONS = {name: pc.field(name) for name in LOG_COLUMNS} | {"tool_calls": CALLED_TOOLS}
"""LOG_COLUMNS as they are read: without what tools were asked and what they gave."""

NO_WHOLE_ANSWER = "no whole answer"
OF_TOOL = "error of the tool"
"""Reasons of a failed request that has no status of 400 or more; the second one of a call that a tool answered."""
_OTHER_STATUS = "other status"
_LAST_STATUS = 599
"""Any number may stand in a log line: statuses beyond those of HTTP are one reason."""


@dataclass(frozen=True)
class RequestStats:
    """Totals since the first row.

    `responses` counts every request by HTTP status, `failed` those with a status of 400 or more or without a whole
    answer, `answers` the whole answers to people, and `calls` all that no person asked for. Tokens and costs are those
    that DIAL logged for these requests.

    Sums over periods: `by_time` of all requests, whole answers to people, tokens, and own and entry costs in
    1 / ROUGH_PER_UNIT, `failed_by_time` of failed requests, by reason (a status, OF_TOOL or NO_WHOLE_ANSWER),
    `rated_by_time` of likes and of dislikes. `tools` are those that its turns called, by name.
    """

    responses: dict[str, int] = field(default_factory=dict)
    answers: int = 0
    calls: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    own_amount: int = 0
    entry_amount: int = 0
    signals: dict[str, int] = field(default_factory=dict)
    by_time: PeriodSums = field(default_factory=PeriodSums)
    failed_by_time: Mapping[str, PeriodSums] = field(default_factory=dict)
    rated_by_time: PeriodSums = field(default_factory=PeriodSums)
    tools: Mapping[str, ToolStats] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.responses.values())

    @property
    def has_answered(self) -> bool:
        """Whether any request has not failed: anybody can ask for a name that no deployment has."""
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
        is_entry, has_failed = pc.fill_null(rows["is_entry"], False), failed(rows)
        is_answer = np.asarray(is_entry) & ~has_failed
        # A call that led to no other may have its own price alone.
        prices = pc.coalesce(rows["price"], rows["deployment_price"]).filter(is_entry)
        is_timed = np.asarray(pc.is_valid(rows["requested_at"]))
        return replace(
            self,
            responses=add_counts(self.responses, value_counts(rows["status"], "unknown")),
            answers=self.answers + int(is_answer.sum()),
            calls=self.calls + int(np.sum(~np.asarray(is_entry))),
            failed=self.failed + int(has_failed.sum()),
            prompt_tokens=self.prompt_tokens + (pc.sum(rows["prompt_tokens"]).as_py() or 0),
            completion_tokens=self.completion_tokens + (pc.sum(rows["completion_tokens"]).as_py() or 0),
            own_amount=self.own_amount + exact_sum(floats(rows["deployment_price"])),
            entry_amount=self.entry_amount + exact_sum(floats(prices)),
            by_time=self.by_time.with_values(
                rows["requested_at"].drop_null(), *(one[is_timed] for one in _quantities(rows, is_answer))
            ),
            failed_by_time=self._failed_by_time(rows.filter(pa.array(is_timed & has_failed))),
            tools=with_calls(self.tools, calls) if (calls := called_tools(rows)).num_rows else self.tools,
        )

    def with_signals(self, rows: pa.Table) -> RequestStats:
        """Add rows of `user_signals` (columns `origin`, `signal`, `signaled_at`); labels are not counted."""
        rows = rows.filter(IS_NO_LABEL)
        signals = add_counts(self.signals, value_counts(rows["signal"], "unknown"))
        rated = rows.filter(pc.is_in(rows["signal"], pa.array([Signal.LIKE.value, Signal.DISLIKE.value])))
        rated = rated.filter(pc.is_valid(rated["signaled_at"]))
        liked = np.asarray(pc.equal(rated["signal"], Signal.LIKE.value)).astype(np.float64)
        rated_by_time = self.rated_by_time.with_values(rated["signaled_at"], liked, 1 - liked)
        return replace(self, signals=signals, rated_by_time=rated_by_time)

    def _failed_by_time(self, rows: pa.Table) -> Mapping[str, PeriodSums]:
        reasons = failure_reasons(rows)
        reasons = pc.if_else(pc.fill_null(pc.greater(rows["status"], _LAST_STATUS), False), _OTHER_STATUS, reasons)
        by_time = dict(self.failed_by_time)
        for reason in pc.unique(reasons).to_pylist():
            at = rows["requested_at"].filter(pc.equal(reasons, reason))
            by_time[reason] = by_time.get(reason, PeriodSums()).with_values(at, np.ones(len(at)))
        return by_time


def _quantities(rows: pa.Table, is_answer: NDArray[np.bool_]) -> tuple[NDArray[np.float64], ...]:
    """Return of each row the quantities of `RequestStats.by_time`."""
    tokens = np.nan_to_num(floats(rows["prompt_tokens"])) + np.nan_to_num(floats(rows["completion_tokens"]))
    is_entry = np.asarray(pc.fill_null(rows["is_entry"], False))
    entry_prices = np.where(is_entry, floats(pc.coalesce(rows["price"], rows["deployment_price"])), 0.0)
    own, entry = rough_amounts(floats(rows["deployment_price"])), rough_amounts(entry_prices)
    return np.ones(rows.num_rows), is_answer.astype(np.float64), tokens, own, entry


def production(rows: pa.Table) -> pa.Table:
    """Return the rows of `parsed_logs` of production; most tables have no others."""
    has_others = not {None, Origin.PRODUCTION.value}.issuperset(pc.unique(rows["origin"]).to_pylist())
    return rows.filter(IS_PRODUCTION) if has_others else rows


def failed(rows: pa.Table) -> NDArray[np.bool_]:
    """Whether each row of `parsed_logs` (status, error) has a status of 400 or more or no whole answer; shape (rows,).

    What was repaired to read a line is no failure, also where an earlier version wrote it into `error`.
    """
    errors = rows["error"]
    has_error = pc.fill_null(pc.invert(pc.match_substring_regex(errors, NO_ERROR)), False)
    return (floats(rows["status"]) >= 400) | np.asarray(has_error, np.bool_)


def failure_reasons(rows: pa.Table) -> pa.ChunkedArray:
    """Why each row of `parsed_logs` (status, error) that failed did: its status, OF_TOOL, or NO_WHOLE_ANSWER."""
    is_refused = pc.fill_null(pc.greater_equal(rows["status"], 400), False)
    is_of_tool = pc.fill_null(pc.starts_with(rows["error"], TOOL_ERROR), False)
    return pc.if_else(is_refused, rows["status"].cast(pa.string()), pc.if_else(is_of_tool, OF_TOOL, NO_WHOLE_ANSWER))
