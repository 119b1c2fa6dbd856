"""Counter of the calls of tools."""

from datetime import timedelta
from typing import Any

from monitor.service.monitor import Monitor
from tests.monitor.conftest import NOW
from tests.monitor.exporter.test_exporter import labelled, samples


def test_calls_of_tools_are_counted_by_tool_and_outcome(monitor: Monitor, rows: Any) -> None:
    """Those of answers to people, each once; a deployment that calls none has no series."""

    def called(name: str | None, is_error: bool | None) -> dict[str, Any]:
        return {"id": "1", "name": name, "arguments": "{}", "result": "", "is_error": is_error}

    calls = [called("get", True), called("get", False), called("get", False), called("rest", None)]
    turn = {"is_entry": True, "answer_kind": "text", "tool_calls": calls}
    rows.logs("a", turn, turn | {"is_entry": False}, turn | {"origin": "replay"}, turn | {"answer_kind": "tool_call"})
    rows.logs("a", turn | {"requested_at": NOW - timedelta(days=40), "date": (NOW - timedelta(days=40)).date()})
    rows.logs("b", {"tool_calls": []})
    monitor.refresh()
    found = {key: number for key, number in samples(monitor).items() if key[0] == "dialwatch_tool_calls_total"}
    assert found == {
        ("dialwatch_tool_calls_total", labelled(deployment="a", tool=tool, outcome=outcome)): number
        for tool, outcome, number in (
            ("get", "error", 2), ("get", "ok", 4), ("get", "unknown", 0),
            ("rest", "error", 0), ("rest", "ok", 0), ("rest", "unknown", 2),
        )
    }  # fmt: skip
