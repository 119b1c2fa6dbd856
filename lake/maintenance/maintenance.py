"""Upkeep of every table: old dates go, small files are merged, then unused files and old entries of the log go."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from lake.maintenance.cleaning import LOG_RETENTION, clean_log, vacuum
from lake.maintenance.compaction import compact
from lake.maintenance.id_index import update_id_index
from lake.maintenance.retention import drop_before
from lake.maintenance.text_retention import TEXT_TABLES, text_age
from lake.spec.root_tables import CHANGES, ID_INDEX, JUDGE_BUDGETS, SERVICES
from lake.spec.schemas import TABLES
from lake.spec.state_tables import MONITOR_STATE, ROOT_STATE
from lake.spec.table_spec import TableSpec
from lake.store.store_errors import TableError, in_one_line, is_store_error, log_failure
from lake.tables.lake import Lake
from lake.tables.table import Table
from runtime.durations import reads_seconds
from runtime.setting import Section, Setting

logger = logging.getLogger(__name__)

_DATED = tuple(name for name, spec in TABLES.items() if spec.by_date and spec is not ID_INDEX)
_seconds = reads_seconds("smhd")
_OWN_AGES = {SERVICES: timedelta(days=28), CHANGES: timedelta(days=1), JUDGE_BUDGETS: timedelta(days=7)}
"""Ages at which rows go without a setting: a part without a heartbeat for as long is forgotten."""
_SHORT_LIVED = (SERVICES, CHANGES, JUDGE_BUDGETS, MONITOR_STATE, ROOT_STATE, ID_INDEX)
"""Tables with many commits of which nobody reads old ones."""
_SHORT_LIVED_AGE = timedelta(hours=2)
"""More than clocks may be apart."""

Interval = Annotated[float, BeforeValidator(_seconds), Field(gt=0, allow_inf_nan=False)]
Ages = dict[str, float | None]
Day = Annotated[float, BeforeValidator(_seconds), Field(ge=86400, allow_inf_nan=False)]


class LakeMaintenanceSettings(Section):
    """When the tables are maintained, and how old rows, files and entries of logs become."""

    every: Annotated[Interval | None, Setting(on_store=7200.0)] = 3600.0
    """Time between two maintenance passes of `dialwatch up`; null if another process does it."""
    vacuum_after: Annotated[Interval, Field(ge=3600, le=7 * 86400)] = 86400.0
    """How long a file stays after it was replaced, from 1h to 7d. No reader may take longer. In `_services`,
    `_changes`, `_judge_budgets`, `_id_index` and states of the monitor it is 2h. On a store `dialwatch up` looks for
    such files every six hours."""
    log_retention: Day = LOG_RETENTION.total_seconds()
    """How long a table's log can say what is new; a reader that comes later takes longer. In `_services`, `_changes`,
    `_judge_budgets`, `_id_index` and states of the monitor it is 2h."""
    retention: Annotated[
        dict[str, Day | None], Setting(common=True, default="90d for the three tables with texts, in a new lake")
    ] = Field(default_factory=dict)
    """Age at which rows are deleted, at least 1d, such as `{parsed_logs: 90d}`; null: never. It can be set for
    parsed_logs, user_signals, scores, anchors, replays, preferences, _rejected, _batches, _services, _changes,
    _judge_budgets and _audit. Without it the rows of parsed_logs, user_signals and _rejected, which hold texts of
    people, are deleted after 90 days [in a lake that is new](lake.md#texts-of-people), and stay for ever in one of an
    earlier version. All others stay for ever, those of _services four weeks, those of _judge_budgets a week, those of
    _changes a day. Of replays the dates of the newest baseline stay."""
    deployments: dict[str, dict[str, Day | None]] = Field(default_factory=dict)
    """Retention of single deployments: `{support-rag: {parsed_logs: 30d}}`."""

    @field_validator("retention")
    @classmethod
    def _have_dates(cls, retention: Ages) -> Ages:
        return _checked(retention, _DATED)

    @field_validator("deployments")
    @classmethod
    def _are_of_deployments(cls, deployments: dict[str, Ages]) -> dict[str, Ages]:
        own = tuple(name for name in _DATED if TABLES[name].per_deployment)
        return {deployment: _checked(retention, own) for deployment, retention in deployments.items()}

    def age_limit(self, spec: TableSpec, deployment: str | None, texts: timedelta | None = None) -> timedelta | None:
        """Age at which the rows of this table go; None where they stay. `texts` is the lake's own for raw texts."""
        for given in (self.deployments.get(deployment or "", {}), self.retention):
            if spec.name in given:
                seconds = given[spec.name]
                return None if seconds is None else timedelta(seconds=seconds)
        return texts if spec in TEXT_TABLES else _OWN_AGES.get(spec)

    def undecided(self) -> tuple[str, ...]:
        """Tables with raw texts of which these settings do not say how old rows may become."""
        return tuple(spec.name for spec in TEXT_TABLES if spec.name not in self.retention)

    def files_age(self, spec: TableSpec) -> timedelta:
        """Time for which a file of this table stays after it was replaced."""
        return _SHORT_LIVED_AGE if spec in _SHORT_LIVED else timedelta(seconds=self.vacuum_after)

    def log_age(self, spec: TableSpec) -> timedelta:
        """Time for which the log of this table says what was new."""
        return _SHORT_LIVED_AGE if spec in _SHORT_LIVED else timedelta(seconds=self.log_retention)


@dataclass(frozen=True)
class MaintenanceResult:
    """Result of one pass over all tables; `failures` are tables that could not be maintained, with the error."""

    tables: int = 0
    merged_files: int = 0
    dropped_files: int = 0
    removed_files: int = 0
    removed_log_entries: int = 0
    failures: tuple[str, ...] = ()


def all_tables(lake: Lake) -> Iterator[tuple[str | None, Table]]:
    """Yield every table that is there, with its deployment."""
    for deployment in lake.deployments():
        for spec in TABLES.values():
            if spec.per_deployment and _is_there(table := lake.table(spec, deployment)):
                yield deployment, table
    for spec in TABLES.values():
        if not spec.per_deployment and _is_there(table := lake.table(spec)):
            yield None, table


def _is_there(table: Table) -> bool:
    """Whether there is a table; one that cannot be opened is, so that what is done with it says why."""
    try:
        return table.version() is not None
    except TableError:
        return True


def maintain(
    lake: Lake,
    settings: LakeMaintenanceSettings,
    now: datetime,
    is_stopping: Callable[[], bool] = lambda: False,
    *,
    removes_unused: bool = True,
) -> MaintenanceResult:
    """Maintain every table once; where one fails, the others are maintained all the same.

    Without `removes_unused` files, entries of logs and uploads that nothing needs stay. Ends after a table once
    `is_stopping` says so. All errors of the store are one line of the log.
    """
    tables, merged, dropped, removed, entries = 0, 0, 0, 0, 0
    failures: list[str] = []
    refused: list[tuple[str, Exception]] = []
    texts = text_age(lake)
    for deployment, table in all_tables(lake):
        if is_stopping():
            break
        try:
            limit = settings.age_limit(table.spec, deployment, texts)
            dropped += 0 if limit is None else drop_before(table, (now - limit).date()).files
            merging = compact(table, is_stopping=is_stopping)
            merged += merging.files_before - merging.files_after
            if removes_unused:
                removed += len(vacuum(table, settings.files_age(table.spec)))
                entries += clean_log(table, now, settings.log_age(table.spec)).removed
            tables += 1
        except Exception as error:  # what is wrong with one table is not wrong with the others
            failures.append(f"{table.uri}: {in_one_line(error)}")
            if is_store_error(error):
                refused.append((table.uri, error))
            else:
                logger.exception("table %s was not looked after and will be at the next pass", table.uri)
    else:
        _update_id_index(lake, is_stopping)
    if removes_unused:
        _abort_uploads(lake, now - timedelta(seconds=settings.vacuum_after))
    if refused:
        uri, first = refused[0]
        message = "not looked after, and tried again at the next pass: %d of %d tables; the first is %s"
        log_failure(logger, first, message, len(refused), tables + len(failures), uri)
    logger.info(
        "looked after %d tables: %d files merged, %d dropped with old dates, %d removed, %d entries of logs removed",
        tables,
        merged,
        dropped,
        removed,
        entries,
    )
    return MaintenanceResult(tables, merged, dropped, removed, entries, tuple(failures))


def _update_id_index(lake: Lake, is_stopping: Callable[[], bool]) -> None:
    try:
        update_id_index(lake, is_stopping)
    except Exception as error:  # what it does not know is found by reading every file
        log_failure(logger, error, "the index of ids of %s was not updated and will be at the next pass", lake.root)


def _abort_uploads(lake: Lake, before: datetime) -> None:
    try:
        abort_uploads(lake, before)
    except Exception as error:  # a store may not know the question
        log_failure(logger, error, "uploads to %s that nobody finished were not looked for", lake.root)


def _checked(retention: Ages, known: tuple[str, ...]) -> Ages:
    for name in retention:
        if name not in known:
            raise ValueError(f"no table {name!r} whose rows age here; there are {', '.join(known)}")
    return retention


def abort_uploads(lake: Lake, before: datetime) -> int:
    """Abort the uploads in parts under the lake's root that began before a time; return their number.

    A lake in a folder, or in a store that does not speak S3, has none.
    """
    filesystem, root = lake.storage.filesystem(lake.root)
    call = getattr(filesystem, "call_s3", None)
    if call is None:
        return 0
    bucket, _, prefix = root.rstrip("/").partition("/")
    where = {"Bucket": bucket, "Prefix": prefix and f"{prefix}/"}
    old = [upload for upload in _uploads(call, where) if upload["Initiated"] < before]
    for upload in old:
        call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    if old:
        logger.info("aborted %d uploads of %s that nobody finished", len(old), lake.root)
    return len(old)


def _uploads(call: Any, where: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page: dict[str, Any] = {}
    while True:
        after = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]} if page else {}
        page = call("list_multipart_uploads", **where, **after)
        found += page.get("Uploads", [])
        if not page.get("IsTruncated"):
            return found
