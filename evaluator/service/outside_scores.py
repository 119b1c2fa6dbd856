"""Pass over what other programs sent of answers: their scores, and signals in words of theirs, become rows of `scores`.

What is said and what it is about may come in any order. What is joined with no answer becomes no row.
"""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers import DeploymentTables
from evaluator.ground_truth.ratings import IDENTITY_COLUMNS, opinions_on
from lake.queries.answer_rows import IS_RATABLE
from lake.queries.comments import members_of
from lake.queries.signals_by_answer import SIGNAL_JOIN_COLUMNS, SignalJoin, read_signaled
from lake.spec.schemas import SCORES
from lake.spec.vocabulary import (
    OUTSIDE_SCORE,
    OUTSIDE_VERSION,
    Direction,
    JudgeKind,
    Signal,
    SignalOrigin,
)
from lake.tables.pass_transaction import PassTransaction, UncommittedPositions
from lake.tables.positions import read_new
from lake.tables.table import Table
from runtime.clocks import moved

logger = logging.getLogger(__name__)

FROM_LOGS = "outside:parsed_logs"
FROM_SIGNALS = "outside:user_signals"

_HELD_FOR = timedelta(days=7)
"""So far from a score and its answer its row is looked for: all days would be read at each pass else."""
_COLUMNS = ("signal_id", "signal", "value", *SIGNAL_JOIN_COLUMNS)
_IS_SCORE = ds.field("origin").isin([SignalOrigin.SCORE])
IS_OF_SIGNAL = ds.field("origin").isin([SignalOrigin.EXPLICIT, SignalOrigin.IMPLICIT])
_IS_OWN_WORD = IS_OF_SIGNAL & ds.field("value").is_valid() & ~ds.field("signal").isin(list(Signal))
_IS_TAKEN = ds.field("signal").is_valid() & (_IS_SCORE | _IS_OWN_WORD)


class OutsideScores:
    """Takes what other programs sent, once each; of a name that is a metric's here nothing, which the log says once.

    New signals are tried on all answers, and new answers on all signals, so it does not matter which came first.
    """

    def __init__(self, is_metric: Callable[[str], bool]) -> None:
        self._is_metric = is_metric
        self._uncommitted = UncommittedPositions()
        self._warned: set[str] = set()

    def take(self, tables: DeploymentTables, now: datetime) -> int:
        """Append the rows of a deployment, and return how many; raises LostRaceError where another has just done so."""
        if tables.signals.version() is None or (newest := tables.logs.version()) is None:
            return 0
        transaction = PassTransaction(tables.scores, (FROM_LOGS, FROM_SIGNALS), uncommitted=self._uncommitted)
        seen = transaction.positions
        # The first pass tries all signals on the whole log: what came before is no news.
        logs = read_new(tables.logs, seen.get(FROM_LOGS, newest), IDENTITY_COLUMNS)
        signals = read_new(tables.signals, seen.get(FROM_SIGNALS), _COLUMNS)
        read = {FROM_LOGS: logs.version, FROM_SIGNALS: signals.version}
        reached = {name: position for name, position in read.items() if position is not None}
        about_new = opinions_on(logs.rows.filter(IS_RATABLE), tables.signals, _IS_TAKEN, _COLUMNS)
        rows = self._new_rows(tables, [signals.rows.filter(_IS_TAKEN), about_new], now)
        if rows or transaction.is_far(reached, reached):
            transaction.append(SCORES.rows(rows), reached)
        else:
            transaction.remember(reached)
        return len(rows)

    def _new_rows(self, tables: DeploymentTables, said: Iterable[pa.Table], now: datetime) -> list[dict[str, Any]]:
        sent = {row["signal_id"]: row for some in said for row in some.to_pylist()}
        named = self._of_no_metric(sent.values())
        if not named:
            return []
        signals = pa.Table.from_pylist(named, tables.signals.spec.schema).select(_COLUMNS)
        known = read_signaled(tables.logs, signals)
        join = SignalJoin(known, named)
        answers = {answer["event_id"]: answer for answer in known.to_pylist()}
        joined = ((signal, answers.get(join.answer_of(signal) or "")) for signal in named)
        rows = [_row(tables.deployment, signal, answer, now) for signal, answer in joined if answer is not None]
        found = {row["score_id"]: row for row in rows if row is not None}
        for score_id in _held(tables.scores, found.values()):
            found.pop(score_id, None)
        return list(found.values())

    def _of_no_metric(self, signals: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        found = list(signals)
        taken = {name for name in {row["signal"] for row in found} if self._is_metric(name)}
        for name in sorted(taken - self._warned):
            logger.warning(
                "signals or scores of other programs are called %r, as a metric is here: they are kept in user_signals "
                "and not watched; give one of both another name",
                name,
            )
        self._warned |= taken
        return [row for row in found if row["signal"] not in taken]


def _held(scores: Table, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the ids that are there. A score may have been joined with another answer before, of other days."""
    days = [day for row in rows for day in (row["date"], row["scored_at"].astimezone(UTC).date())]
    if days and scores.version() is not None:
        first, last = moved(min(days), -_HELD_FOR), moved(max(days), _HELD_FOR)
        where = (ds.field("date") >= pa.scalar(first)) & (ds.field("date") <= pa.scalar(last))
        is_outside = ds.field("metric_version") == OUTSIDE_VERSION
        yield from pc.unique(scores.read(["score_id"], where & is_outside)["score_id"]).to_pylist()


def _row(deployment: str, signal: Mapping[str, Any], answer: Mapping[str, Any], now: datetime) -> dict[str, Any] | None:
    measured = _measured(signal)
    if measured is None or answer["requested_at"] is None:
        return None
    said = signal["signaled_at"] or now
    return (
        outside_row(deployment, answer, signal["signal"], signal["signal_id"])
        | measured
        | {"scored_at": min(said, now)}
    )


def outside_row(deployment: str, answer: Mapping[str, Any], metric: str, *identity: str) -> dict[str, Any]:
    """Return the columns of a score that other programs caused, but for its value, range, judge and time.

    `identity` is what tells it from the others of the metric.
    """
    score_id = hashlib.blake2b(orjson.dumps([metric, *identity]), digest_size=16).hexdigest()
    return {
        "score_id": score_id,
        "response_id": answer["response_id"],
        "event_id": answer["event_id"],
        "deployment": deployment,
        "date": answer["requested_at"].astimezone(UTC).date(),
        "requested_at": answer["requested_at"],
        "chat_id": answer["chat_id"],
        "metric": metric,
        "metric_version": OUTSIDE_VERSION,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": 0.0,
        "sampling_probability": 1.0,
        "is_backfill": False,
    }


def _measured(signal: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return value, range, direction and judge; None of a score that the redaction, or a hand, has made unreadable."""
    if signal["origin"] != SignalOrigin.SCORE:
        ends = {"low": -1.0, "high": 1.0, "direction": Direction.UP}
        return {"value": signal["value"], "judge": JudgeKind.RATINGS, **ends}
    sent = (members_of(signal["details"]) or {}).get(OUTSIDE_SCORE)
    if not isinstance(sent, dict) or sent.get("direction") not in set(Direction):
        return None
    numbers = {name: sent.get(name) for name in ("value", "low", "high")}
    if not all(isinstance(one, int | float) and math.isfinite(one) for one in numbers.values()):
        return None
    return {**numbers, "direction": sent["direction"], "judge": JudgeKind.OUTSIDE}
