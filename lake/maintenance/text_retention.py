"""Age at which raw texts of people go in a lake whose settings do not say it: a new lake has one, an older one none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lake.delta_log.change import LostRaceError
from lake.spec.root_tables import LAKE_DEFAULTS, REJECTED
from lake.spec.schemas import PARSED_LOGS, USER_SIGNALS
from lake.tables.lake import Lake

TEXT_TABLES = (PARSED_LOGS, USER_SIGNALS, REJECTED)
"""Tables with texts as people and applications wrote them."""
NEW_LAKE_AGE = timedelta(days=90)
"""Age at which rows of these tables go in a lake that is begun by this version."""
_NAME = "defaults of the lake"


def begin_lake(lake: Lake, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> bool:
    """Write down the defaults of a lake that has no table yet; call it before the first row is written.

    Returns whether the lake was empty. Of several processes that begin it at once, one is first, and its row counts for
    all. A lake that has any table, such as one of an earlier version, is left as it is.
    """
    if not lake.is_empty():
        return False
    table = lake.table(LAKE_DEFAULTS)
    row = {"begun_at": clock(), "text_retention_days": NEW_LAKE_AGE.days}
    try:
        if not table.progress([_NAME]):
            table.append(LAKE_DEFAULTS.rows([row]), {_NAME: 1})
    except (LostRaceError, ValueError):
        pass  # Another process was faster.
    return True


def text_age(lake: Lake) -> timedelta | None:
    """Return the age at which rows of `TEXT_TABLES` go where the settings do not say it; None where they stay."""
    rows = lake.table(LAKE_DEFAULTS).read(["text_retention_days"]).to_pylist()
    return timedelta(days=rows[0]["text_retention_days"]) if rows else None
