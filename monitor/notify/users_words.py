"""Texts for messages of receivers that may have some: comments, words of the worst answers, a tool's error."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import msgspec

from lake.queries.comments import newest_comments
from lake.queries.tool_errors import last_tool_error
from lake.queries.worst_answers.answer_words import words_of
from lake.queries.worst_answers.compared_answers import ScoredFall, read_compared
from lake.spec.alert_vocabulary import AlertEvent
from lake.spec.schemas import deployment_of
from lake.spec.service_vocabulary import AuditAction
from lake.spec.vocabulary import DISLIKES
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake
from monitor.access.audit import AuditLog
from monitor.alerting.alerts.change import AlertChange
from monitor.notify.texts.plain import cut, one_line

_MOST_COMMENTS = 3
_CHARACTERS = 200
"""Of a comment, and of the error of a tool."""
_SECONDS = 10.0
"""A message waits so long for its texts, and is sent without them then."""
_MOST_KEPT = 100
"""Messages of a receiver whose texts are kept until they are sent."""
_KEPT_FOR = timedelta(minutes=10)
"""Retries go on for days: texts that were erased since are not to be sent by them."""
_DAYS, _BEFORE_LIMIT = timedelta(days=7), timedelta(hours=1)
logger = logging.getLogger(__name__)


class ToolErrorText(msgspec.Struct, frozen=True, rename="camel"):
    """The last error of the tool that an alert names."""

    tool: str
    text: str


class UsersWords(msgspec.Struct, frozen=True, rename="camel"):
    """Texts of users: the newest comments of dislikes, and words that the worst answers have more often than good ones.

    `questions` are words of what was asked, `documents` words of the names of what was retrieved. Beside them, where a
    tool fails, what it gave last.
    """

    comments: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    last_tool_error: ToolErrorText | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The texts with what they are, a line each."""
        failed = self.last_tool_error
        said = [f"Last error of {failed.tool}: {failed.text}"] if failed else []
        said += [f"Users wrote: {'; '.join(f'“{one}”' for one in self.comments)}"] if self.comments else []
        for what, words in (("questions", self.questions), ("documents", self.documents)):
            if words:
                said.append(f"Words in {what} of the worst answers that good ones have less: {', '.join(words)}")
        return tuple(map(one_line, said))


class UsersWordsReader:
    """Reads what users wrote since something got worse, and notes in the audit log who was sent it."""

    def __init__(self, lake: Lake, audit: AuditLog, seconds: float = _SECONDS) -> None:
        """`seconds` are how long a message waits for its texts."""
        self.seconds = seconds
        self._lake = lake
        self._audit = audit

    def read(self, firing: Sequence[AlertChange], receiver: str, now: datetime) -> UsersWords | None:
        """Return what there is to say of alerts of a deployment that fire; None where there is nothing.

        Never raises: a message without it is better than none.
        """
        try:
            found = self._read(firing, now)
        except Exception as error:
            log_failure(logger, error, "What users wrote is missing in a message to %s", receiver)
            return None
        return None if found == UsersWords() else found

    def note(self, firing: Sequence[AlertChange], receiver: str, words: UsersWords) -> None:
        """Note that the receiver was sent the words."""
        name = firing[0].key.deployment
        detail = f"message of incident {firing[0].incident_id}: comments: {len(words.comments)}"
        detail += f", words: {len(words.questions) + len(words.documents)}"
        detail += ", the last error of a tool" if words.last_tool_error else ""
        self._audit.note(f"receiver {receiver}", AuditAction.READ_TEXTS, name, detail=detail)

    def _read(self, firing: Sequence[AlertChange], now: datetime) -> UsersWords:
        name = deployment_of(firing[0].key.deployment)
        began = min(map(_began, firing))
        comments = newest_comments(self._lake, name, max(began, now - _DAYS), now, _MOST_COMMENTS)
        fall = next((fall for one in firing if (fall := _fall_of(one)) is not None), None)
        words = words_of(read_compared(self._lake, fall, now)) if fall else None
        return UsersWords(
            tuple(_short(one.text) for one in comments),
            tuple(one.word for one in words.questions) if words else (),
            tuple(one.word for one in words.documents) if words else (),
            self._tool_error(firing, now),
        )

    def _tool_error(self, firing: Sequence[AlertChange], now: datetime) -> ToolErrorText | None:
        for change in firing:
            exceeded = change.details.exceeded
            if exceeded is None or exceeded.tool is None:
                continue
            table, since = deployment_of(change.key.deployment), max(_began(change), now - _DAYS)
            error = last_tool_error(self._lake, table, exceeded.tool.name, since, now)
            if error is not None and error.text and (text := _short(error.text)):
                return ToolErrorText(exceeded.tool.name, text)
        return None


