"""Benchmark of finding and reading answers in a lake of 100 deployments and 90 days.

    python -m benchmarks.monitor.answers [folder]

Built sparsely: each day of each deployment has a small file of each table, and one day of one deployment has 10,000
answers of usual size with 10 metrics each, in 20 commits. Another process builds it, so that the peak of memory is that
of the reads. A folder that is named is kept, and built only once.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from lake.maintenance.id_index import update_id_index
from lake.queries.answer_details import read_answer
from lake.queries.answer_filter import AnswerFilter
from lake.queries.answer_lookup import locate_response
from lake.queries.answer_search import find_answers
from lake.queries.ratings import AnswerRating
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake

DEPLOYMENTS, DAYS, DENSE, METRICS, COMMITS = 100, 90, 10_000, 10, 20
_LAST = date(2026, 11, 20)
_BUSY, _MODEL = "app-000", "app-001"
_WORDS = [f"{a}{b}{c}" for a in "bdfklmnprst" for b in ("a", "e", "io", "u") for c in ("n", "ster", "ting", "l", "")]


def build(root: str) -> None:
    """Write the lake."""
    lake, chance = Lake(root), random.Random(1)
    days = [_LAST - timedelta(days=back) for back in range(DAYS)]
    for number in range(DEPLOYMENTS):
        name = f"app-{number:03}"
        for begin in range(0, DAYS, 10):
            rows = [answer_row(chance, name, day, 0) for day in days[begin : begin + 10] for _ in range(3)]
            _append(lake, chance, name, rows)
    for begin in range(0, DENSE, DENSE // COMMITS):
        rows = [answer_row(chance, _BUSY, _LAST, (begin + n) * 8) for n in range(DENSE // COMMITS)]
        _append(lake, chance, _BUSY, rows)
        model = [_model_call(row) for row in rows]
        lake.table(PARSED_LOGS, _MODEL).append(PARSED_LOGS.rows(model))


def _append(lake: Lake, chance: random.Random, name: str, rows: list[dict[str, Any]]) -> None:
    lake.table(PARSED_LOGS, name).append(PARSED_LOGS.rows(rows))
    lake.table(SCORES, name).append(SCORES.rows([one for row in rows for one in score_rows(chance, row)]))
    rated = [_signal(chance, row) for row in rows if chance.random() < 0.1]
    lake.table(USER_SIGNALS, name).append(USER_SIGNALS.rows(rated))


def _text(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def answer_row(chance: random.Random, name: str, day: date, second: int) -> dict[str, Any]:
    """Give an answer of usual size, as a row of `parsed_logs`."""
    at = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(seconds=second)
    question, answer = _text(chance, 20), _text(chance, 250)
    contexts = [{"text": _text(chance, 180), "title": f"{n}.pdf", "page": n} for n in range(6)]
    history = [{"role": "user", "content": _text(chance, 150)} for _ in range(4)]
    stage = {"name": "Retrieval", "attachments": [{"data": one["text"]} for one in contexts]}
    message = {"content": answer, "custom_content": {"stages": [stage]}}
    response_id = f"{chance.getrandbits(128):032x}"
    return {
        "event_id": f"{chance.getrandbits(128):032x}", "response_id": response_id, "response_ids": [response_id],
        "deployment": name, "date": day, "requested_at": at, "ingested_at": at, "duration_ms": 4000,
        "kind": "chat_completion", "status": 200, "is_entry": True, "chat_id": f"{day}-{second // 40}", "model": "gpt",
        "trace_id": f"{chance.getrandbits(128):032x}", "span_id": f"{chance.getrandbits(64):016x}",
        "question": question, "answer": answer, "contexts": contexts, "contexts_origin": "cited",
        "request_body": json.dumps({"messages": [*history, {"role": "user", "content": question}]}),
        "assembled_response": json.dumps({"choices": [{"message": message}]}),
    }  # fmt: skip


def _model_call(row: dict[str, Any]) -> dict[str, Any]:
    ids = {"event_id": row["event_id"][::-1], "span_id": row["span_id"][::-1], "parent_span_id": row["span_id"]}
    made = {"deployment": _MODEL, "parent_deployment": _BUSY, "is_entry": False, "contexts_origin": "prompt"}
    return row | ids | made


def score_rows(chance: random.Random, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the scores of an answer."""
    same = {name: row[name] for name in ("event_id", "response_id", "deployment", "date", "requested_at", "chat_id")}
    return [
        same | {
            "score_id": f"{chance.getrandbits(128):032x}", "metric": f"metric_{number}", "metric_version": "1",
            "value": chance.random(), "judge": "lexical", "scored_at": row["requested_at"],
            "details": json.dumps({"unsupported": _text(chance, 30)}),
        }
        for number in range(METRICS)
    ]  # fmt: skip


