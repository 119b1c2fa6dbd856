"""The demo's traffic: a day of three RAG applications behind DIAL Core, with a drop in quality planted in one."""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal
from urllib.parse import quote

from dialwatch.demo.assistant import Applications, AskedQuestion, Exchange, Visitors
from dialwatch.demo.core_line import CoreCall, core_line
from dialwatch.demo.questions import Question, load_questions
from dialwatch.demo.turn import EMBEDDER, Outcome, Person, Turn, embeddings_call, new_ids

DEPLOYMENTS = ("support-rag", "hr-policies-assistant", "applications/9c8bYtq2xTzEe4nQ/legal-search__1.2.0")
DEGRADED_DEPLOYMENT = DEPLOYMENTS[1]
RATED_SHARE = 0.15
FLIPPED_SHARE = 0.05
MALFORMED_SHARE = 0.01

_BUCKET = "9c8bYtq2xTzEe4nQ"
_DOCUMENTS = {
    DEPLOYMENTS[0]: ("troubleshooting.pdf", "known-issues.pdf"),
    DEPLOYMENTS[1]: ("employee-handbook.pdf", "travel-policy.pdf", "benefits.pdf"),
    DEPLOYMENTS[2]: ("case-law.pdf", "statutes.pdf"),
}
_TURNS, _TURN_WEIGHTS = (1, 2, 3), (0.7, 0.2, 0.1)
_MEAN_TURNS = 1.4
_COMMENTS = ("This is wrong", "Not what the document says", "Wrong name", "I asked something else")

Malformation = Literal["truncated", "stack_trace", "control_character", "glued"]
MALFORMATIONS: tuple[Malformation, ...] = ("truncated", "stack_trace", "control_character", "glued")
Kind = Literal["answer", "error", "secured", "child", "like", "dislike", "malformed"]


@dataclass(frozen=True)
class TrafficLine:
    """A line of Core's log, without its line feed, and what is true of it.

    `at` is when it comes to the log, in order; the request's own time is earlier. `deployment` is null for a
    malformed line. `right` is set for answers, `malformed` for malformed lines.
    """

    at: datetime
    raw: bytes
    kind: Kind
    deployment: str | None
    right: bool | None = None
    malformed: Malformation | None = None


@dataclass(frozen=True)
class Plan:
    """Expected findings of a reader of the traffic: counts of lines by kind, and the planted drop."""

    lines: int
    answers: int
    errors: int
    child_calls: int
    likes: int
    dislikes: int
    malformed: dict[Malformation, int]
    degraded_deployment: str
    drop_at: datetime

    @property
    def entries(self) -> int:
        """Entries that a collector counts: a line of two glued ones is two."""
        return self.lines + self.malformed.get("glued", 0)


def make_traffic(
    seed: int, start: datetime, end: datetime, drop_at: datetime, answers: int = 1600
) -> Iterator[TrafficLine]:
    """Yield about `answers` answers between `start` and `end` with all lines around them, by time of arrival.

    Conversations of one to three turns are spread evenly over the time and over DEPLOYMENTS, and each question is
    asked of a RAG application; from `drop_at` on the retrieval of DEGRADED_DEPLOYMENT is broken. Core is updated
    after the first quarter, from 0.18 to its form of 2026. Equal arguments give equal lines.

    Raises ValueError when a time has no zone or `drop_at` is not within the time.
    """
    if start.tzinfo is None or end.tzinfo is None or drop_at.tzinfo is None:
        raise ValueError(f"times need a time zone, got {start!r}, {end!r} and {drop_at!r}; pass datetimes in UTC")
    if not start <= drop_at <= end:
        raise ValueError(f"the drop at {drop_at} is not between {start} and {end}; move it into the time")
    rng = random.Random(seed)  # noqa: S311 - the same traffic each time is the point
    begins = sorted(start + (end - start) * rng.random() for _ in range(round(answers / _MEAN_TURNS)))
    questions = load_questions()
    with Applications(document_urls(), questions, DEGRADED_DEPLOYMENT, drop_at) as applications:
        core = _CoreSimulation(rng, questions, applications, end, old_core_until=start + (end - start) / 4)
        yield from _in_order(begins, core)


