"""Contents of a lake in a few words, so that a mistyped root is seen, and how long texts of people stay in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pyarrow.compute as pc
import pyarrow.dataset as ds

from lake.maintenance.maintenance import LakeMaintenanceSettings
from lake.maintenance.text_retention import NEW_LAKE_AGE, text_age
from lake.spec.root_tables import BATCHES
from lake.store.store_errors import is_store_error, log_failure
from lake.tables.lake import Lake
from lake.tables.storage import is_remote
from runtime.durations import duration

logger = logging.getLogger(__name__)

_HOW = "lake.maintenance.retention sets another age, null keeps them"


@dataclass(frozen=True)
class LakeContents:
    """Number of deployments, and the age of the newest rows of a collector; None where there are none."""

    deployments: int
    newest_age: timedelta | None

    def __str__(self) -> str:
        """Return number and age in words, as a log line has them."""
        number = f"{self.deployments:,} deployment{'' if self.deployments == 1 else 's'}"
        age = (
            "no row of a collector yet"
            if self.newest_age is None
            else f"newest row {duration(round(self.newest_age.total_seconds()))} ago"
        )
        return f"{number}, {age}"


def contents_of(lake: Lake, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> LakeContents | None:
    """Return what is in a lake; None where it is empty. Makes nothing. Raises what the store raises."""
    if lake.is_empty():
        return None
    newest = _newest_commit(lake)
    age = None if newest is None else max(timedelta(0), clock() - newest)
    return LakeContents(sum(name is not None for name in lake.deployments()), age)


def retention_words(lake: Lake, settings: LakeMaintenanceSettings) -> tuple[bool, str] | None:
    """Say how old raw texts of people may become in a lake where the settings do not decide it; None where they do.

    The first value: whether they stay for ever, so that somebody has to decide.
    """
    tables = settings.undecided()
    if not tables:
        return None
    names, days = ", ".join(tables), NEW_LAKE_AGE.days
    if lake.is_empty():
        return False, f"a new lake: rows of {names} will be deleted after {days} days ({_HOW})"
    if (age := text_age(lake)) is not None:
        return False, f"rows of {names} are deleted after {age.days} days, as this lake was begun so ({_HOW})"
    example = ", ".join(f"{name}: {days}d" for name in tables)
    return True, (
        f"texts of people stay in {names} for ever, as nothing says how old they may become: write "
        f"lake.maintenance.retention: {{{example}}}, or null for a table whose rows should stay"
    )


def log_contents(lake: Lake, settings: LakeMaintenanceSettings) -> None:
    """Log what is in a lake, as a service begins, which waits for no store."""
    if is_remote(lake.root):
        threading.Thread(target=_log_contents, args=(lake, settings), name="contents of the lake", daemon=True).start()
    else:
        _log_contents(lake, settings)


def _log_contents(lake: Lake, settings: LakeMaintenanceSettings) -> None:
    try:
        found, retention = contents_of(lake), retention_words(lake, settings)
    except Exception as error:
        # A store that is away is logged by others.
        if not is_store_error(error):
            log_failure(logger, error, "could not see what is in the lake %s", lake.root)
        return
    if found is None:
        logger.warning("the lake %s is empty: this is its first start, or lake.root is mistyped", lake.root)
    else:
        logger.info("the lake %s has %s", lake.root, str(found))
    if retention is not None:
        is_open, words = retention
        logger.log(logging.WARNING if is_open else logging.INFO, "%s", words)


def _newest_commit(lake: Lake) -> datetime | None:
    table = lake.table(BATCHES)
    newest_date = max((file.date for file in table.live_files() if file.date is not None), default=None)
    if newest_date is None:
        return None
    rows = table.read(["committed_at"], where=ds.field("date") == date.fromisoformat(newest_date))
    newest: datetime | None = pc.max(rows["committed_at"]).as_py()
    return newest