def _signal(chance: random.Random, row: dict[str, Any]) -> dict[str, Any]:
    liked = chance.random() < 0.7
    return {
        "signal_id": f"{chance.getrandbits(128):032x}", "response_id": row["response_id"], "date": row["date"],
        "deployment": row["deployment"], "signaled_at": row["requested_at"], "origin": "explicit", "confidence": 1.0,
        "signal": "like" if liked else "dislike", "value": 1.0 if liked else -1.0,
    }  # fmt: skip


def report(what: str, step: Callable[[], object], times: int = 5) -> None:
    """Print the median wall and CPU milliseconds of a step, and the peak of memory so far."""
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        step()
        walls.append(1000 * (time.perf_counter() - wall))
        cpus.append(1000 * (time.process_time() - cpu))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:<58}{sorted(walls)[times // 2]:9.0f} ms{sorted(cpus)[times // 2]:9.0f} ms CPU{peak:7.0f} MiB peak")


def measure(root: str) -> None:
    """Read it as the pages and the commands do."""
    lake = Lake(root)
    begin = datetime(_LAST.year, _LAST.month, _LAST.day, tzinfo=UTC)
    day: dict[str, Any] = {"deployment": _BUSY, "since": begin, "until": begin + timedelta(days=1)}
    month = day | {"since": begin - timedelta(days=DAYS)}
    shown = find_answers(lake, AnswerFilter(**day)).rows[25]
    response_id, everybody = str(shown.response_id), lake.deployments()
    report("nothing read: Python, pyarrow, deltalake", lambda: None)
    report("a day, latest first", lambda: find_answers(lake, AnswerFilter(**day)))
    worst = AnswerFilter(**day, metric="metric_1", below=0.3, sort="metric_1", ascending=True)
    report("a day, a metric below 0.3, worst first", lambda: find_answers(lake, worst))
    report("a day, disliked", lambda: find_answers(lake, AnswerFilter(**day, rating=AnswerRating.DISLIKED)))
    report("a day, words", lambda: find_answers(lake, AnswerFilter(**day, words="Bioster rating")))
    report("90 days, latest first", lambda: find_answers(lake, AnswerFilter(**month)))
    report("one answer, its model's deployment", lambda: read_answer(lake, _BUSY, _LAST, shown.event_id, [_MODEL]))
    ten = everybody[:10]
    report("one answer, 10 deployments", lambda: read_answer(lake, _BUSY, _LAST, shown.event_id, ten))
    report("one answer, all deployments", lambda: read_answer(lake, _BUSY, _LAST, shown.event_id, everybody), 1)
    report("an id, one deployment and day", lambda: locate_response(lake, response_id, [_BUSY], _LAST, _LAST))
    report("an id, one deployment", lambda: locate_response(lake, response_id, [_BUSY]))
    report("an id, all deployments and days", lambda: locate_response(lake, response_id, everybody), 1)
    # A folder that was kept from an earlier run has the index already.
    report("an update of the index of ids", lambda: update_id_index(lake), 1)
    report("an update with nothing new", lambda: update_id_index(lake), 1)
    report("an id, all deployments and days, by the index", lambda: locate_response(lake, response_id, everybody))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = Path(sys.argv[1] if len(sys.argv) > 1 else folder, "lake")
        if not place.exists():
            builder = multiprocessing.get_context("spawn").Process(target=build, args=(str(place),))
            builder.start()
            builder.join()
        measure(str(place))