def _in_order(begins: Sequence[datetime], core: _CoreSimulation) -> Iterator[TrafficLine]:
    order = itertools.count()
    pending: list[tuple[datetime, int, TrafficLine]] = []
    for number, begin in enumerate(begins):
        while pending and pending[0][0] <= begin:
            yield heapq.heappop(pending)[2]
        for line in core.conversation(number, begin):
            heapq.heappush(pending, (line.at, next(order), line))
        if number == len(begins) // 2:
            heapq.heappush(pending, (begin, next(order), core.secured_line(begin)))
    while pending:
        yield heapq.heappop(pending)[2]


def make_plan(lines: Iterable[TrafficLine], drop_at: datetime) -> Plan:
    """Count the lines of `make_traffic` that was given `drop_at`."""
    lines = list(lines)
    kinds = Counter(line.kind for line in lines)
    return Plan(
        lines=len(lines),
        answers=kinds["answer"],
        errors=kinds["error"],
        child_calls=kinds["child"],
        likes=kinds["like"],
        dislikes=kinds["dislike"],
        malformed=dict(Counter(line.malformed for line in lines if line.malformed)),
        degraded_deployment=DEGRADED_DEPLOYMENT,
        drop_at=drop_at,
    )


class _CoreSimulation:
    """Simulates DIAL Core and its applications: gives the log lines of conversations."""

    def __init__(
        self,
        rng: random.Random,
        questions: tuple[Question, ...],
        applications: Applications,
        end: datetime,
        old_core_until: datetime,
    ) -> None:
        self._rng = rng
        self._applications = applications
        self._end = end
        self._old_core_until = old_core_until
        # In turn, so that even a short time has each.
        self._malformations = itertools.cycle(MALFORMATIONS)
        self._visitors = {deployment: Visitors(questions, rng) for deployment in DEPLOYMENTS}

    def conversation(self, number: int, begin: datetime) -> Iterator[TrafficLine]:
        rng = self._rng
        deployment = rng.choice(DEPLOYMENTS)
        person = person_of(rng.randrange(120))
        conversation = f"conversations/{person.bucket}/{quote(deployment, safe='')}__Conversation {number}"
        messages: list[dict[str, Any]] = []
        for _ in range(rng.choices(_TURNS, _TURN_WEIGHTS)[0]):
            if begin > self._end - timedelta(minutes=1):
                return
            question = self._visitors[deployment].question(begin, first=not messages)
            messages.append(_question(question, deployment, first=not messages))
            turn = self._turn(deployment, person, quote(conversation, safe=""), begin, messages)
            yield from self._lines(turn)
            if turn.outcome != "answered":
                return
            messages.append(_answer(turn.exchange))
            begin += turn.duration + timedelta(seconds=rng.uniform(15, 90))

    def secured_line(self, moment: datetime) -> TrafficLine:
        call = CoreCall(
            deployment=DEPLOYMENTS[0],
            uri=f"/openai/deployments/{DEPLOYMENTS[0]}/chat/completions",
            started=moment - timedelta(seconds=2),
            trace_id=new_ids(self._rng)["trace_id"],
            span_id=new_ids(self._rng)["span_id"],
            execution_path=(DEPLOYMENTS[0],),
            project_id="hr-key",
            secured=True,
        )
        return TrafficLine(moment, core_line(call), "secured", call.deployment)

    def _turn(
        self,
        deployment: str,
        person: Person,
        chat_id: str,
        started: datetime,
        messages: list[dict[str, Any]],
    ) -> Turn:
        rng = self._rng
        outcomes: tuple[Outcome, ...] = ("answered", "refused", "broken")
        outcome = rng.choices(outcomes, (0.985, 0.008, 0.007))[0]
        duration = timedelta(milliseconds=rng.randrange(1500, 6000))
        stream = outcome == "broken" or rng.random() < 0.8
        ids = new_ids(rng)
        asked = AskedQuestion(started, duration, tuple(messages), stream, ids["response_id"])
        return Turn(
            deployment=deployment,
            person=person,
            chat_id=chat_id,
            started=started,
            duration=duration,
            exchange=self._applications.ask(deployment, asked),
            messages=tuple(messages),
            stream=stream,
            outcome=outcome,
            old_core=started < self._old_core_until,
            **ids,
        )

    def _lines(self, turn: Turn) -> Iterator[TrafficLine]:
        """Core writes a line when a call ends: children first, then the answer, its rating much later."""
        rng = self._rng
        ended = turn.started + turn.duration
        if turn.outcome == "answered" and rng.random() < 1 / 3:
            for call in turn.child_calls(rng):
                yield TrafficLine(ended - timedelta(milliseconds=20), core_line(call), "child", call.deployment)
        rating = self._rating(turn, ended) if turn.outcome == "answered" else None
        if rating:
            yield rating
            if rng.random() < 0.05:
                # Another instance of Core served the rating, and its log was shipped first.
                ended = rating.at + timedelta(seconds=rng.uniform(1, 30))
        raw = core_line(turn.answer_call())
        if turn.outcome == "answered":
            yield TrafficLine(ended, raw, "answer", turn.deployment, right=turn.exchange.right)
        else:
            yield TrafficLine(ended, raw, "error", turn.deployment)
        # A turn has nearly two lines.
        if rng.random() < 1.9 * MALFORMED_SHARE:
            yield self._malformed(ended)

    def _rating(self, turn: Turn, ended: datetime) -> TrafficLine | None:
        rng = self._rng
        moment = ended + timedelta(minutes=rng.uniform(0.5, 20))
        if rng.random() >= RATED_SHARE or moment > self._end - timedelta(minutes=1):
            return None
        like = (rng.random() < FLIPPED_SHARE) != turn.exchange.right
        comment = rng.choice(_COMMENTS) if not like and rng.random() < 0.4 else None
        if like and len(turn.messages) == 1:
            self._visitors[turn.deployment].remember_like(turn.exchange.question, moment)
        raw = core_line(turn.rating_call(like, comment, moment, rng))
        return TrafficLine(moment + timedelta(milliseconds=30), raw, "like" if like else "dislike", turn.deployment)

    def _malformed(self, moment: datetime) -> TrafficLine:
        kind = next(self._malformations)
        raw = malformed_line(kind, self._indexing_line(moment), self._indexing_line(moment), self._rng)
        return TrafficLine(moment, raw, "malformed", None, malformed=kind)

    def _indexing_line(self, moment: datetime) -> bytes:
        ids = new_ids(self._rng)
        call = embeddings_call(
            f"Section {self._rng.randrange(1000)}",
            self._rng,
            deployment=EMBEDDER,
            uri=f"/openai/deployments/{EMBEDDER}/embeddings?api-version=2024-10-21",
            started=moment - timedelta(milliseconds=150),
            trace_id=ids["trace_id"],
            span_id=ids["span_id"],
            execution_path=(EMBEDDER,),
            project_id="indexing",
        )
        return core_line(call)


