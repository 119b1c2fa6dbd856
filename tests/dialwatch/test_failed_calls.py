"""Calls that fail for one application alone, from Core's lines through the running services to the incident."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from dialwatch.config import Settings
from dialwatch.services import running
from tests.collector.lines import chat_line
from tests.servers import free_port, wait_for

pytestmark = pytest.mark.integration

APP, OTHER, MODEL = "support-rag", "hr-bot", "gpt-4o"
TOO_LONG = {
    "error": {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
}


def line(number: int, at: datetime, deployment: str, caller: str | None = None, **changes: Any) -> bytes:
    """A request of a person, or a call of an application, as Core 2026 writes it."""
    request = {
        "protocol": "HTTP/1.1",
        "method": "POST",
        "uri": f"/openai/deployments/{deployment}/chat/completions",
        "time": f"{at:%Y-%m-%dT%H:%M:%S}",
        "body": json.dumps({"messages": [{"role": "user", "content": f"Question {number}?"}]}),
    }
    trace = {"trace_id": f"{number + 1:032x}", "core_span_id": f"{number + 1:015x}{int(caller is not None)}"}
    if caller is not None:
        trace["core_parent_span_id"] = f"{number + 1:015x}0"
        changes |= {"parent_deployment": caller}
    path = [deployment] if caller is None else [caller, deployment]
    return chat_line(number, deployment=deployment, execution_path=path, request=request, trace=trace, **changes)


def lines(now: datetime) -> list[bytes]:
    """Two applications with two turns a minute; since 20 minutes the model takes no request of one of them."""
    found: list[bytes] = []
    refused = {"response": {"status": "400", "body": json.dumps(TOO_LONG)}, "assembled_response": json.dumps(TOO_LONG)}
    for place, ago in enumerate(range(60, 0, -1)):
        at = now - timedelta(minutes=ago)
        for number in range(4):
            app = (APP, OTHER, OTHER, OTHER)[number]
            turn = 4 * place + number
            answer = refused if app == APP and ago <= 20 else {}
            # Core writes a line when the request is over: the call first.
            found += [line(turn, at, MODEL, app, **answer), line(turn, at, app)]
    return found


def test_from_the_lines_to_the_incident(tmp_path: Path) -> None:
    """It is the caller's, of the calls to the model; the model has none, as most of its requests are well."""
    log, address = tmp_path / "aidial.log", f"127.0.0.1:{free_port()}"
    log.write_bytes(b"\n".join(lines(datetime.now(UTC))) + b"\n")
    settings = Settings.model_validate(
        {
            "lake": {"root": str(tmp_path / "lake")},
            "collector": {"files": {"paths": [str(log)], "poll_seconds": 0.1}, "flush_seconds": 0.2},
            "monitor": {"listen": address, "refresh_seconds": 0.2},
        }
    )
    with running.only_collector(settings), running.only_monitor(settings):
        wait_for(partial(incidents, address))
        (found,) = incidents(address)
        page = httpx.get(f"http://{address}/incident.json", params={"id": found["incident_id"]}).json()
        states = httpx.get(f"http://{address}/metrics").text
    assert (found["deployment"], found["metrics"]) == (APP, ["child_errors"])
    (alert,) = page["alerts"]
    assert alert["summary"].startswith(f"calls of {APP} to {MODEL} failed: ")
    assert "HTTP 400 (bad request)" in alert["summary"]
    assert alert["details"]["floor"]["callee"]["name"] == MODEL
    assert f'dialwatch_floor_active{{deployment="{APP}",floor="child_errors"' in states
    assert f'deployment="{MODEL}",floor="child_errors"' not in states


def incidents(address: str) -> list[dict[str, Any]]:
    try:
        answer = httpx.get(f"http://{address}/incidents.json")
    except httpx.TransportError:
        return []
    return list(answer.json()["incidents"]) if answer.status_code == 200 else []