def _began(change: AlertChange) -> datetime:
    return change.fired_at - _BEFORE_LIMIT if change.is_limit else change.since or change.fired_at


class MessageWords:
    """What users wrote, for the messages of one receiver; a retry minutes later reads them anew."""

    def __init__(self, reader: UsersWordsReader, receiver: str) -> None:
        """To be used by one thread at a time."""
        self._reader = reader
        self._receiver = receiver
        self._found: dict[str, tuple[datetime, UsersWords | None]] = {}
        self._reading: threading.Thread | None = None

    def of(self, message_id: str, changes: Sequence[AlertChange], now: datetime) -> UsersWords | None:
        """Return what a message says; None where it takes too long, and where all alerts are over."""
        firing = _firing(changes)
        if not firing:
            return None
        found = self._found.get(message_id)
        if found is None or not timedelta(0) <= now - found[0] < _KEPT_FOR:
            self.forget(message_id)
            if len(self._found) >= _MOST_KEPT:
                del self._found[next(iter(self._found))]
            found = self._found[message_id] = now, self._read_in_time(firing, now)
        return found[1]

    def sent(self, message_id: str, changes: Sequence[AlertChange]) -> None:
        """Note who was sent the texts of a message, if it had some."""
        found, firing = self._found.get(message_id), _firing(changes)
        if found is not None and found[1] is not None and firing:
            self._reader.note(firing, self._receiver, found[1])

    def forget(self, message_id: str) -> None:
        """Forget the texts of a message that is settled."""
        self._found.pop(message_id, None)

    def _read_in_time(self, firing: Sequence[AlertChange], now: datetime) -> UsersWords | None:
        found: list[UsersWords | None] = []
        # Where the store hangs, one thread waits for it, and no message more.
        if self._reading is None or not self._reading.is_alive():
            read = partial(self._reader.read, firing, self._receiver, now)
            self._reading = threading.Thread(target=lambda: found.append(read()), name="users' words", daemon=True)
            self._reading.start()
            self._reading.join(self._reader.seconds)
        if not found:
            text = "What users wrote is missing in a message to %s: reading it takes longer than %g s"
            logger.warning(text, self._receiver, self._reader.seconds)
        return found[0] if found else None


def _firing(changes: Sequence[AlertChange]) -> list[AlertChange]:
    return [one for one in changes if one.change == AlertEvent.FIRING]


def _fall_of(change: AlertChange) -> ScoredFall | None:
    """Return the fall that an alert tells of; None of a limit, of people's ratings, and where it is not known."""
    key, details, onset = change.key, change.details, change.since
    if change.is_limit or key.metric == DISLIKES or onset is None or change.reference_mean is None:
        return None
    return ScoredFall(
        name=deployment_of(key.deployment),
        older=deployment_of(details.older_version or key.deployment),
        metric=key.metric,
        version=key.metric_version,
        earliest=details.since_earliest or onset,
        onset=onset,
        reference=change.reference_mean,
        lower_is_better=bool(details.lower_is_better),
    )


def _short(text: str) -> str:
    return cut(" ".join(text.split()), _CHARACTERS)
