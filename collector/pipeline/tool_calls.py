"""Calls of tools of a turn, joined with the lines that Core logged of them: each line may know what another lacks.

An application that keeps no state in its answer has the calls of its turn in the request of its last model call.
Whether a call failed stands in the line of the tool itself, an MCP server or another deployment.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from collector.commit.committed_offsets import CommittedOffsets
from collector.parsing import LogRecord
from collector.pipeline.warm_start import CHILD_COLUMNS, recent_tool_children
from lake.spec.called_tools import CalledTool, called_tools, with_errors
from lake.spec.tool_calls import CALLS_OF_CHILD, CALLS_OUTRANKED_BY_CHILD, ToolCallsOrigin, bounded, turn_of_child
from lake.spec.tool_messages import ToolCall
from lake.tables.lake import Lake

logger = logging.getLogger(__name__)

_OVERHEAD_BYTES = 200


class _Children(msgspec.Struct, gc=False):
    """What the calls that one call made say: the calls of its turn, and those of them that were of tools."""

    size: int = _OVERHEAD_BYTES
    turn: list[ToolCall] | None = None
    called: list[CalledTool] = []


class RecentToolCalls:
    """What recent child calls say, by the span of their parent; the oldest are dropped above `max_bytes`.

    Core logs a call after its answer, so a child's line normally comes before its parent's.
    """

    def __init__(self, max_bytes: int = 64 << 20) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._children: OrderedDict[tuple[str, str], _Children] = OrderedDict()

    @classmethod
    def read(cls, lake: Lake, committed: CommittedOffsets, since: datetime) -> RecentToolCalls:
        """Return what the newest calls in a lake say."""
        recent = cls()
        for child in recent_tool_children(lake, committed, since):
            try:
                recent.remember(**child)
            except MemoryError:
                raise
            except Exception:  # one odd row must never keep the collector from its start
                logger.exception("a call says nothing of the turn of its caller: trace %s", child["trace_id"])
        return recent

    def joined(self, record: LogRecord) -> LogRecord:
        """Return a record as it is stored, with what its children said, and remember what it says of its parent.

        A record that cannot be joined stays as it is, and its `repairs` say so.
        """
        try:
            return self._joined(record)
        except MemoryError:
            raise
        except Exception as error:  # one odd line must never stop the stream behind it
            logger.exception("a row is stored without the join of its calls of tools: trace %s", record.trace_id)
            repair = f"calls of tools not joined with their lines: {type(error).__name__}"
            return msgspec.structs.replace(record, repairs=[*(record.repairs or ()), repair])

    def _joined(self, record: LogRecord) -> LogRecord:
        if record.trace_id and record.parent_span_id:
            self.remember(**{name: getattr(record, name) for name in CHILD_COLUMNS})
        children = self._children.get((record.trace_id, record.span_id)) if record.trace_id and record.span_id else None
        changed = _changed(record, children)
        return msgspec.structs.replace(record, **changed) if changed else record

    def remember(
        self,
        *,
        trace_id: str,
        parent_span_id: str,
        kind: str,
        deployment: str | None,
        error: str | None,
        tool_calls: Sequence[ToolCall] | None,
        tool_calls_origin: str | None,
        request_body: str | None,
    ) -> None:
        """Keep what a call says of the one that made it.

        The calls of the turn are those in the request of its last model call. One that asks for more is not the last:
        until that comes, or never, they are not known here, and whoever reads the row looks for it.
        """
        asks_more = bool(tool_calls) and tool_calls_origin in CALLS_OF_CHILD
        turn = None if asks_more else turn_of_child(tool_calls_origin, request_body, tool_calls)
        called = called_tools(kind, deployment, request_body, error)
        if turn is None and not called:
            return
        key = (trace_id, parent_span_id)
        if key not in self._children:
            self._children[key] = _Children()
            self._bytes += _OVERHEAD_BYTES
        self._children.move_to_end(key)
        children = self._children[key]
        added = 0
        if turn is not None or asks_more:
            added += _size(turn or ()) - _size(children.turn or ())
            children.turn = turn
        for one in called:
            added += _OVERHEAD_BYTES + len(one.arguments or "")
            children.called.append(one)
        children.size += added
        self._bytes += added
        while self._bytes > self._max_bytes:
            self._bytes -= self._children.popitem(last=False)[1].size


def _changed(record: LogRecord, children: _Children | None) -> dict[str, Any]:
    calls, changed = record.tool_calls, dict[str, Any]()
    if children is not None and children.turn is not None and record.tool_calls_origin in CALLS_OUTRANKED_BY_CHILD:
        calls = children.turn
        changed["tool_calls_origin"] = ToolCallsOrigin.CHILD_CALL
    if not calls:
        return changed
    if children is not None:
        calls = with_errors(calls, children.called)
    return changed | {"tool_calls": bounded(calls)}


def _size(calls: Sequence[Mapping[str, Any]]) -> int:
    return sum(_OVERHEAD_BYTES + sum(len(one) for one in call.values() if isinstance(one, str)) for call in calls)
