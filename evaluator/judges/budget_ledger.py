"""Ledger of the judges' budgets in the lake: evaluators of several machines reserve slices of them there."""

from __future__ import annotations

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.dataset as ds

from evaluator.judges.calls import BudgetSpentError
from lake.delta_log.change import LostRaceError, TableReplacedError
from lake.spec.root_tables import JUDGE_BUDGETS
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction

_RESERVATIONS = "reservations"
"""Counter of the table's log: each reservation moves it, so that of two made at once one is refused."""
_SLICES = 100
"""A slice is at least this part of the smaller budget: few writes, and little is lost with a process that is killed."""
_REFUSED_SECONDS = 10.0
_TRIES = 20
_COLUMNS = ["hour", "judge", "amount"]


class BudgetLedger:
    """Slices of judges' budgets that evaluators have reserved in `_judge_budgets`, all machines together.

    What a killed process had reserved stays reserved: money is never spent twice, some may not be spent at all. One
    that is pickled is opened anew from its lake. Threads may share it.
    """

    def __init__(
        self,
        lake: Lake,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lake = lake
        self._clock = clock
        self._monotonic = monotonic
        self._host = socket.gethostname()
        self._table = lake.table(JUDGE_BUDGETS)
        self._version: int | None = None
        self._sums: defaultdict[tuple[str, datetime], float] = defaultdict(float)
        self._refused: dict[tuple[str, datetime], tuple[float, float, BudgetSpentError]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (self._lake.root, self._lake.storage)

    def reserve(
        self,
        judge: str,
        at: datetime,
        amount: float,
        budgets: Mapping[str, float],
        unused: Mapping[datetime, float] | None = None,
    ) -> float:
        """Reserve at least `amount` for the hour of `at`, and return how much.

        `budgets` are those of the judge, by `hour` and `day`. `unused` is given back with it: what was reserved for
        earlier hours of the day, by hour. Raises BudgetSpentError where that much is not left, and what the store
        raises: then nothing may be spent.
        """
        returned = [self._row(judge, hour, -amount) for hour, amount in (unused or {}).items()]
        with self._lock:
            self._raise_if_refused(judge, at, amount)
            for _ in range(_TRIES):
                transaction = PassTransaction(self._table, counters=(_RESERVATIONS,))
                slice_ = self._slice(judge, at, amount, budgets, sum((unused or {}).values()))
                try:
                    transaction.append(JUDGE_BUDGETS.rows([self._row(judge, at, slice_), *returned]))
                except LostRaceError:
                    continue
                self._refused.pop((judge, _hour(at)), None)
                return slice_
            raise LostRaceError(f"others reserve the budget of judge {judge!r} all the time: nothing is reserved")

    def give_back(self, judge: str, unused: Mapping[datetime, float]) -> None:
        """Give back what was reserved and not spent, by hour. Raises what the store raises."""
        with self._lock:
            self._table.append(JUDGE_BUDGETS.rows([self._row(judge, hour, -left) for hour, left in unused.items()]))

    def reserved(self, judge: str, at: datetime) -> tuple[float, float]:
        """Return what all evaluators have reserved in the hour and the day of `at`. Raises what the store raises."""
        with self._lock:
            self._read(at)
            return self._reserved(judge, at)

    def _slice(self, judge: str, at: datetime, amount: float, budgets: Mapping[str, float], unused: float) -> float:
        self._read(at)
        hour, day = self._reserved(judge, at)
        reserved = {"hour": hour, "day": day - unused}
        left = {period: budget - reserved[period] for period, budget in budgets.items()}
        period = min(left, key=lambda one: left[one])
        if amount > left[period]:
            error = BudgetSpentError(period, budgets[period], reserved[period], amount)
            self._refused[judge, _hour(at)] = self._monotonic(), amount, error
            raise error
        return min(max(amount, min(budgets.values()) / _SLICES), left[period])

    def _raise_if_refused(self, judge: str, at: datetime, amount: float) -> None:
        """Spare the store the question of each call, once there is nothing left."""
        if (judge, _hour(at)) in self._refused:
            refused_at, refused, error = self._refused[judge, _hour(at)]
            if amount >= refused and self._monotonic() - refused_at < _REFUSED_SECONDS:
                raise error

    def _read(self, at: datetime) -> None:
        """Take in what others have reserved since the last time."""
        since = ds.field("date") >= (at - timedelta(days=1)).date()
        try:
            change = self._table.read_since(self._version, _COLUMNS, where=since)
        except TableReplacedError:
            self._forget()
            change = self._table.read_since(None, _COLUMNS, where=since)
        if change.repeats:
            self._forget()
            change = self._table.read_since(None, _COLUMNS, where=since)
        for hour, judge, amount in zip(*(change.rows[name].to_pylist() for name in _COLUMNS), strict=True):
            self._sums[judge, hour] += amount
        self._version = change.version
        self._refused = {one: known for one, known in self._refused.items() if one[1] >= _hour(at)}

    def _forget(self) -> None:
        self._table, self._version = self._lake.table(JUDGE_BUDGETS), None
        self._sums.clear()

    def _reserved(self, judge: str, at: datetime) -> tuple[float, float]:
        hour = _hour(at)
        day = sum(amount for (name, of), amount in self._sums.items() if name == judge and of.date() == hour.date())
        return self._sums.get((judge, hour), 0.0), day

    def _row(self, judge: str, at: datetime, amount: float) -> dict[str, Any]:
        hour = _hour(at)
        row = {"hour": hour, "judge": judge, "amount": amount, "reserved_at": self._clock(), "host": self._host}
        return row | {"date": hour.date()}


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _opened(root: str, storage: Any) -> BudgetLedger:
    return BudgetLedger(Lake(root, storage))
