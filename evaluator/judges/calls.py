"""File of the calls of judges, which is the cache of their replies and the ledger of their costs."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_HOUR, _DAY = 3600, 86400
_WAIT_SECONDS = 30
_ROUNDING = 1e-9
"""Sums of money that are as near count as equal."""
_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, judge TEXT NOT NULL, key TEXT NOT NULL, began REAL NOT NULL, cost REAL NOT NULL, reply TEXT
);
CREATE INDEX IF NOT EXISTS replies ON calls (key) WHERE reply IS NOT NULL;
CREATE INDEX IF NOT EXISTS beginnings ON calls (began);
CREATE TABLE IF NOT EXISTS ledger (
    judge TEXT NOT NULL, hour INTEGER NOT NULL, cost REAL NOT NULL, PRIMARY KEY (judge, hour)
);
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS slices (
    judge TEXT NOT NULL, hour INTEGER NOT NULL, amount REAL NOT NULL, PRIMARY KEY (judge, hour)
);
"""


class BudgetSpentError(Exception):
    """The next call could cost more than is left of a judge's budget; `period` is hour or day.

    `for_good` says that it could cost more than the whole budget: no such call will ever be made.
    """

    def __init__(self, period: str, budget: float, spent: float, bound: float) -> None:
        self.for_good = bound > budget
        left = max(budget - spent, 0.0)
        super().__init__(
            f"one call may cost {bound:g}, and budget_per_{period} is {budget:g}: raise it, or lower max_tokens"
            if self.for_good
            else f"the {period}'s budget of {budget:g} has {left:g} left, the call may cost {bound:g}"
        )


class UnreservedError(Exception):
    """The next call could cost `amount` more than this machine has reserved of a judge's budget at the time `at`."""

    def __init__(self, at: float, amount: float) -> None:
        super().__init__(f"{amount:g} more must be reserved")
        self.at = at
        self.amount = amount


@dataclass(frozen=True)
class ForgottenReplies:
    """How many replies were forgotten, and whether their bytes, and those of earlier ones, are gone from the disk.

    They are not where somebody went on reading the file (SQLite keeps what a reader may see).
    """

    replies: int
    is_overwritten: bool


