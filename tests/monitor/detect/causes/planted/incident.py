"""An incident: weeks of an application's traffic, with a planted change or none, up to the time when it is found."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from lake.spec.schemas import PARSED_LOGS, SCORES
from lake.tables.lake import Lake
from tests.monitor.detect.causes.planted.application import Application, application, changed
from tests.monitor.detect.causes.planted.calls import DEPLOYMENT, Calls, Question, Row
from tests.monitor.detect.causes.planted.kinds import RELEASES, Harmless, Planted, PromptStyle
from tests.monitor.detect.causes.planted.library import LANGUAGES, TOPICS, Library, question
from tests.monitor.detect.causes.planted.people import CLIENTS, Chat, People, Shift

BEGIN = datetime(2026, 9, 28, tzinfo=UTC)
METRIC, METRIC_VERSION = "faithfulness_kprecision", "1"
_AGE_OF_NEW_DOCUMENTS = timedelta(days=365)
_SHORT, _MEDIUM = 80, 400
_DROP = 0.2
_MOST_DAYS_UNTIL_FOUND = 4


@dataclass(frozen=True)
class Incident:
    """What was planted, when, and what a monitor would say about it.

    `onset` is when scores fall, and when what was planted begins. `since` with its interval is what is told, and holds
    the truth. `released` is a change long before, of which nobody complained.
    """

    planted: Planted | None
    onset: datetime
    since: datetime
    since_earliest: datetime
    since_latest: datetime
    found_at: datetime
    style: PromptStyle
    harmless: tuple[Shift, ...]
    released: tuple[Planted, datetime] | None
    rows: dict[str, list[Row]] = field(repr=False)
    scores: list[Row] = field(repr=False)
    deployment: str = DEPLOYMENT

    def write(self, lake: Lake) -> None:
        """Append all rows, those of each deployment to its own tables."""
        for deployment, rows in self.rows.items():
            lake.table(PARSED_LOGS, deployment).append(PARSED_LOGS.rows(rows))
        lake.table(SCORES, self.deployment).append(SCORES.rows(self.scores))


def generate(seed: int, planted: Planted | None, days: int = 21, per_day: float = 300) -> Incident:
    """Give the incident of a seed: the same for the same arguments.

    `days` is how long the traffic is before the onset, about; `per_day` how many questions a working day has, about.
    Something harmless begins within two hours of the onset, whatever is planted.
    """
    number = 0 if planted is None else 1 + list(Planted).index(planted)
    random = np.random.default_rng([seed, number])
    onset = BEGIN + timedelta(days=days - 1 + float(random.uniform(0, 3)))
    end = onset + timedelta(days=_MOST_DAYS_UNTIL_FOUND)
    shifts = [*_shifts(random, end), *_shifts_at(random, onset)]
    released = _release(random, onset, planted)
    traffic = _Traffic(random, shifts, _versions(random, onset, planted, released), end)
    if planted is Planted.LANGUAGE:
        traffic.people.plant_language(onset)
    if planted is Planted.CLIENT:
        traffic.people.plant_client(onset)
    answers = sorted(traffic.answers(per_day, end), key=lambda answer: answer[0]["requested_at"])
    after = [answer[0]["requested_at"] for answer in answers if answer[0]["requested_at"] >= onset]
    found_at = after[min(len(after) - 1, int(random.integers(60, 250)))] + timedelta(minutes=1)
    wrong, early, late = random.uniform([-2, 1, 1], [2, 8, 8])
    since = min(onset + timedelta(hours=float(wrong)), found_at)
    rows: dict[str, list[Row]] = defaultdict(list)
    scores = []
    for answer in answers:
        if answer[0]["requested_at"] >= found_at:
            break
        for row in answer:
            rows[row["deployment"]].append(row)
        if answer[0]["status"] == 200:
            language = traffic.language_of[answer[0]["event_id"]]
            scores.append(_score(random, answer[0], language, answer[0]["requested_at"] >= onset))
    return Incident(
        planted=planted,
        onset=onset,
        since=since,
        since_earliest=min(since, onset) - timedelta(hours=float(early)),
        since_latest=min(max(since, onset) + timedelta(hours=float(late)), found_at),
        found_at=found_at,
        style=traffic.versions[0][1].style,
        harmless=tuple(shift for shift in shifts if abs(shift.begin - onset) < timedelta(hours=12)),
        released=released,
        rows=dict(rows),
        scores=scores,
    )


class _Traffic:
    """Chats of people, answered by the version of the application that there was at the time."""

    def __init__(
        self,
        random: np.random.Generator,
        shifts: Sequence[Shift],
        versions: Sequence[tuple[datetime, Application]],
        end: datetime,
    ) -> None:
        self._random, self._shifts, self.versions = random, shifts, versions
        self.library = Library(random, BEGIN, end)
        for shift in shifts:
            if shift.kind is Harmless.NEW_DOCUMENT:
                self.library.add(shift.which, shift.begin, shift.end, shift.begin)
        self.language_of: dict[str, str] = {}
        self.people = People(random, self._factor)
        self._hour, self._load = BEGIN, 0.0

    def answers(self, per_day: float, end: datetime) -> Iterator[list[Row]]:
        """Give the rows of each answer, those of a chat together."""
        calls = Calls(self._random)
        for chat in self.people.chats(BEGIN, end, per_day):
            history: tuple[str, ...] = ()
            chat_id = self._random.bytes(12).hex()
            for at in chat.turns:
                asked = self._question(chat, chat_id, at, history)
                rows = calls.rows(asked, self._version(at), self._slowness(at))
                self.language_of[rows[0]["event_id"]] = chat.user.language
                history = (*history, asked.text, (rows[0].get("answer") or "")[:200])
                yield rows

    def _question(self, chat: Chat, chat_id: str, at: datetime, history: tuple[str, ...]) -> Question:
        version = self._version(at)
        length = chat.user.length * self._factor(Harmless.LONGER_QUESTIONS, at, 0)
        text = question(self._random, chat.topic, chat.user.language, length)
        contexts = None
        if self._random.random() >= version.unretrieved:
            before = self.versions[-1][0] - _AGE_OF_NEW_DOCUMENTS if version.without_new_documents else None
            size = version.context_length
            contexts = self.library.retrieve(chat.topic, at, version.chunks, size, before)
        return Question(chat.user, chat_id, at, text, history, contexts)

    def _version(self, at: datetime) -> Application:
        return next(version for begin, version in reversed(self.versions) if begin <= at)

    def _slowness(self, at: datetime) -> float:
        while self._hour + timedelta(hours=1) <= at:
            self._hour += timedelta(hours=1)
            self._load = 0.85 * self._load + float(self._random.normal(0, 0.08))
        by_day = 1.15 if 8 <= at.hour < 17 else 1.0
        shifted = self._factor(Harmless.SLOWER, at, 0) * self._factor(Harmless.FASTER, at, 0)
        return float(np.exp(self._load) * by_day * shifted)

    def _factor(self, kind: Harmless, at: datetime, which: int) -> float:
        return math.prod(shift.factor(kind, at, which) for shift in self._shifts)


def _shifts(random: np.random.Generator, end: datetime) -> Iterator[Shift]:
    """Give harmless changes at any time, one in a day and a half."""
    at = BEGIN
    while at < end:
        at += timedelta(days=float(random.exponential(1.5)))
        yield _shift(random, at)


def _shifts_at(random: np.random.Generator, onset: datetime) -> Iterator[Shift]:
    for _ in range(int(random.integers(1, 3))):
        yield _shift(random, onset + timedelta(hours=float(random.uniform(-2, 2))))


def _shift(random: np.random.Generator, at: datetime) -> Shift:
    kind = Harmless(random.choice(list(Harmless)))
    several = {
        Harmless.MORE_OF_A_CLIENT: len(CLIENTS),
        Harmless.MORE_OF_A_LANGUAGE: len(LANGUAGES),
        Harmless.MORE_OF_A_TOPIC: len(TOPICS),
        Harmless.NEW_DOCUMENT: len(TOPICS),
    }
    low, high = {Harmless.SLOWER: (1.05, 1.15), Harmless.FASTER: (0.87, 0.95)}.get(kind, (1.2, 1.6))
    which = int(random.integers(several.get(kind, 1)))
    return Shift(kind, at, at + timedelta(days=float(random.uniform(1, 5))), which, float(random.uniform(low, high)))


def _release(random: np.random.Generator, onset: datetime, planted: Planted | None) -> tuple[Planted, datetime] | None:
    """Give in half of all incidents a change of another kind, five to twelve days before."""
    if random.random() < 0.5:
        return None
    kinds = [kind for kind in RELEASES if kind is not planted]
    return Planted(random.choice(kinds)), onset - timedelta(days=float(random.uniform(5, 12)))


def _versions(
    random: np.random.Generator, onset: datetime, planted: Planted | None, released: tuple[Planted, datetime] | None
) -> list[tuple[datetime, Application]]:
    versions = [(BEGIN - timedelta(days=1), application(random))]
    if released is not None:
        versions.append((released[1], changed(versions[-1][1], released[0], random)))
    if planted is not None:
        versions.append((onset, changed(versions[-1][1], planted, random)))
    return versions


def _score(random: np.random.Generator, entry: Row, language: str, fallen: bool) -> Row:
    length = len(entry["question"])
    segment = {
        "language": language,
        "model": None,
        "contexts": bool(entry["contexts"]),
        "question_length": "short" if length <= _SHORT else "medium" if length <= _MEDIUM else "long",
    }
    mean = 0.85 - (_DROP if fallen else 0.0)
    return {
        "score_id": random.bytes(16).hex(),
        "response_id": entry["response_id"],
        "event_id": entry["event_id"],
        "deployment": entry["deployment"],
        "date": entry["date"],
        "requested_at": entry["requested_at"],
        "chat_id": entry["chat_id"],
        "segment": json.dumps(segment, separators=(",", ":")),
        "metric": METRIC,
        "metric_version": METRIC_VERSION,
        "value": float(random.beta(8 * mean, 8 * (1 - mean))),
        "judge": "lexical",
        "sampling_probability": 1.0,
        "scored_at": entry["ingested_at"] + timedelta(minutes=1),
    }
