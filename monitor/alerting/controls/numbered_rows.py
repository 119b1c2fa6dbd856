"""Appends of rows with consecutive numbers, which people type as ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lake.delta_log.change import LostRaceError
from lake.spec.table_spec import TableSpec
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction

_ATTEMPTS = 10


def append_numbered(lake: Lake, spec: TableSpec, app_id: str, row: Callable[[int], Mapping[str, object]]) -> int:
    """Add the row of the next free number, from 1 on, and return the number.

    Raises LostRaceError where others are faster ten times in a row.
    """
    table = lake.table(spec)
    for _ in range(_ATTEMPTS):
        transaction = PassTransaction(table, counters=[app_id])
        number = transaction.count(app_id) + 1
        try:
            transaction.append(spec.rows([dict(row(number))]))
        except LostRaceError:
            continue
        return number
    raise LostRaceError(f"{table.uri} was changed by others {_ATTEMPTS} times in a row; run the command again")
