"""Query of who asked a deployment within a period, in counts, and whom its bad answers go to; no user is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

import pyarrow as pa
import pyarrow.compute as pc

from lake.queries.answer_rows import ENTRY_COLUMNS, IS_ENTRY
from lake.queries.latest_rows import each_once
from lake.queries.worst_answers.compared_answers import ComparedAnswer, ComparedAnswers
from lake.queries.worst_answers.telling_words import telling_words
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, RequestPeriod, within
from lake.tables.lake import Lake

MOST_PROJECTS = 5
_READ = tuple(
    dict.fromkeys(("event_id", "requested_at", "ingested_at", "user_id", "chat_id", "project_id", *ENTRY_COLUMNS))
)


@dataclass(frozen=True)
class ProjectRequests:
    """Requests with the API keys of a project."""

    project: str
    requests: int


@dataclass(frozen=True)
class Affected:
    """People's own requests from `since` on, counted, also those that failed.

    `people` and `conversations` are those that the log tells apart: a request without a user or a chat counts in none.
    """

    since: datetime
    requests: int
    conversations: int
    people: int
    without_user: int
    """Requests whose line has no user."""
    projects: tuple[ProjectRequests, ...]
    """Those with the most requests, at most five."""


def affected(lake: Lake, deployment: str | None, since: datetime, until: datetime) -> Affected:
    """Count the entries of a deployment from `since` on and before `until`, a day at a time."""
    reader = DayReader(lake.table(PARSED_LOGS, deployment), since.astimezone(UTC).date(), until.astimezone(UTC).date())
    where = IS_ENTRY & within("requested_at", since, until)
    people: set[str] = set()
    conversations: set[str] = set()
    projects: Counter[str] = Counter()
    requests = without_user = 0
    for day in reader.days():
        rows = each_once(reader.read(_READ, where, [day], RequestPeriod(since, until)))
        requests += rows.num_rows
        without_user += rows["user_id"].null_count
        people.update(_known(rows["user_id"]))
        conversations.update(_known(rows["chat_id"]))
        for one in pc.value_counts(rows["project_id"].drop_null()).to_pylist():
            projects[one["values"]] += one["counts"]
    most = tuple(ProjectRequests(*one) for one in projects.most_common(MOST_PROJECTS))
    return Affected(since, requests, len(conversations), len(people), without_user, most)


def _known(column: pa.ChunkedArray) -> list[str]:
    return [str(value) for value in pc.unique(column.drop_null()).to_pylist()]


class GroupKind(StrEnum):
    """What a group of requests has in common."""

    PROJECT = "project"
    CLIENT = "client"
    LANGUAGE = "language"
    DOCUMENT = "document"


@dataclass(frozen=True)
class StandsOut:
    """A project, client, language or document that the worst answers have clearly more often than good ones.

    `worst` of the `of_worst` worst answers and `good` of the `of_good` good ones have it.
    """

    kind: GroupKind
    name: str
    worst: int
    of_worst: int
    good: int
    of_good: int

    def __str__(self) -> str:
        """Return the group with its numbers in words."""
        what = f"{self.kind} {self.name}" if self.name else f"one {self.kind}"
        return (
            f"{what} ({self.worst:,} of {self.of_worst:,} worst answers, {self.good:,} of {self.of_good:,} good ones)"
        )


def standing_out(answers: ComparedAnswers) -> tuple[StandsOut, ...]:
    """Return what stands out, of each kind one at most.

    The rule is that of words that tell texts apart: by chance something stands out in at most one of 20 incidents. A
    conversation counts once.
    """
    worst, good = (_once_a_conversation(some) for some in (answers.worst, answers.good))
    found = []
    for kind in GroupKind:
        bad, fine = ([_groups(one, kind) for one in some] for some in (worst, good))
        telling = (one for one in telling_words(bad, fine, len(worst), tests=len(GroupKind)) if one.word)
        if (one := next(telling, None)) is not None:
            found.append(StandsOut(kind, one.word, one.texts, len(worst), one.others, len(good)))
    return tuple(found)


def without_names(found: Iterable[StandsOut], *, with_texts: bool) -> tuple[StandsOut, ...]:
    """Return what stands out; for who may not read texts documents have an empty name."""
    return tuple(replace(one, name="") if one.kind is GroupKind.DOCUMENT and not with_texts else one for one in found)


def _once_a_conversation(answers: Iterable[ComparedAnswer]) -> list[ComparedAnswer]:
    return list({one.chat_id or number: one for number, one in reversed(list(enumerate(answers)))}.values())


def _groups(answer: ComparedAnswer, kind: GroupKind) -> tuple[str, ...]:
    """Return the groups of an answer; the empty one stands for none, so that one group alone stands beside it."""
    if kind is GroupKind.DOCUMENT:
        return answer.documents or ("",)
    names = {GroupKind.PROJECT: answer.project, GroupKind.CLIENT: answer.client, GroupKind.LANGUAGE: answer.language}
    return (names[kind] or "",)
