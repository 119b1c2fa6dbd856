"""A deployment's logs and signals, written as rows into a real lake."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evaluator.metrics import registry
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from tests.evaluator.judged import JUDGED, Addresses
from tests.evaluator.judges.scripted_server import ScriptedServer, Stage, calls_of, serve, serving
from tests.killing import kill, start
from tests.servers import free_port, wait_for

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Traffic:
    """What people asked one deployment and what they thought of it; `minute` is counted from noon."""

    def __init__(self, lake: Lake, deployment: str) -> None:
        self.lake = lake
        self.deployment = deployment

    def log(self, *rows: dict[str, Any]) -> None:
        self._append(PARSED_LOGS, rows)

    def rate(self, *rows: dict[str, Any]) -> None:
        self._append(USER_SIGNALS, rows)

    def answer(self, name: str, minute: int = 0, **columns: Any) -> dict[str, Any]:
        """A row of an answer that is right and stands in its contexts, changed by `columns`."""
        chunks = columns.pop("chunks", ["Delhi is the seat of government. It is large.", "Mumbai is a port."])
        asked = NOON + timedelta(minutes=minute)
        return {
            "event_id": f"event-{name}",
            "response_id": f"chatcmpl-{name}",
            "response_ids": [f"first-{name}", f"chatcmpl-{name}"],
            "deployment": self.deployment,
            "date": asked.date(),
            "requested_at": asked,
            "kind": "chat_completion",
            "status": 200,
            "is_entry": True,
            "question": "Where is the government?",
            "answer": "The seat of government is Delhi.",
            "finish_reason": "stop",
            "documents": ["files/india.pdf"],
            "contexts": [{"text": text} for text in chunks],
            "contexts_origin": "retrieval_stage" if chunks else "none",
        } | columns

    def signal(self, signal: str, name: str, minute: int = 1, user: str | None = "ann") -> dict[str, Any]:
        """A rating of the answer `name`, which carries the id of the answer's first chunk."""
        at = NOON + timedelta(minutes=minute)
        return {
            "signal_id": f"{signal}-{name}-{minute}-{user}",
            "response_id": f"first-{name}",
            "deployment": self.deployment,
            "date": at.date(),
            "signaled_at": at,
            "signal": signal,
            "value": 1.0 if signal == "like" else -1.0,
            "confidence": 0.9,
            "origin": "explicit",
            "user_id": user,
        }

    def scores(self) -> list[dict[str, Any]]:
        # Without what is another one in each lake: its secret is.
        rows = self.lake.table(SCORES, self.deployment).read().drop_columns(["question_key"])
        return rows.sort_by("score_id").to_pylist()

    def values(self, metric: str) -> dict[str, Any]:
        """A metric's latest value by answer, or the reason where there is none."""
        rows = [row for row in sorted(self.scores(), key=itemgetter("scored_at")) if row["metric"] == metric]
        return {row["event_id"].removeprefix("event-"): row["reason"] or row["value"] for row in rows}

    def cases(self) -> list[dict[str, Any]]:
        return self.lake.table(GROUND_TRUTH, self.deployment).read().sort_by("case_id").to_pylist()

    def _append(self, spec: TableSpec, rows: Sequence[dict[str, Any]]) -> None:
        table: pa.Table = spec.rows(rows)
        self.lake.table(spec, self.deployment).append(table)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def traffic(lake: Lake) -> Traffic:
    return Traffic(lake, "rag")


@pytest.fixture
def other_traffic(lake: Lake) -> Traffic:
    return Traffic(lake, "applications/Ünïcode/bot")


@pytest.fixture(scope="session")
def judge_stage() -> Iterator[Stage]:
    with serving() as stage:
        yield stage


@pytest.fixture
def judge_url() -> Iterator[str]:
    """A judge's endpoint in a process of its own, which sees the calls that a killed client has begun."""
    port = free_port()
    process = start(serve, port, 0.02)
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: calls_of(url) == 0)
    yield url
    kill(process)


@pytest.fixture
def judge(judge_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> ScriptedServer:
    """A judge's endpoint, and a metric in the registry that asks a judge."""
    monkeypatch.setitem(registry.REGISTRY, JUDGED, Addresses())  # type: ignore[arg-type]
    return judge_stage.fresh()