class Calls:
    """The calls of all judges, in one SQLite file that the processes of a machine may share.

    A call is a row before it is made, with the most that it can cost, and that much counts as spent. When its reply is
    there, the reply and the true cost take its place, in one transaction, before anybody sees the reply. So after
    SIGKILL each call that was answered is here with its reply, and each that was under way is here at its upper bound:
    what was paid is never more than what the ledger says. A power cut may undo the last transactions (SQLite's WAL
    with synchronous = NORMAL).

    The hour and the day are those of UTC in which a call began. Budgets hold for all processes that use the file. It
    must be on a local disk: SQLite locks no network file system. Workers of other machines have files of their own:
    with `BudgetLedger` a file has slices of the budget, and no call begins that these do not cover.

    The file holds what judges said about users' answers: only its owner may read it, and what SQLite keeps beside it.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _keep_private(path)
        self._clock = clock
        self._database = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            self._database.executescript(_TABLES)
        except sqlite3.Error:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the file; calls that are not finished stay at their upper bound."""
        self._database.close()

    @cached_property
    def secret(self) -> bytes:
        """Bytes that only this file holds: whoever writes a text cannot know the marks around it."""
        name = "marks"
        self._database.execute("INSERT OR IGNORE INTO secrets VALUES (?, ?)", (name, secrets.token_bytes(32)))
        return bytes(self._database.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()[0])

    def find(self, key: str) -> str | None:
        """Return the first reply to a request, None where there is none."""
        row = self._database.execute(
            "SELECT reply FROM calls WHERE key = ? AND reply IS NOT NULL ORDER BY id LIMIT 1", (key,)
        ).fetchone()
        return None if row is None else str(row[0])

    def begin(
        self,
        judge: str,
        key: str,
        bound: float,
        per_hour: float | None = None,
        per_day: float | None = None,
        *,
        by_slices: bool = False,
    ) -> int:
        """Note that a call is about to be made that costs at most `bound`, and return its number.

        Raises BudgetSpentError, and notes nothing, where that is more than is left of a budget; UnreservedError
        `by_slices`, where it is more than is left of what was reserved.
        """
        now = self._clock()
        with self._transaction():
            self._check(judge, now, bound, per_hour, per_day)
            if by_slices:
                self._check_slices(judge, now, bound, per_hour, per_day)
            self._charge(judge, now, bound)
            row = self._database.execute(
                "INSERT INTO calls (judge, key, began, cost) VALUES (?, ?, ?, ?)", (judge, key, now, bound)
            )
        return int(row.lastrowid or 0)

    def check(self, judge: str, bound: float, per_hour: float | None = None, per_day: float | None = None) -> None:
        """Raise BudgetSpentError where `begin` would now; nothing is noted."""
        self._check(judge, self._clock(), bound, per_hour, per_day)

    def finish(self, call: int, reply: str, cost: float) -> None:
        """Keep the reply of a call, and what it did cost."""
        with self._transaction():
            judge, began, bound = self._begun(call)
            self._database.execute("UPDATE calls SET reply = ?, cost = ? WHERE id = ?", (reply, cost, call))
            self._charge(judge, began, cost - bound)

    def release(self, call: int) -> None:
        """Forget a call that cost nothing: the endpoint was not reached, or refused it."""
        with self._transaction():
            judge, began, bound = self._begun(call)
            self._database.execute("DELETE FROM calls WHERE id = ?", (call,))
            self._charge(judge, began, -bound)

    def spent(self, judge: str) -> tuple[float, float]:
        """Return what a judge's calls of this hour and of this day did cost, or may have where they are unfinished."""
        return self._spent(judge, self._clock())

    def add_slice(self, judge: str, at: float, amount: float) -> None:
        """Note what was reserved of a judge's budget, for the hour of `at`."""
        with self._transaction():
            self._add_slice(judge, int(at // _HOUR), amount)

    def take_unused(self, judge: str, *, by_hour: bool, before: float | None = None) -> dict[float, float]:
        """Take what is reserved of today and not spent, and return it by the time that its hour begins.

        `by_hour` what each hour has left; else the day as a whole, with the present hour. With `before` only hours that
        ended before that time. Whoever takes it gives it back to the ledger, or it is lost.
        """
        now = self._clock() if before is None else before
        first, this = int(now // _DAY * (_DAY // _HOUR)), int(now // _HOUR)
        last = this if before is None else this - 1
        spans = [(hour, hour) for hour in range(first, last + 1)] if by_hour else [(first, last)]
        with self._transaction():
            left = {end: self._reserved_left(judge, begin, end) for begin, end in spans}
            unused = {hour: amount for hour, amount in left.items() if amount > _ROUNDING}
            for hour, amount in unused.items():
                self._add_slice(judge, hour, -amount)
        return {float(hour * _HOUR): amount for hour, amount in unused.items()}

    def forget_replies(self) -> ForgottenReplies:
        """Forget every reply; the budgets stay right. Waits up to 30 s for those who read the file."""
        with self._transaction():
            gone = self._database.execute("DELETE FROM calls WHERE reply IS NOT NULL").rowcount
        is_busy, *_ = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return ForgottenReplies(gone, not is_busy)

    def averages(self, judge: str) -> tuple[float | None, float | None]:
        """Return a judge's average cost of a call, and tokens of a reply; None where that is known of none."""
        row = self._database.execute(
            "SELECT avg(cost), avg(json_extract(reply, '$.completion_tokens')) FROM calls "
            "WHERE judge = ? AND reply IS NOT NULL",
            (judge,),
        ).fetchone()
        return row[0], row[1]

    def prune(self, days: float) -> int:
        """Forget the calls that began so many days ago or earlier, and return how many; the budgets stay right."""
        now = self._clock()
        before = now - days * _DAY
        with self._transaction():
            gone = self._database.execute("DELETE FROM calls WHERE began <= ?", (before,)).rowcount
            for table in ("ledger", "slices"):
                self._database.execute(f"DELETE FROM {table} WHERE hour < ?", (int((now - _DAY) // _HOUR),))  # noqa: S608
        return gone

    def _check(self, judge: str, now: float, bound: float, per_hour: float | None, per_day: float | None) -> None:
        if per_hour is None and per_day is None:
            return
        hour, day = self._spent(judge, now)
        for period, budget, spent in (("hour", per_hour, hour), ("day", per_day, day)):
            if budget is not None and spent + bound > budget:
                raise BudgetSpentError(period, budget, spent, bound)

    def _check_slices(
        self, judge: str, now: float, bound: float, per_hour: float | None, per_day: float | None
    ) -> None:
        hour, day = int(now // _HOUR), int(now // _DAY * (_DAY // _HOUR))
        periods = ((per_hour, hour), (per_day, day))
        left = (self._reserved_left(judge, first, hour) for budget, first in periods if budget is not None)
        missing = bound - min(left, default=bound)
        if missing > _ROUNDING:
            raise UnreservedError(now, missing)

    def _reserved_left(self, judge: str, first: int, last: int) -> float:
        """Return what is reserved for these hours and not spent; negative where more is spent."""
        reserved, spent = (
            self._database.execute(
                f"SELECT total({column}) FROM {table} WHERE judge = ? AND hour BETWEEN ? AND ?",  # noqa: S608
                (judge, first, last),
            ).fetchone()[0]
            for column, table in (("amount", "slices"), ("cost", "ledger"))
        )
        return float(reserved) - float(spent)

    def _add_slice(self, judge: str, hour: int, amount: float) -> None:
        self._database.execute(
            "INSERT INTO slices VALUES (?, ?, ?) "
            "ON CONFLICT (judge, hour) DO UPDATE SET amount = amount + excluded.amount",
            (judge, hour, amount),
        )

    def _spent(self, judge: str, now: float) -> tuple[float, float]:
        hour, day = now // _HOUR, now // _DAY * (_DAY // _HOUR)
        row = self._database.execute(
            "SELECT total(cost) FILTER (WHERE hour = ?), total(cost) FROM ledger WHERE judge = ? AND hour >= ?",
            (hour, judge, day),
        ).fetchone()
        return float(row[0]), float(row[1])

    def _begun(self, call: int) -> tuple[str, float, float]:
        row = self._database.execute("SELECT judge, began, cost FROM calls WHERE id = ?", (call,)).fetchone()
        if row is None:
            raise LookupError(f"call {call} is not under way; was it pruned? Keep calls for longer than they take")
        return str(row[0]), float(row[1]), float(row[2])

    def _charge(self, judge: str, began: float, cost: float) -> None:
        self._database.execute(
            "INSERT INTO ledger VALUES (?, ?, ?) ON CONFLICT (judge, hour) DO UPDATE SET cost = cost + excluded.cost",
            (judge, int(began // _HOUR), cost),
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _keep_private(path: Path) -> None:
    """Make the file where there is none, and let nobody but its owner read it; SQLite makes others of the same mode."""
    # One that is there is not opened: to close it again would end the locks that this process has on it.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    for one in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        # Another account's file stays as it is: only its owner may change that.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            if one.stat().st_mode & 0o077:
                one.chmod(0o600)
