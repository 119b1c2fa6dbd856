"""From DIAL Core's lines to signals, through the real parser."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from collector.parsing import LogRecord, parse_line
from collector.signals import ImplicitResult, ImplicitSignals, SignalSettings
from lake.spec.schemas import PARSED_LOGS
from lake.tables.lake import Lake
from tests.collector.parsing.core_lines import ANSWER, core_line

START = datetime(2026, 8, 3, 10, tzinfo=UTC)


def turn(number: int, *messages: str) -> dict[str, Any]:
    """The row of a call as DIAL Chat makes it, with the whole conversation; `messages` alternate, the user first."""
    roles = ("user", "assistant")
    body = {"messages": [{"role": roles[place % 2], "content": text} for place, text in enumerate(messages)]}
    body["messages"].insert(0, {"role": "system", "content": "You are helpful."})
    answer = json.dumps(ANSWER | {"id": f"r-{number}"})
    line = core_line(
        {
            "request.body": json.dumps(body),
            "request.time": f"{START + timedelta(minutes=number):%Y-%m-%dT%H:%M:%S}",
            "assembled_response": answer,
            "response.body": answer,
            "trace.core_span_id": f"{number + 1:016x}",
        }
    )
    record = parse_line(line)
    assert isinstance(record, LogRecord)
    return msgspec.structs.asdict(record)


def test_a_conversation_in_dials_own_lines_gives_its_signals(lake: Lake, chats: Any) -> None:
    """Log format 5: regenerate re-sends the same messages, an edit cuts the history, the next turn carries it all."""
    who, edited = "Who approves the travel budget?", "Who approves the travel budget in Germany?"
    mine = type(chats)(lake, "rag-app")
    mine.log(
        turn(0, who),
        turn(1, who),
        turn(2, edited),
        turn(3, edited, "The CEO.", "No, that is not correct."),
        turn(4, edited, "The CEO.", "No, that is not correct.", "The CFO.", "Thanks, no problem"),
    )
    assert lake.table(PARSED_LOGS, "rag-app").read().num_rows == 5
    assert ImplicitSignals(lake, SignalSettings()).run_once() == ImplicitResult(
        {"regenerate": 1, "edit": 2, "correction": 1}
    )
    assert mine.found() == {("regenerate", "0"), ("edit", "0"), ("edit", "1"), ("correction", "2")}
