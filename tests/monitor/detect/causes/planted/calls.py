"""Rows of one answer as the collector writes them: the call that the person made, and the calls that it made."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from lake.spec.vocabulary import ContextsOrigin, FinishReason, Kind, Origin
from tests.monitor.detect.causes.planted.application import Application
from tests.monitor.detect.causes.planted.kinds import PromptStyle
from tests.monitor.detect.causes.planted.people import User

DEPLOYMENT = "hr-policies-assistant"
EMBEDDER = "text-embedding-3-small"
MOST_TOKENS = 1024
_FAILURES = (429, 500, 503)
Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """What a person asks, with what was said before it and what is retrieved for it (None: nothing is looked for)."""

    user: User
    chat_id: str
    at: datetime
    text: str
    history: tuple[str, ...]
    contexts: list[dict[str, Any]] | None


class Calls:
    """Writes the rows of an answer; times and lengths of answers are drawn."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random

    def rows(self, question: Question, application: Application, slowness: float) -> list[Row]:
        """Give the entry first; `slowness` multiplies the times of the calls to models."""
        random = self._random
        entry = self._entry(question)
        children, at, ends = [], question.at + timedelta(milliseconds=float(random.uniform(5, 30))), True
        if question.contexts is not None:
            children.append(self._embedding(entry, question, at, slowness))
            at = _end(children[-1])
        if application.reranker and question.contexts is not None:
            children.append(self._reranking(entry, question, at, application.reranker))
            at = _end(children[-1])
        for attempt in range(2):
            children.append(self._model_call(entry, question, at, application, slowness))
            at, ends = _end(children[-1]), children[-1]["status"] == 200
            if ends or (attempt == 0 and random.random() < 0.2):
                break
        self._finish(entry, question, children, at)
        return [entry, *children]

    def _call(self, question: Question, at: datetime, deployment: str, kind: Kind) -> Row:
        random = self._random
        return {
            "event_id": random.bytes(16).hex(),
            "deployment": deployment,
            "date": at.date(),
            "requested_at": at,
            "kind": kind,
            "status": 200,
            "origin": Origin.PRODUCTION,
            "user_id": question.user.user_id,
            "project_id": question.user.project,
            "chat_id": question.chat_id,
            "trace_id": random.bytes(16).hex(),
            "span_id": random.bytes(8).hex(),
            "is_entry": True,
            "execution_path": [question.user.project, deployment],
            "ingested_at": at + timedelta(minutes=1),
        }

    def _entry(self, question: Question) -> Row:
        messages = [
            {"role": "assistant" if number % 2 else "user", "content": text}
            for number, text in enumerate((*question.history, question.text))
        ]
        body: dict[str, Any] = {"messages": messages, "stream": True}
        if question.user.temperature is not None:
            body["temperature"] = question.user.temperature
        row = self._call(question, question.at, DEPLOYMENT, Kind.CHAT_COMPLETION)
        return row | {
            "question": question.text,
            "stream": True,
            "message_count": len(messages),
            "contexts": question.contexts or [],
            "contexts_origin": ContextsOrigin.RETRIEVAL_STAGE if question.contexts else ContextsOrigin.NONE,
            "documents": list(dict.fromkeys(one["url"] for one in question.contexts or ())),
            "request_body": json.dumps(body, ensure_ascii=False),
        }

    def _child(self, entry: Row, question: Question, at: datetime, deployment: str, kind: Kind) -> Row:
        return self._call(question, at, deployment, kind) | {
            "trace_id": entry["trace_id"],
            "parent_span_id": entry["span_id"],
            "parent_deployment": DEPLOYMENT,
            "is_entry": False,
            "execution_path": [question.user.project, DEPLOYMENT, deployment],
        }

    def _embedding(self, entry: Row, question: Question, at: datetime, slowness: float) -> Row:
        tokens = len(question.text) // 4
        return self._child(entry, question, at, EMBEDDER, Kind.EMBEDDING) | {
            "request_body": json.dumps({"input": [question.text]}, ensure_ascii=False),
            "assembled_response": json.dumps({"object": "list", "model": EMBEDDER}),
            "prompt_tokens": tokens,
            "completion_tokens": 0,
            "total_tokens": tokens,
            "duration_ms": self._milliseconds(60 * slowness),
        }

    def _reranking(self, entry: Row, question: Question, at: datetime, deployment: str) -> Row:
        return self._child(entry, question, at, deployment, Kind.CHAT_COMPLETION) | {
            "request_body": json.dumps({"messages": [{"role": "user", "content": question.text}]}, ensure_ascii=False),
            "finish_reason": FinishReason.STOP,
            "model": deployment,
            "prompt_tokens": 900,
            "completion_tokens": 8,
            "total_tokens": 908,
            "duration_ms": self._milliseconds(120),
        }

    def _model_call(
        self, entry: Row, question: Question, at: datetime, application: Application, slowness: float
    ) -> Row:
        random = self._random
        body = _body(question, application)
        row = self._child(entry, question, at, application.model_deployment, Kind.CHAT_COMPLETION)
        row |= {"stream": True, "message_count": len(body["messages"]), "question": body["messages"][-1]["content"]}
        row["request_body"] = json.dumps(body, ensure_ascii=False)
        if random.random() < application.child_errors:
            status = int(random.choice(_FAILURES))
            failed = {
                "status": status,
                "error": f"status {status}; upstream error",
                "duration_ms": self._milliseconds(200),
            }
            return row | failed | {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        written = int(min(MOST_TOKENS - 1, random.lognormal(np.log(180 * application.answer_length), 0.45)))
        cut = random.random() < application.cut
        tokens = MOST_TOKENS if cut else max(5, written)
        read = len(row["request_body"]) // 4
        reason = FinishReason.LENGTH if cut else FinishReason.STOP
        # A gateway knows more about an answer than its length: a cut one takes no longer than another one here.
        milliseconds = self._milliseconds((400 + 12 * written) * slowness * application.latency)
        message = {"role": "assistant", "content": _answer(tokens)}
        response = {"model": application.model, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}
        return row | {
            "model": application.model,
            "answer": message["content"],
            "finish_reason": reason,
            "prompt_tokens": read,
            "completion_tokens": tokens,
            "total_tokens": read + tokens,
            "duration_ms": milliseconds,
            "assembled_response": json.dumps(response),
        }

    def _finish(self, entry: Row, question: Question, children: list[Row], at: datetime) -> None:
        last = children[-1]
        entry["duration_ms"] = int((at - question.at) / timedelta(milliseconds=1)) + int(self._random.uniform(5, 30))
        entry["ingested_at"] = at + timedelta(minutes=1)
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            entry[name] = sum(child[name] for child in children)
        if last["status"] == 200:
            entry["answer"], entry["finish_reason"] = last["answer"], last["finish_reason"]
            entry["response_id"] = f"chatcmpl-{entry['span_id']}"
            entry["response_ids"] = [entry["response_id"]]
        else:
            entry["status"], entry["error"] = 502, "status 502; upstream error"

    def _milliseconds(self, usual: float) -> int:
        return int(usual * self._random.lognormal(0, 0.35)) + 1


def _body(question: Question, application: Application) -> dict[str, Any]:
    """Give what the application asks its model: its rules, what was said, and what it retrieved."""
    system, asked = application.system_prompt, question.text
    passages = "\n\n".join(f"[{number}] {one['text']}" for number, one in enumerate(question.contexts or (), 1))
    if application.style is PromptStyle.DATE_IN_SYSTEM:
        system = f"{system} Today is {question.at:%Y-%m-%d}."
    if application.style is PromptStyle.CONTEXTS_IN_SYSTEM:
        system = f"{system}\n\nPassages:\n{passages}"
    elif passages:
        asked = f"Passages:\n{passages}\n\nQuestion: {asked}"
    messages = [{"role": "system", "content": system}]
    messages += [
        {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(question.history)
    ]
    messages.append({"role": "user", "content": asked})
    body: dict[str, Any] = {
        "model": application.model_deployment,
        "messages": messages,
        "temperature": application.temperature,
        "max_tokens": MOST_TOKENS,
        "stream": True,
    }
    if application.top_p is not None:
        body["top_p"] = application.top_p
    if application.tools:
        body["tools"] = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
            for name in application.tools
        ]
    return body


def _answer(tokens: int) -> str:
    return ("The policy says so in the passages. " * (tokens // 8 + 1))[: tokens * 4]


def _end(row: Row) -> datetime:
    begin: datetime = row["requested_at"]
    return begin + timedelta(milliseconds=row["duration_ms"])
