"""One turn of a conversation as the calls that DIAL Core logs for it."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from dialwatch.demo.assistant import Exchange
from dialwatch.demo.completion import StreamedCompletion, assembled, broken_off, compact_json, token_count
from dialwatch.demo.core_line import CallUsage, CoreCall
from dialwatch.demo.rag_answer import prompt_parts, text_deltas

MODEL = "gpt-4o"
EMBEDDER = "text-embedding-3-small"
PROMPT_PRICE, COMPLETION_PRICE, EMBEDDING_PRICE = Decimal("0.0000025"), Decimal("0.00001"), Decimal("0.00000002")
INSTRUCTION = (
    "You are helpful assistant. You are to answer the user questions based on user provided documents.\n"
    "If you don't know the answer, just say that you don't know, don't try to make up an answer."
)
FILTERED = {"message": "The response was filtered", "type": "invalid_request_error", "code": "content_filter"}
BROKEN = {"message": "Error during processing the request", "type": "runtime_error", "code": "500"}
_LOST_EVENTS = 4

Outcome = Literal["answered", "refused", "broken"]


@dataclass(frozen=True)
class Person:
    """A person who asks: Core's hash of them, the job title that their client sends, and their bucket of files."""

    user_id: str
    title: str
    bucket: str


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A question to an application and all that comes of it.

    `messages` is the conversation up to and with the question. `old_core` writes as Core did in 2024: merged
    streams keep `delta`, the path begins with the user, children do not inherit the conversation. A `refused`
    turn gets the upstream's status 400, a `broken` one fails in the middle of its stream.
    """

    deployment: str
    person: Person
    chat_id: str
    started: datetime
    duration: timedelta
    exchange: Exchange
    messages: tuple[dict[str, Any], ...]
    stream: bool
    outcome: Outcome
    old_core: bool
    response_id: str
    trace_id: str
    span_id: str

    def answer_call(self) -> CoreCall:
        """Return the call whose answer the person saw."""
        common = self._call(self.deployment, f"/openai/deployments/{self.deployment}/chat/completions", self.span_id)
        request = compact_json({"messages": self.messages, "model": self.deployment, "stream": self.stream})
        if self.outcome == "refused":
            body = compact_json({"error": FILTERED})
            return CoreCall(**common, request_body=request, response_body=body, assembled_response=body, status=400)
        return CoreCall(
            **common,
            **self._answer_bodies(),
            request_body=request,
            usage=total_usage(self._embedding_usage(), self._model_usage()),
        )

    def child_calls(self, rng: random.Random) -> Iterator[CoreCall]:
        """Yield calls of the application, in the order in which they end: embeddings, then the model.

        The demo's application makes none: it searches words and answers with sentences. These are what DIAL RAG would
        have asked for the same answer.
        """
        yield embeddings_call(
            self.exchange.question,
            rng,
            **self._child(EMBEDDER, "embeddings", _span(rng), self.started + timedelta(milliseconds=40), 0.05),
        )
        model_started = self.started + 0.3 * self.duration
        child = self._child(MODEL, "chat/completions", _span(rng), model_started, 0.6)
        prompt = [{"type": "text", "text": INSTRUCTION}]
        parts = prompt_parts(self.exchange.question, self.exchange.read)
        messages = [{"role": "system", "content": prompt}, {"role": "user", "content": parts}]
        usage = self._model_usage()
        completion = StreamedCompletion(
            response_id=f"chatcmpl-{rng.getrandbits(116):029x}",
            created=int(model_started.timestamp()),
            model="gpt-4o-2024-08-06",
            deltas=({"role": "assistant"}, *text_deltas(self.exchange.answer)),
            usage={
                "completion_tokens": usage.completion_tokens,
                "prompt_tokens": usage.prompt_tokens,
                "total_tokens": usage.completion_tokens + usage.prompt_tokens,
            },
        )
        yield CoreCall(
            **child,
            **self._bodies(completion.events()),
            request_body=compact_json({"messages": messages, "model": MODEL, "stream": True, "temperature": 0}),
            usage=usage,
        )

    def rating_call(self, like: bool, comment: str | None, moment: datetime, rng: random.Random) -> CoreCall:
        """Return the call in which the person likes or dislikes the answer; it has a trace of its own."""
        body = {"rate": like, "modelId": self.deployment, "responseId": self.response_id}
        if comment:
            body["comment"] = comment
        return CoreCall(
            deployment=self.deployment,
            uri=f"/v1/{self.deployment}/rate",
            started=moment,
            trace_id=_trace(rng),
            span_id=_span(rng),
            request_body=compact_json(body),
            chat_id=self.chat_id,
            user_id=self.person.user_id,
            user_title=self.person.title,
        )

    def _answer_bodies(self) -> dict[str, Any]:
        sent = self.exchange.body
        if self.outcome == "broken":
            return self._bodies(broken_off(sent, BROKEN, _LOST_EVENTS))
        if self.stream and self.old_core:
            return self._bodies(sent)
        return {"response_body": sent, "assembled_response": self.exchange.assembled}

    def _bodies(self, events: str) -> dict[str, Any]:
        shape = assembled(events, "delta" if self.old_core else "message")
        return {"response_body": events, "assembled_response": shape}

    def _call(self, deployment: str, uri: str, span_id: str) -> dict[str, Any]:
        path = (self.deployment,) if deployment == self.deployment else (self.deployment, deployment)
        return {
            "deployment": deployment,
            "uri": uri,
            "started": self.started,
            "trace_id": self.trace_id,
            "span_id": span_id,
            "execution_path": (self.person.user_id, *path) if self.old_core else path,
            "upstream_uri": f"http://{deployment.rsplit('/', 1)[-1]}.dial.svc.cluster.local{uri}",
            "duration_ms": None if self.old_core else self.duration // timedelta(milliseconds=1),
            "chat_id": self.chat_id,
            "user_id": self.person.user_id,
            "user_title": self.person.title,
        }

    def _child(self, model: str, path: str, span_id: str, started: datetime, share: float) -> dict[str, Any]:
        call = self._call(model, f"/openai/deployments/{model}/{path}?api-version=2024-10-21", span_id)
        return {
            **call,
            "started": started,
            "duration_ms": None if self.old_core else int(self.duration / timedelta(milliseconds=1) * share),
            "chat_id": "" if self.old_core else self.chat_id,
            "user_title": "" if self.old_core else self.person.title,
            "parent_span_id": self.span_id,
            "parent_deployment": self.deployment,
        }

    def _embedding_usage(self) -> CallUsage:
        return _embedding_usage(self.exchange.question)

    def _model_usage(self) -> CallUsage:
        texts = (INSTRUCTION, self.exchange.question, *(passage.text for passage in self.exchange.read))
        prompt, completion = sum(token_count(text) for text in texts), token_count(self.exchange.answer)
        price = prompt * PROMPT_PRICE + completion * COMPLETION_PRICE
        return CallUsage(prompt_tokens=prompt, completion_tokens=completion, price=price, deployment_price=price)


def embeddings_call(text: str, rng: random.Random, **call: Any) -> CoreCall:
    """Return the call that embeds `text` in 64 dimensions; `call` holds the other fields of CoreCall."""
    usage = _embedding_usage(text)
    vector = [round(rng.gauss(0, 0.1), 6) for _ in range(64)]
    tokens = {"prompt_tokens": usage.prompt_tokens, "total_tokens": usage.prompt_tokens}
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    body = compact_json({"object": "list", "data": data, "model": EMBEDDER, "usage": tokens})
    request = compact_json({"input": [text], "model": EMBEDDER, "dimensions": len(vector), "encoding_format": "float"})
    return CoreCall(**call, request_body=request, response_body=body, assembled_response=body, usage=usage)


def new_ids(rng: random.Random) -> dict[str, str]:
    """Return a fresh response id, trace id and span id, by the names that Turn has for them."""
    response_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    return {"response_id": response_id, "trace_id": _trace(rng), "span_id": _span(rng)}


def _trace(rng: random.Random) -> str:
    return f"{rng.getrandbits(128):032x}"


def _span(rng: random.Random) -> str:
    return f"{rng.getrandbits(64):016x}"


def _embedding_usage(text: str) -> CallUsage:
    price = token_count(text) * EMBEDDING_PRICE
    return CallUsage(prompt_tokens=token_count(text), completion_tokens=0, price=price, deployment_price=price)


def total_usage(*usages: CallUsage) -> CallUsage:
    """Return the tokens and the money of calls together."""
    return CallUsage(
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        price=sum((usage.price for usage in usages), Decimal(0)),
    )
