"""The last error of a tool: what a call of it gave that failed, as the answer of that turn holds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime

import pyarrow.compute as pc

from lake.queries.answer_rows import CALLED_TOOLS, IS_ENTRY
from lake.queries.failures import calls_tool
from lake.queries.latest_rows import each_once
from lake.spec.schemas import PARSED_LOGS
from lake.spec.tool_names import shown_name
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

_PLACE = ("event_id", "date", "requested_at", "ingested_at")


@dataclass(frozen=True)
class ToolError:
    """A call of a tool that failed, with the address of its answer; `text` is None where no result was logged."""

    tool: str
    date: date
    event_id: str
    requested_at: datetime
    text: str | None


def last_tool_error(
    lake: Lake, deployment: str | None, tool: str, since: datetime, until: datetime
) -> ToolError | None:
    """Return the newest failed call of a tool in answers from `since` on and before `until`; None where there is none.

    `tool` is its shown name. Results, which may be long, are read of that answer alone.
    """
    period = RequestPeriod(since, until)
    reader = DayReader(lake.table(PARSED_LOGS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where = IS_ENTRY & within("requested_at", since, until)
    for day in reader.days():
        rows = each_once(reader.read(_PLACE, where, [day], period, parts={"tool_calls": CALLED_TOOLS}))
        failed = rows.filter(calls_tool(rows["tool_calls"], tool, failed=True))
        if failed.num_rows:
            newest = failed.take(pc.select_k_unstable(failed, 1, [("requested_at", "descending")])).to_pylist()[0]
            return _error(reader, tool, newest["event_id"], day, newest["requested_at"])
    return None


def _error(reader: DayReader, tool: str, event_id: str, day: date, at: datetime) -> ToolError | None:
    rows = reader.read_rows(["event_id"], [event_id], (*_PLACE, "tool_calls"), [day], RequestPeriod(at, at))
    calls = each_once(rows)["tool_calls"].to_pylist()[0] if rows.num_rows else []
    texts = [call["result"] for call in calls or () if shown_name(call["name"]) == tool and call["is_error"]]
    return ToolError(tool, day, event_id, at, texts[-1]) if texts else None
