"""Share of answers on which people, or programs, send a signal of a word, such as `ticket_reopened`.

A signal that is sent only where something went wrong says nothing by its value: it is how often it comes that changes.
So each answer is a row of `scores` once it is old enough: 1 where the signal came in that time, else 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import DeploymentTables
from evaluator.own_metrics import SignalShareSettings
from evaluator.service.outside_scores import IS_OF_SIGNAL, outside_row
from lake.queries.answer_rows import ENTRY_COLUMNS, IS_ANSWER
from lake.queries.latest_rows import each_once
from lake.queries.signals_by_answer import JOIN_COLUMNS, SIGNAL_JOIN_COLUMNS, read_signaled, signals_by_answer
from lake.spec.schemas import SCORES
from lake.spec.table_spec import TIMESTAMP
from lake.spec.vocabulary import JudgeKind
from lake.tables.pass_transaction import PassTransaction, UncommittedPositions

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HISTORY = timedelta(days=28)
"""So much of what was logged before is counted at the first pass: enough to learn from."""
_ANSWER_COLUMNS = (*dict.fromkeys((*JOIN_COLUMNS, *ENTRY_COLUMNS, "status")), "ingested_at")


class SignalShares:
    """Counts the signals on answers, hour by hour of when these were asked for; once each.

    An answer whose line comes later than `within` after it is not counted.
    """

    def __init__(self, words: Mapping[str, SignalShareSettings]) -> None:
        self._words = words
        self._uncommitted = {word: UncommittedPositions() for word in words}

    def take(self, tables: DeploymentTables, now: datetime) -> int:
        """Append the rows of a deployment, and return how many; raises LostRaceError where another has just done so."""
        if tables.logs.version() is None:
            return 0
        return sum(self._take_word(tables, word, settings, now) for word, settings in self._words.items())

    def _take_word(self, tables: DeploymentTables, word: str, settings: SignalShareSettings, now: datetime) -> int:
        position = f"signal_share:{word}"
        transaction = PassTransaction(tables.scores, (position,), uncommitted=self._uncommitted[word])
        within = timedelta(seconds=settings.within)
        due = _hours(now - within)
        done = transaction.positions.get(position, _hours(now - within - _HISTORY))
        count = 0
        while done < due:
            # Whole days: a day's files are read once.
            until = min(due, done - done % 24 + 24)
            rows = _rows_of(tables, word, settings, _EPOCH + done * _HOUR, _EPOCH + until * _HOUR)
            if rows:
                transaction.append(SCORES.rows(rows), {position: until})
                count += len(rows)
            else:
                transaction.remember({position: until})
            done = until
        return count


def _hours(at: datetime) -> int:
    return (at - _EPOCH) // _HOUR


def _rows_of(
    tables: DeploymentTables, word: str, settings: SignalShareSettings, since: datetime, until: datetime
) -> list[dict[str, Any]]:
    """Return a score of each answer that was asked for from `since` on and before `until`."""
    asked = (ds.field("requested_at") >= pa.scalar(since, TIMESTAMP)) & (
        ds.field("requested_at") < pa.scalar(until, TIMESTAMP)
    )
    days = _between(since, until)
    answers = each_once(tables.logs.read(_ANSWER_COLUMNS, days & asked & IS_ANSWER)).select(JOIN_COLUMNS)
    if not answers.num_rows:
        return []
    within = timedelta(seconds=settings.within)
    about = _signals(tables, word, since, until + within)
    known = read_signaled(tables.logs, about) if about.num_rows else None
    said = signals_by_answer(answers, about, known)
    return [
        outside_row(tables.deployment, answer, word, answer["event_id"], "share")
        | {
            "value": float(_has_come(said.get(number, ()), answer["requested_at"] + within)),
            "low": 0.0,
            "high": 1.0,
            "direction": settings.direction,
            "judge": JudgeKind.RATINGS,
            "scored_at": answer["requested_at"] + within,
        }
        for number, answer in enumerate(answers.to_pylist())
    ]


def _signals(tables: DeploymentTables, word: str, since: datetime, until: datetime) -> pa.Table:
    if tables.signals.version() is None:
        return tables.signals.spec.schema.empty_table().select(SIGNAL_JOIN_COLUMNS)
    # From a day before on, as clocks and zones of time may differ.
    # A score or a label of the same name is no signal.
    is_word = (ds.field("signal") == word) & IS_OF_SIGNAL
    return tables.signals.read(SIGNAL_JOIN_COLUMNS, _between(since - _DAY, until) & is_word)


def _between(since: datetime, until: datetime) -> ds.Expression:
    return (ds.field("date") >= pa.scalar(since.date())) & (ds.field("date") <= pa.scalar(until.date()))


def _has_come(signals: Any, until: datetime) -> bool:
    return any(one["signaled_at"] is not None and one["signaled_at"] < until for one in signals)
