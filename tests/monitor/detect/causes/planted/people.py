"""Clients and their users, and when they chat: by day and night, at weekends less, in bursts, and by habit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from tests.monitor.detect.causes.planted.kinds import Harmless
from tests.monitor.detect.causes.planted.library import LANGUAGES, NEW_LANGUAGES, TOPICS

CLIENTS = ("hr-portal", "intranet", "mobile", "partners")
NEW_CLIENT = "call-centre"
_USERS_OF_A_CLIENT = 40
_SHARE_OF_NEWCOMERS = 0.3
_BY_HOUR = np.array([2, 1, 1, 1, 1, 2, 5, 12, 30, 45, 50, 46, 34, 42, 48, 46, 40, 28, 16, 12, 10, 8, 5, 3], float)


@dataclass(frozen=True)
class User:
    """A person with a language, favourite topics, and a way to write."""

    user_id: str
    client: int
    project: str
    language: str
    weight: float
    topics: tuple[float, ...]
    length: float
    temperature: float | None


@dataclass(frozen=True)
class Chat:
    """A chat of a user: its topic and the times of its questions."""

    user: User
    topic: int
    turns: tuple[datetime, ...]


@dataclass(frozen=True)
class Shift:
    """A harmless change while it lasts; `which` numbers a client, a language or a topic."""

    kind: Harmless
    begin: datetime
    end: datetime
    which: int
    size: float

    def factor(self, kind: Harmless, at: datetime, which: int = 0) -> float:
        return self.size if kind is self.kind and self.which == which and self.begin <= at < self.end else 1.0


Factor = Callable[[Harmless, datetime, int], float]


class People:
    """All users of an application. From `newcomers_at` a language or a client that was not there has its share."""

    def __init__(self, random: np.random.Generator, factor: Factor) -> None:
        self._random, self._factor = random, factor
        self._users = [
            self._user(client, project) for client, project in enumerate(CLIENTS) for _ in range(_USERS_OF_A_CLIENT)
        ]
        self._new_language: dict[str, User] = {}
        self._new_users: list[User] = []
        self._newcomers_at = datetime.max.replace(tzinfo=UTC)
        self._clients = random.normal(0, 0.15, len(CLIENTS))
        self._topics = random.normal(0, 0.3, len(TOPICS))

    def plant_language(self, at: datetime) -> None:
        """Some users write in a language that nobody has used, from then on."""
        self._newcomers_at = at
        language = str(self._random.choice(NEW_LANGUAGES))
        switched = [user for user in self._users if self._random.random() < _SHARE_OF_NEWCOMERS]
        self._new_language = {user.user_id: replace(user, language=language) for user in switched}

    def plant_client(self, at: datetime) -> None:
        """A client comes that was not there, with users of its own, and has its share of the chats from then on."""
        self._newcomers_at = at
        self._new_users = [self._user(0, NEW_CLIENT) for _ in range(_USERS_OF_A_CLIENT)]

    def chats(self, begin: datetime, end: datetime, per_day: float) -> Iterator[Chat]:
        """Give chats by the hour in which they begin; a working day has `per_day` questions, about."""
        random, hour, mood, day = self._random, begin, 0.0, begin.date()
        while hour < end:
            if hour.date() != day:
                day = hour.date()
                mood = 0.6 * mood + float(random.normal(0, 0.12))
                self._clients = 0.8 * self._clients + random.normal(0, 0.15, len(CLIENTS))
                self._topics = 0.95 * self._topics + random.normal(0, 0.12, len(TOPICS))
            weekend = 0.25 if hour.weekday() >= 5 else 1.0
            burst = 3.0 if random.random() < 0.01 else 1.0
            rate = per_day / 2.2 * _BY_HOUR[hour.hour] / _BY_HOUR.sum() * weekend * burst * np.exp(mood)
            for share in np.sort(random.random(random.poisson(rate))):
                yield self._chat(hour + timedelta(hours=float(share)))
            hour += timedelta(hours=1)

    def _chat(self, at: datetime) -> Chat:
        random = self._random
        pool, weights = self._users, self._weights(at)
        if self._new_users and at >= self._newcomers_at and random.random() < _SHARE_OF_NEWCOMERS:
            pool, weights = self._new_users, np.array([user.weight for user in self._new_users])
        user = pool[random.choice(len(pool), p=weights / weights.sum())]
        if at >= self._newcomers_at:
            user = self._new_language.get(user.user_id, user)
        liked = np.array(user.topics) * np.exp(self._topics)
        liked *= [self._factor(Harmless.MORE_OF_A_TOPIC, at, topic) for topic in range(len(TOPICS))]
        gaps = random.lognormal(np.log(90), 0.9, random.geometric(1 / 2.2) - 1)
        times = np.concatenate([[0.0], np.cumsum(gaps)])
        topic = int(random.choice(len(TOPICS), p=liked / liked.sum()))
        return Chat(user, topic, tuple(at + timedelta(seconds=float(one)) for one in times))

    def _weights(self, at: datetime) -> np.ndarray:
        of_client = [
            np.exp(wander) * self._factor(Harmless.MORE_OF_A_CLIENT, at, client)
            for client, wander in enumerate(self._clients)
        ]
        of_language = {
            name: self._factor(Harmless.MORE_OF_A_LANGUAGE, at, number) for number, name in enumerate(LANGUAGES)
        }
        return np.array([user.weight * of_client[user.client] * of_language[user.language] for user in self._users])

    def _user(self, client: int, project: str) -> User:
        random = self._random
        german = 0.15 + 0.15 * (client % 3)
        return User(
            user_id=random.bytes(32).hex(),
            client=client,
            project=project,
            language=str(random.choice(LANGUAGES, p=[0.9 - german, german, 0.1])),
            weight=float(random.lognormal(0, 1)),
            topics=tuple(random.dirichlet(np.full(len(TOPICS), 0.5))),
            length=float(random.lognormal(0, 0.3)),
            temperature=float(random.choice([0.5, 1.0])) if random.random() < 0.3 else None,
        )