def person_of(number: int) -> Person:
    """Return one of those who ask, by a number."""
    user_id = sha256(f"person {number} of the demo".encode()).hexdigest()
    return Person(user_id, ("", "Analyst", "Support engineer")[number % 3], user_id[:16])


def document_urls() -> dict[str, list[str]]:
    """Return the documents of each deployment."""
    return {deployment: [f"files/{_BUCKET}/{name}" for name in names] for deployment, names in _DOCUMENTS.items()}


def _question(question: str, deployment: str, first: bool) -> dict[str, Any]:
    if not first:
        return {"role": "user", "content": question}
    documents = [
        {"type": "application/pdf", "title": name, "url": url}
        for name, url in zip(_DOCUMENTS[deployment], document_urls()[deployment], strict=True)
    ]
    return {"role": "user", "content": question, "custom_content": {"attachments": documents}}


def _answer(exchange: Exchange) -> dict[str, Any]:
    """DIAL Chat sends an earlier answer back with its text only, no stages or attachments."""
    return {"role": "assistant", "content": exchange.answer}


def malformed_line(kind: Malformation, line: bytes, other: bytes, rng: random.Random) -> bytes:
    """Spoil a line: cut it short, put it with `other` on one line, or write what Core and Java do.

    Truncated is what a process leaves that dies while it writes; a stack trace takes the line's place; a
    control character stands raw in the request's body, as Core wrote it until 2026; glued has lost a line feed.
    """
    if kind == "truncated":
        return line[: rng.randrange(20, len(line) - 2)]
    if kind == "stack_trace":
        return b"\tat com.epam.aidial.core.server.log.GfLogStore.doSave(GfLogStore.java:%d)" % rng.randrange(20, 200)
    if kind == "control_character":
        before, mark, after = line.partition(b'"body":"')
        return before + mark + b"\x0b" + after
    return line + other
