"""Chats as rows of a real lake."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def hash_of(messages: Sequence[str]) -> str | None:
    """A stand-in for the parser's hashes: equal for the same messages, null for none."""
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:32] if messages else None


class Chats:
    """Requests of people to one deployment; `minute` is counted from noon."""

    def __init__(self, lake: Lake, deployment: str = "rag") -> None:
        self.lake = lake
        self.deployment = deployment

    def request(self, name: str, minute: float, messages: Sequence[str], chat: str = "c1", **columns: Any) -> Any:
        """A request with these messages, a question and an answer in turn, that was answered in 10 s."""
        at = NOON + timedelta(minutes=minute)
        return {
            "event_id": name,
            "response_id": f"r-{name}",
            "response_ids": [f"r-{name}"],
            "deployment": self.deployment,
            "date": at.date(),
            "requested_at": at,
            "duration_ms": 10_000,
            "kind": "chat_completion",
            "status": 200,
            "finish_reason": "stop",
            "is_entry": True,
            "chat_id": chat,
            "user_id": "ann",
            "question": messages[-1],
            "documents": ["a.pdf"],
            "message_count": len(messages),
            "history_hash": hash_of(messages),
            "prefix_hash": hash_of(messages[:-1]),
            "parent_history_hash": hash_of(messages[:-2]),
        } | columns

    def log(self, *rows: dict[str, Any]) -> None:
        self.lake.table(PARSED_LOGS, self.deployment).append(PARSED_LOGS.rows(rows))

    def signals(self) -> list[dict[str, Any]]:
        rows = self.lake.table(USER_SIGNALS, self.deployment).read().to_pylist()
        return sorted(rows, key=lambda row: (row["signaled_at"], row["signal_id"]))

    def found(self) -> set[tuple[str, str]]:
        """Signals by kind and answer."""
        rows = self.signals()
        found = {(row["signal"], row["response_id"].removeprefix("r-")) for row in rows}
        assert len(found) == len(rows)
        return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


@pytest.fixture
def chats(lake: Lake) -> Chats:
    return Chats(lake)
