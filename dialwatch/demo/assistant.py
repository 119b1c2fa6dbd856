"""The RAG applications of the demo, asked over DIAL's protocol: which questions, and what was answered."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

import httpx
from starlette.types import ASGIApp

from dialwatch.demo.completion import assembled
from dialwatch.demo.questions import Question
from dialwatch.demo.rag.application import create_app
from dialwatch.demo.rag.assistant import RagAssistant
from dialwatch.demo.rag.extraction import PASSAGES_READ
from dialwatch.demo.rag.faults import Faults
from dialwatch.demo.rag.passages import passages_of
from dialwatch.demo.rag_answer import RetrievedPassage

DROP = Faults(retrieval="other_index")
ASKED_AGAIN_SHARE = 0.5
_STAGE_SHARE = 0.12


class InProcessClient:
    """Sends requests to the application, which runs in a thread of its own. Use it as a context."""

    def __init__(self, app: ASGIApp) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="in-process application", daemon=True)
        transport = httpx.ASGITransport(app=app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://in-process", headers={"api-key": "demo"})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def post(self, path: str, body: Mapping[str, Any]) -> str:
        """Send a body as JSON and return the whole answer; raises httpx.HTTPStatusError where it is refused."""
        response = asyncio.run_coroutine_threadsafe(self._client.post(path, json=body), self._loop).result()
        response.raise_for_status()
        return response.text


@dataclass(frozen=True)
class AskedQuestion:
    """A question as a client sends it: when, how long the answer may take, and as a stream or not."""

    moment: datetime
    duration: timedelta
    messages: Sequence[Mapping[str, Any]]
    stream: bool
    response_id: str


@dataclass(frozen=True)
class Exchange:
    """A question and what the application sent: `body` is JSON, or the events of a stream, `assembled` always JSON.

    `right` says that the answer has the right one in it. `read` are the passages that it was made from, best first.
    """

    question: str
    answer: str
    right: bool
    body: str
    assembled: str
    read: tuple[RetrievedPassage, ...]


class Applications:
    """One RAG application for each deployment, over the same texts in its own documents, served in this process.

    From `drop_at` on the retrieval of `degraded` is broken as DROP says. Use it as a context.
    """

    def __init__(
        self,
        documents: Mapping[str, Sequence[str]],
        questions: Sequence[Question],
        degraded: str,
        drop_at: datetime,
    ) -> None:
        """Index the questions' knowledge under the URLs `documents` of each deployment."""
        texts = [question.knowledge for question in questions]
        self._assistants = {name: RagAssistant(passages_of(texts, urls)) for name, urls in documents.items()}
        self._right = {question.text: question.right_answer.lower() for question in questions}
        self._degraded, self._drop_at = degraded, drop_at
        self._seconds = self._step = 0.0
        self._response_id = ""
        self._client = InProcessClient(create_app(self._assistants, self._clock, lambda: self._response_id))

    def __enter__(self) -> Self:
        self._client.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.__exit__(kind, error, trace)

    def ask(self, deployment: str, asked: AskedQuestion) -> Exchange:
        """Send a chat completion request, at the time of the question."""
        broken = deployment == self._degraded and asked.moment >= self._drop_at
        self._assistants[deployment].faults = DROP if broken else Faults()
        self._seconds, self._step = asked.moment.timestamp(), _STAGE_SHARE * asked.duration.total_seconds()
        self._response_id = asked.response_id
        sent = self._client.post(
            f"/openai/deployments/{deployment}/chat/completions",
            {"messages": asked.messages, "stream": asked.stream},
        )
        question = asked.messages[-1]["content"]
        body = assembled(sent, "message") if asked.stream else sent
        message = json.loads(body)["choices"][0]["message"]
        answer = message["content"]
        right = self._right[question] in answer.lower()
        return Exchange(question, answer, right, sent, body, _passages_read(message))

    def _clock(self) -> float:
        """Return the simulated time; each look at it takes a while."""
        now, self._seconds = self._seconds, self._seconds + self._step
        return now


class Visitors:
    """What people ask one deployment: some first questions were asked and liked at least ten minutes earlier."""

    def __init__(self, questions: Sequence[Question], rng: random.Random) -> None:
        """Draw from `questions` in an order of `rng`; each is asked before any comes anew."""
        self._questions = questions
        self._rng = rng
        self._unasked: list[int] = []
        self._liked: list[tuple[datetime, str]] = []

    def question(self, moment: datetime, *, first: bool) -> str:
        """Return the next question of a conversation, of which it is the first or not."""
        known = [text for liked_at, text in self._liked if liked_at <= moment - timedelta(minutes=10)]
        if first and known and self._rng.random() < ASKED_AGAIN_SHARE:
            return self._rng.choice(known)
        if not self._unasked:
            self._unasked = self._rng.sample(range(len(self._questions)), len(self._questions))
        return self._questions[self._unasked.pop()].text

    def remember_like(self, question: str, moment: datetime) -> None:
        """Let the question be asked again by others once its like is ten minutes old."""
        self._liked.append((moment, question))


def _passages_read(message: Mapping[str, Any]) -> tuple[RetrievedPassage, ...]:
    found = message["custom_content"]["stages"][0].get("attachments", [])[:PASSAGES_READ]
    return tuple(RetrievedPassage(item["data"], item["reference_url"]) for item in found)
