"""Benchmark of what is told to have changed around an onset: time of one look at the log.

    python -m benchmarks.monitor.change_attribution_time [--a-day 625] [--deployments 20]

Eight days of an application that retrieves 8 passages and calls a model with them; an onset a day ago.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import ContextsOrigin, Kind
from lake.tables.lake import Lake
from monitor.detect.causes import CallersOfDays, DailyChanges, OnsetInterval, changes_around, read_answers

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_DAYS = 8
_PASSAGE = "Staff have thirty days of leave in a year, and those who work at night have five more. " * 8


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--a-day", type=int, default=625)
    parser.add_argument("--deployments", type=int, default=20)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        lake = Lake(root)
        names = ["gpt", *(f"other-{number}" for number in range(chosen.deployments - 2))]
        for name in names[1:]:
            lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows([_row(f"{name}-1", _NOW - timedelta(hours=30))]))
        for day in range(_DAYS):
            _write(lake, day, chosen.a_day)
        since = _NOW - timedelta(days=1)
        onset = OnsetInterval(since, since - timedelta(hours=1), since + timedelta(hours=1))
        began = time.perf_counter()
        answers = read_answers(lake, "rag", onset, _NOW, CallersOfDays(lake).around(onset, _NOW, ["rag", *names]))
        read = time.perf_counter()
        changes = changes_around(answers, onset, _NOW)
        compared = time.perf_counter()
        DailyChanges(lake).read("rag", _NOW.date() - timedelta(days=2), ["rag", *names])
        looked = time.perf_counter()
    print("| answers in the log | compared | read, s | compared in, s |\n|---|---|---|---|")
    figures = (_DAYS * chosen.a_day, len(answers), f"{read - began:.2f}", f"{compared - read:.2f}")
    print("| " + " | ".join(map(str, figures)) + " |")
    print(f"told: {[change.feature.value for change in changes]}")
    print(f"look of a day without an incident: {looked - compared:.2f} s")


def _write(lake: Lake, day: int, a_day: int) -> None:
    answers, calls = [], []
    for number in range(a_day):
        at = _NOW - timedelta(days=_DAYS - day) + timedelta(days=number / a_day)
        name, is_after = f"{day}-{number}", day == _DAYS - 1
        texts = [
            {"text": f"{n} {_PASSAGE}", "url": f"files/{(number + n) % 90}.pdf"} for n in range(3 if is_after else 8)
        ]
        prompt = "Answer from the contexts.\n" + "\n".join(text["text"] for text in texts)
        body = json.dumps({"messages": [{"role": "system", "content": prompt}], "temperature": 0})
        shared = {
            "trace_id": f"trace-{name}",
            "chat_id": f"chat-{number // 2}-{day}",
            "duration_ms": 900 + number % 400,
        }
        kept = {"contexts": texts, "contexts_origin": ContextsOrigin.RETRIEVAL_RESPONSE, "request_body": body}
        answers.append(_row(name, at) | shared | kept)
        call = {"is_entry": False, "parent_deployment": "rag", "model": "gpt-4o", "request_body": body}
        calls.append(_row(f"call-{name}", at) | shared | call)
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(answers))
    lake.table(PARSED_LOGS, "gpt").append(PARSED_LOGS.rows(calls))


def _row(event_id: str, at: datetime) -> dict[str, Any]:
    asked = {"event_id": event_id, "requested_at": at, "date": at.date(), "ingested_at": at}
    return asked | {"kind": Kind.CHAT_COMPLETION, "status": 200, "is_entry": True, "question": "How many?"}


if __name__ == "__main__":
    main()
