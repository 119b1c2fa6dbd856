"""Slices of one judge's budget: what this machine has reserved of it in the lake, and may spend."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from evaluator.judges.budget_ledger import BudgetLedger
from evaluator.judges.calls import BudgetSpentError, Calls, UnreservedError
from evaluator.judges.settings import JudgeSettings
from lake.store.store_errors import log_failure

logger = logging.getLogger(__name__)


class UnreservableError(Exception):
    """The lake cannot say whether there is money left, so none is spent."""


class BudgetSlices:
    """Begins the calls of one judge within the slices of this machine, and reserves the next slice where one is spent.

    Used in one event loop; it waits for the lake in another thread.
    """

    def __init__(self, judge: str, settings: JudgeSettings, calls: Calls, ledger: BudgetLedger) -> None:
        self._judge = judge
        self._per_hour, self._per_day = settings.budget_per_hour, settings.budget_per_day
        periods = {"hour": self._per_hour, "day": self._per_day}
        self._budgets = {period: budget for period, budget in periods.items() if budget is not None}
        self._calls = calls
        self._ledger = ledger
        self._reserving = asyncio.Lock()

    async def begin(self, key: str, bound: float) -> int:
        """Note that a call is about to be made, as `Calls.begin` does.

        Raises BudgetSpentError where all evaluators together leave less than `bound`, and UnreservableError.
        """
        try:
            return self._begin(key, bound)
        except UnreservedError:
            async with self._reserving:
                # Others may have reserved while this one waited; the hour may end while it does.
                while True:
                    try:
                        return self._begin(key, bound)
                    except UnreservedError as error:
                        await self._reserve(error)

    async def give_back(self) -> None:
        """Give the lake back what is reserved and not spent; where that fails, it stays reserved."""
        unused = self._calls.take_unused(self._judge, by_hour=self._per_hour is not None) if self._budgets else {}
        if not unused:
            return
        try:
            await asyncio.to_thread(self._ledger.give_back, self._judge, _by_hour(unused))
        except Exception as error:  # whatever the store's library raises: the end of a process is no place to wait
            message = "%g of the budget of judge %r stays reserved although it is not spent"
            log_failure(logger, error, message, sum(unused.values()), self._judge)

    def _begin(self, key: str, bound: float) -> int:
        return self._calls.begin(self._judge, key, bound, self._per_hour, self._per_day, by_slices=bool(self._budgets))

    async def _reserve(self, missing: UnreservedError) -> None:
        unused: dict[float, float] = {}
        if len(self._budgets) > 1:
            # What an earlier hour did not spend counts in the day's budget.
            unused = self._calls.take_unused(self._judge, by_hour=True, before=missing.at)
        at = datetime.fromtimestamp(missing.at, UTC)
        amount = missing.amount
        try:
            reserved = await asyncio.to_thread(
                self._ledger.reserve, self._judge, at, amount, self._budgets, _by_hour(unused)
            )
        except BudgetSpentError:
            for hour, left in unused.items():
                self._calls.add_slice(self._judge, hour, left)
            raise
        except Exception as error:  # whatever the store's library raises: without its word nothing is spent
            raise UnreservableError(
                f"no call is made, since the budget of judge {self._judge!r} cannot be reserved in the lake: {error}"
            ) from error
        self._calls.add_slice(self._judge, missing.at, reserved)


def _by_hour(unused: dict[float, float]) -> dict[datetime, float]:
    return {datetime.fromtimestamp(hour, UTC): amount for hour, amount in unused.items()}
