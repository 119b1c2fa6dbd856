"""Calls of tools within the turns of a deployment: which tool was called, and whether that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake.spec.table_spec import TIMESTAMP
from lake.spec.tool_names import shown_names
from lake.spec.vocabulary import AnswerKind
from monitor.detect.stats.period_sums import PeriodSums

OTHERS = "other"
_MOST_TOOLS = 200
"""Tools of a deployment that are counted by themselves: a model may make up names."""
_CALL = pa.schema([("requested_at", TIMESTAMP), ("name", pa.string()), ("is_error", pa.bool_()), ("turn", pa.int64())])


def called_tools(rows: pa.Table) -> pa.Table:
    """Return a row a call of the turns among rows of `parsed_logs`, with `requested_at`, `name`, `is_error` and `turn`.

    Rows have `is_entry`, `requested_at`, `answer_kind` and `tool_calls`. An answer that itself asks for a tool is no
    whole turn: where the client runs the tools, the calls come again, with their results, in the request after it.
    `turn` numbers the turns among these rows; calls of a turn are in their order.
    """
    is_turn = pc.and_(pc.fill_null(rows["is_entry"], False), pc.is_valid(rows["requested_at"]))
    has_calls = pc.fill_null(pc.greater(pc.list_value_length(rows["tool_calls"]), 0), False)
    is_whole = pc.fill_null(pc.not_equal(rows["answer_kind"], AnswerKind.TOOL_CALL.value), True)
    turns = rows.filter(pc.and_(pc.and_(is_turn, has_calls), is_whole)).combine_chunks()
    if not turns.num_rows:
        return _CALL.empty_table()
    lists = turns["tool_calls"].chunk(0)
    calls, of = pc.list_flatten(lists), pc.list_parent_indices(lists)
    names = shown_names(pc.struct_field(calls, "name"))
    at = turns["requested_at"].take(of)
    return pa.table([at, names, pc.struct_field(calls, "is_error"), of], schema=_CALL)


@dataclass(frozen=True)
class ToolStats:
    """Calls of one tool since the first row: those that failed, that did not, and of which it is not known.

    `by_time` has the sums of the three over periods, in this order.
    """

    errors: int = 0
    ok: int = 0
    unknown: int = 0
    by_time: PeriodSums = field(default_factory=PeriodSums)

    def with_calls(self, calls: pa.Table) -> ToolStats:
        """Add calls of this tool, as `called_tools` gives them."""
        is_known = np.asarray(pc.is_valid(calls["is_error"]), np.bool_)
        has_failed = np.asarray(pc.fill_null(calls["is_error"], False), np.bool_)
        outcomes = has_failed, is_known & ~has_failed, ~is_known
        errors, ok, unknown = (int(one.sum()) for one in outcomes)
        by_time = self.by_time.with_values(calls["requested_at"], *(one.astype(np.float64) for one in outcomes))
        return ToolStats(self.errors + errors, self.ok + ok, self.unknown + unknown, by_time)


def with_calls(tools: Mapping[str, ToolStats], calls: pa.Table) -> Mapping[str, ToolStats]:
    """Return the tools of a deployment with further calls, in the order of their names."""
    known = dict(tools)
    for name in sorted(calls["name"].unique().to_pylist()):
        place = name if name in known or len(known) < _MOST_TOOLS else OTHERS
        known[place] = known.get(place, ToolStats()).with_calls(calls.filter(pc.equal(calls["name"], name)))
    return dict(sorted(known.items()))
