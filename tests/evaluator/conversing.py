"""Conversations as rows of `parsed_logs`: each request has the messages before it, hashed as the collector does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from collector.parsing.request.request import read_request
from tests.evaluator.conftest import NOON, Traffic


@dataclass(frozen=True)
class Talk:
    """What was said so far; each turn gives a row and the talk that goes on from there."""

    traffic: Traffic
    chat: str | None = "chat"
    user: str | None = "ann"
    said: tuple[tuple[str, str], ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)

    def turn(self, question: str, answer: str | None, minute: int, **columns: Any) -> tuple[dict[str, Any], Talk]:
        """A row of `parsed_logs` that was written in its minute, and the talk after it."""
        messages = [
            {"role": role, "content": text}
            for turn in self.said
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        messages.append({"role": "user", "content": question})
        body = json.dumps({"messages": messages})
        hashes = read_request(body).history
        name = columns.pop("name", f"{self.chat}-{self.user}-{minute}")
        at = NOON + timedelta(minutes=minute)
        row = self.traffic.answer(
            name, minute, question=question, answer=answer, chat_id=self.chat, user_id=self.user, ingested_at=at,
            history_hash=hashes.history_hash, prefix_hash=hashes.prefix_hash,
            parent_history_hash=hashes.parent_history_hash, chunks=[], request_body=body,
        )  # fmt: skip
        return row | self.columns | columns, replace(self, said=(*self.said, (question, answer or "")))

    def log(self, *turns: tuple[str, str, int]) -> Talk:
        """Log turns one after the other."""
        talk = self
        for question, answer, minute in turns:
            row, talk = talk.turn(question, answer, minute)
            self.traffic.log(row)
        return talk
