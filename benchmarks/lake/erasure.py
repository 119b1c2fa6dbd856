"""Benchmark of finding what an erasure takes: seconds in a folder, and requests to a store.

    python -m benchmarks.lake.erasure [calls]

One call in a thousand of each of two deployments is the person's. Each has an answer, a score and a signal, and an id
that no other has; with `shared` as the second argument all have one id. Nothing is erased (a dry run). The store has a
tenth of the calls.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from datetime import UTC, datetime, timedelta

import boto3

from lake.erasure.erasure import erase
from lake.erasure.erasure_scope import Subject
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from lake.tables.storage import Storage
from tests.servers import free_port, wait_for_url

_NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
_DAYS, _DEPLOYMENTS = 10, ("app", "model")


def write(lake: Lake, calls: int, *, is_shared: bool) -> None:
    """Write the tables of two deployments, a file for each day."""
    for day in range(_DAYS):
        at = _NOW - timedelta(days=day)
        numbers = range(day * calls // _DAYS, (day + 1) * calls // _DAYS)
        for deployment in _DEPLOYMENTS:
            _write_day(lake, deployment, at, numbers, is_shared=is_shared)


def _write_day(lake: Lake, deployment: str, at: datetime, numbers: range, *, is_shared: bool) -> None:
    same = {"deployment": deployment, "date": at.date()}
    logs, scores, signals, cases = [], [], [], []
    for number in numbers:
        event, person = f"{deployment}-{number:028x}", number % 1000
        name = "chat" if is_shared else f"chatcmpl-{event}"
        ids = {"event_id": event, "response_id": name, "chat_id": f"chat-{number % 10_000}", "requested_at": at}
        text = {"question": f"What is the answer to question {number}?", "answer": f"The answer is {number}. " * 20}
        body = json.dumps({"messages": [{"role": "user", "content": text["question"]}] * 5})
        more = {"response_ids": [name], "user_id": f"user-{person}", "trace_id": f"{number:032x}", "request_body": body}
        logs.append(same | ids | text | more | {"is_entry": deployment == "app", "kind": "chat", "status": 200})
        scores.append(same | ids | {"score_id": event, "metric": "facts_recall", "value": 0.5})
        rated = {"response_id": name, "chat_id": ids["chat_id"], "user_id": more["user_id"], "signaled_at": at}
        signals.append(same | rated | {"signal_id": event, "signal": "like", "origin": "explicit", "value": 1.0})
        if number % 1000 == 0:
            made_of = {"source_response_id": name, "source_date": at.date(), "version": 1}
            cases.append({"case_id": event, "deployment": deployment} | text | made_of)
    for spec, rows in ((PARSED_LOGS, logs), (SCORES, scores), (USER_SIGNALS, signals), (GROUND_TRUTH, cases)):
        lake.table(spec, deployment).append(spec.rows(rows))


def _found(lake: Lake) -> tuple[float, int]:
    begin = time.perf_counter()
    receipt = erase(lake, Subject(user="user-0"), _NOW, dry_run=True)
    return time.perf_counter() - begin, receipt.found


def main(calls: int, *, is_shared: bool) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as root:
        write(Lake(root), calls, is_shared=is_shared)
        runs = [_found(Lake(root)) for _ in range(7)]
        print(f"{calls:,} calls of each of {len(_DEPLOYMENTS)} deployments, {runs[0][1]:,} rows found")
        print(f"in a folder {statistics.median(seconds for seconds, _ in runs):.2f} s (median of {len(runs)})")
    port = free_port()
    store = f"http://127.0.0.1:{port}"
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.lake.counting_store", str(port)])
    try:
        wait_for_url(f"{store}/moto-api/", server)
        keys = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        boto3.client("s3", endpoint_url=store, **keys).create_bucket(Bucket="bucket")
        storage = Storage(store, "us-east-1", "key", "secret")
        write(Lake("s3://bucket/lake", storage), calls // 10, is_shared=is_shared)
        urllib.request.urlopen(f"{store}/counts").read()
        _found(Lake("s3://bucket/lake", storage))
        print("at a store", json.loads(urllib.request.urlopen(f"{store}/counts").read()))
    finally:
        server.terminate()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000, is_shared="shared" in sys.argv)
