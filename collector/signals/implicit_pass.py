"""The pass that reads signals from the traffic: what people did after an answer, as rows of `user_signals`."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.dataset as ds

from collector.signals.candidates import ChatRequest, SignalCandidate, candidates
from collector.signals.lexicon import Lexicon
from collector.signals.meaning import Meaning, RequestTexts, meaning
from collector.signals.settings import SignalSettings
from lake.delta_log.change import LostRaceError
from lake.queries.answer_rows import IS_PRODUCTION
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.spec.vocabulary import ANSWERING_KINDS, Signal, SignalOrigin, SourceKind
from lake.store.store_errors import log_failure
from lake.tables.lake import Lake
from lake.tables.open_tables import OpenTables
from lake.tables.pass_transaction import PassTransaction, UncommittedPositions
from lake.tables.positions import read_new
from lake.tables.table import Table
from runtime.clocks import moved

logger = logging.getLogger(__name__)

FROM_LOGS = "implicit:parsed_logs"
_WINDOW = timedelta(days=2)
"""A request is compared with those of its chat that came at most this long before."""
_IS_REQUEST = (
    ds.field("is_entry") & ds.field("kind").isin(ANSWERING_KINDS) & ds.field("chat_id").is_valid() & IS_PRODUCTION
)
_NEW_COLUMNS = ("event_id", "requested_at", "chat_id", "kind", "is_entry", "history_hash", "origin")
_REQUEST_COLUMNS = (
    "event_id", "response_id", "response_ids", "chat_id", "user_id", "project_id", "requested_at", "duration_ms",
    "status", "finish_reason", "message_count", "history_hash", "prefix_hash", "parent_history_hash",
)  # fmt: skip


@dataclass(frozen=True)
class ImplicitResult:
    """Number of signals that a pass added, by kind, and the deployments that failed; the next pass tries them again."""

    signals: Mapping[str, int]
    failed: tuple[str, ...] = ()


class ImplicitSignals:
    """Derives signals only from rows of the lake, so order of arrival and number of collectors do not matter."""

    def __init__(
        self, lake: Lake, settings: SignalSettings, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._lexicon = Lexicon.with_file(settings.lexicon)
        self._clock = clock
        self._uncommitted = UncommittedPositions()
        self._open = OpenTables(lake)
        self._tables: dict[str, tuple[Table, Table]] = {}

    def run_once(self, is_stopping: Callable[[], bool] = lambda: False) -> ImplicitResult:
        """Read the new rows of every deployment and append their signals, once, also if other processes do the same.

        A deployment that fails does not stop the others. Ends early once `is_stopping` says so; the next pass does
        the rest.
        """
        counts: Counter[str] = Counter()
        failed = []
        self._open.look()
        for deployment in filter(None, self._open.deployments()):
            if is_stopping():
                break
            try:
                counts += self._derive(deployment)
            except LostRaceError:
                logger.info("another collector derives the signals of %r", deployment)
            except Exception as error:  # one deployment's tables say nothing about the others'
                self._tables.pop(deployment, None)
                failed.append(deployment)
                log_failure(logger, error, "no signals were derived for %r; the next pass tries again", deployment)
        return ImplicitResult(dict(counts), tuple(failed))

    def _derive(self, deployment: str) -> Counter[str]:
        logs, signals = self._tables_of(deployment)
        transaction = PassTransaction(signals, [FROM_LOGS], counters=(), uncommitted=self._uncommitted)
        done = transaction.positions.get(FROM_LOGS)
        change = read_new(logs, done, _NEW_COLUMNS)
        if change.version is None or change.version == done:
            return Counter()
        rows = self._signals_of(deployment, logs, signals, change.rows.filter(_IS_REQUEST))
        reached = {FROM_LOGS: change.version}
        if rows or transaction.is_far(reached, [FROM_LOGS]):
            transaction.append(USER_SIGNALS.rows(rows), reached)
        else:
            transaction.remember(reached)
        return Counter(row["signal"] for row in rows)

    def _tables_of(self, deployment: str) -> tuple[Table, Table]:
        if deployment not in self._tables:
            open_, name = self._open.table, deployment
            self._tables[name] = open_(PARSED_LOGS, name), open_(USER_SIGNALS, name)
        return self._tables[deployment]

    def _signals_of(self, deployment: str, logs: Table, signals: Table, new: pa.Table) -> list[dict[str, Any]]:
        """Return the signals that the new rows, as an earlier or a later request, are part of; a day at a time."""
        by_day: dict[date, list[dict[str, Any]]] = defaultdict(list)
        for row in new.to_pylist():
            if row["history_hash"] is not None:
                by_day[row["requested_at"].date()].append(row)
        if not by_day:
            return []
        recent = (ds.field("origin") == SignalOrigin.IMPLICIT) & (ds.field("date") >= pa.scalar(min(by_day)))
        known = set(signals.read(["signal_id"], recent)["signal_id"].to_pylist())
        found = []
        for _, some in sorted(by_day.items()):
            for candidate, sense in self._meanings(logs, some):
                signal_id = _signal_id(deployment, candidate)
                if signal_id not in known:
                    known.add(signal_id)
                    found.append(_row(deployment, signal_id, candidate, sense, self._clock()))
        return found

    def _meanings(self, logs: Table, new: Sequence[Mapping[str, Any]]) -> Iterator[tuple[SignalCandidate, Meaning]]:
        ids = {row["event_id"] for row in new}
        times = [row["requested_at"] for row in new]
        chats = self._chats(logs, {row["chat_id"] for row in new}, min(times), max(times))
        pairs = [
            pair
            for chat in chats
            for pair in candidates(chat, _WINDOW)
            if pair.earlier.event_id in ids or pair.later.event_id in ids
        ]
        asked = _texts(logs, [pair for pair in pairs if pair.signal != Signal.REGENERATE])
        for pair in pairs:
            sense = meaning(pair, asked, self._lexicon)
            if sense is not None:
                yield pair, sense

    def _chats(
        self, logs: Table, chat_ids: Iterable[str], since: datetime, until: datetime
    ) -> Iterator[list[ChatRequest]]:
        """Read all requests of these chats that may have to do with some between `since` and `until`."""
        days = _between(moved(since, -_WINDOW).date(), moved(until, _WINDOW).date())
        where = _IS_REQUEST & days & ds.field("chat_id").isin(sorted(chat_ids))
        found: dict[str, dict[str, ChatRequest]] = defaultdict(dict)
        for row in logs.read(_REQUEST_COLUMNS, where).to_pylist():
            found[row["chat_id"]][row["event_id"]] = _request(row)
        return (list(chat.values()) for chat in found.values() if len(chat) > 1)


def _texts(logs: Table, pairs: Sequence[SignalCandidate]) -> dict[str, RequestTexts]:
    requests = [request for pair in pairs for request in (pair.earlier, pair.later)]
    if not requests:
        return {}
    days = [request.requested_at.date() for request in requests]
    ids = ds.field("event_id").isin(sorted({request.event_id for request in requests}))
    rows = logs.read(["event_id", "question", "documents"], _between(min(days), max(days)) & ids).to_pylist()
    return {row["event_id"]: RequestTexts(row["question"], tuple(row["documents"] or ())) for row in rows}


def _between(first: date, last: date) -> ds.Expression:
    return (ds.field("date") >= pa.scalar(first)) & (ds.field("date") <= pa.scalar(last))


def _request(row: Mapping[str, Any]) -> ChatRequest:
    response_id = row["response_id"] or next(iter(row["response_ids"] or ()), row["event_id"])
    whole = row["status"] == 200 and row["finish_reason"] is not None
    return ChatRequest(
        event_id=row["event_id"],
        response_id=response_id if whole else None,
        chat_id=row["chat_id"],
        user_id=row["user_id"],
        project_id=row["project_id"],
        requested_at=row["requested_at"],
        ended_at=_ended_at(row["requested_at"], row["duration_ms"] or 0),
        message_count=row["message_count"],
        history_hash=row["history_hash"],
        prefix_hash=row["prefix_hash"],
        parent_history_hash=row["parent_history_hash"],
    )


def _ended_at(requested_at: datetime, duration_ms: int) -> datetime:
    """When an answer was there; the last time that there is for one that took longer than any can."""
    longest = timedelta.max // timedelta(milliseconds=1)
    return moved(requested_at, timedelta(milliseconds=min(max(duration_ms, 0), longest)))


def _signal_id(deployment: str, candidate: SignalCandidate) -> str:
    # An answer has one signal of a kind, whichever of several later requests was read first.
    text = orjson.dumps([candidate.signal, deployment, candidate.earlier.event_id])
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _row(deployment: str, signal_id: str, candidate: SignalCandidate, sense: Meaning, now: datetime) -> dict[str, Any]:
    earlier, later = candidate.earlier, candidate.later
    details = {"event_id": earlier.event_id, "later_event_id": later.event_id, **sense.seen}
    return {
        "signal_id": signal_id,
        "response_id": earlier.response_id,
        "deployment": deployment,
        "date": later.requested_at.date(),
        "signaled_at": later.requested_at,
        "signal": candidate.signal,
        "value": sense.value,
        "confidence": sense.confidence,
        "origin": SignalOrigin.IMPLICIT,
        "user_id": later.user_id or earlier.user_id,
        "chat_id": later.chat_id,
        "details": orjson.dumps(details).decode(),
        "source": {"kind": SourceKind.IMPLICIT, "name": PARSED_LOGS.name, "partition": deployment, "offset": 0},
        "ingested_at": now,
    }
