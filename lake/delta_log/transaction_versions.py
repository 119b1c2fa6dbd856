"""Versions of the transactions of a table: which version each `app_id` has reached, all read from the log at once."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from lake.delta_log.delta_log import actions_of
from lake.store.log_copy import Read, UnusualLogError, log_entries


def transactions_at(read: Read, version: int) -> dict[str, int] | None:
    """Return the version of each `app_id` at a version of the table; `read` gives the bytes of an entry of the log.

    deltalake tells one at a time, and looks through the log for each. None where the log is not as usual: deltalake
    then knows better.
    """
    try:
        entries = log_entries(read, version)
        return None if entries is None else transactions_in(entries)
    except (UnusualLogError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None


def transactions_in(entries: Mapping[str, bytes]) -> dict[str, int]:
    """Return the version of each `app_id` that the files of a log carry, by name."""
    found: dict[str, int] = {}
    for name, content in sorted(entries.items()):
        if name.endswith(".parquet"):
            found |= _of_checkpoint(content)
        elif name.endswith(".json"):
            found |= transactions_of(actions_of(content))
    return found


def transactions_of(actions: list[dict[str, dict[str, object]]]) -> dict[str, int]:
    """Return the version of each `app_id` that a commit carries."""
    return {str(action["txn"]["appId"]): int(str(action["txn"]["version"])) for action in actions if "txn" in action}


def _of_checkpoint(content: bytes) -> dict[str, int]:
    transactions = pq.read_table(pa.BufferReader(content), columns=["txn"])["txn"].combine_chunks().drop_null()
    return dict(zip(transactions.field("appId").to_pylist(), transactions.field("version").to_pylist(), strict=True))
