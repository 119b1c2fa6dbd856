"""One table of the lake: append exactly once, read all, read what is new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.dataset as ds
from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from lake.schemas import TableSpec
from lake.storage import Storage, is_remote

_MAX_ROW_GROUP_ROWS = 8192
_COMMIT_VERSION = "_commit_version"


class LostRaceError(RuntimeError):
    """Another writer has committed for the same `app_id` since this table was last looked at."""


class TableReplacedError(RuntimeError):
    """The table was removed and made anew, so that a version of the old one means nothing: read it from None."""


@dataclass(frozen=True)
class Change:
    """Rows added to a table after a version, and the version that holds them."""

    rows: pa.Table
    version: int | None


class Table:
    """A handle on one table, which need not exist yet. Not safe for use by several threads at once."""

    def __init__(self, uri: str, spec: TableSpec, title: str, storage: Storage) -> None:
        self.uri = uri
        self.spec = spec
        self._title = title
        self._storage = storage
        self._storage_options = storage.delta_options() if is_remote(uri) else {}
        self._delta: DeltaTable | None = None
        self._seen: dict[str, int | None] = {}

    def version(self) -> int | None:
        """Latest version of the table; None where there is no table yet."""
        delta = self._refresh()
        return None if delta is None else int(delta.version())

    def committed(self, app_id: str) -> int | None:
        """Version that the last append with this `app_id` carried; None where there was none."""
        return self.progress([app_id]).get(app_id)

    def progress(self, app_ids: Iterable[str]) -> dict[str, int]:
        """Versions that the last appends carried, of those `app_ids` that have one.

        What this gives is what the next `append` builds on: see there.
        """
        delta = self._refresh()
        looked = {app_id: None if delta is None else delta.transaction_version(app_id) for app_id in app_ids}
        self._seen.update(looked)
        return {app_id: version for app_id, version in looked.items() if version is not None}

    def append(self, rows: pa.Table, progress: Mapping[str, int] | None = None) -> None:
        """Add rows of the table's schema in one commit, and make the table where it is missing.

        `progress` maps an `app_id` (a source, a service) to the version up to which it is done with these rows, and
        makes the commit exactly-once: look at `progress()` first and leave out what it covers. An empty `rows` is
        worth a commit only with it.

        Raises LostRaceError, and adds nothing, where another writer has committed for one of the `app_id`s since
        `progress()` looked, and ValueError for a version that is not above the committed one.
        """
        delta = self._delta or self._refresh() or self._create()
        for name, ahead in (progress or {}).items():
            self._check(name, ahead, delta.transaction_version(name))
        transactions = [Transaction(name, ahead) for name, ahead in (progress or {}).items()]
        try:
            write_deltalake(
                delta,
                rows.select(self.spec.schema.names).cast(self.spec.schema),
                mode="append",
                writer_properties=self._writer_properties(),
                commit_properties=CommitProperties(app_transactions=transactions),
            )
        except CommitFailedError as error:
            self._delta = None
            if not progress:
                raise
            raise LostRaceError(f"another writer has committed to {self.uri} for {list(progress)}: {error}") from error
        self._seen.update(progress or {})

    def _check(self, app_id: str, ahead: int, committed: int | None) -> None:
        seen = self._seen.get(app_id, committed)
        if committed != seen:
            raise LostRaceError(
                f"another writer has committed version {committed} of {app_id!r} to {self.uri}; it was {seen} before"
            )
        if committed is not None and ahead <= committed:
            raise ValueError(f"{self.uri} already has version {committed} of {app_id!r}; {ahead} is not new")

    def read(self, columns: Sequence[str] | None = None, where: ds.Expression | None = None) -> pa.Table:
        """Read all rows, or those that `where` lets through; an empty table where there is none yet."""
        names = self._names(columns)
        return self._conform(self.dataset().to_table(columns=names, filter=where), names)

    def dataset(self) -> ds.Dataset:
        """Give the rows as an Arrow dataset, for DuckDB, polars and the like; without rows where there is no table."""
        delta = self._refresh()
        return ds.dataset(self.spec.schema.empty_table()) if delta is None else self._dataset_of(delta)

    def read_since(self, version: int | None, columns: Sequence[str] | None = None) -> Change:
        """Read the rows that were added after `version`, oldest commit first; a compaction adds none.

        None is for a reader that knows nothing yet: it gets all rows, in no particular order. Raises DeltaError where
        files of commits after `version` have been vacuumed away: only None helps then. Raises TableReplacedError for a
        `version` that the table has not reached: it is of a table that stood here before.
        """
        names = self._names(columns)
        delta = self._refresh_or_open()
        if delta is None:
            return Change(self._empty(names), None)
        latest = int(delta.version())
        if version is None:
            # The rows themselves, not their history: that may begin with files that are gone by now.
            return Change(self._conform(self._dataset_of(delta).to_table(columns=names), names), latest)
        if version > latest:
            raise TableReplacedError(
                f"{self.uri} has only reached version {latest}, not {version}: it was removed and made anew; "
                "forget the version and read all of it"
            )
        if version == latest:
            return Change(self._empty(names), version)
        added = delta.load_cdf(
            starting_version=version + 1, ending_version=latest, columns=[*names, _COMMIT_VERSION]
        ).read_all()
        rows = pa.table(added)
        in_order = pa.compute.sort_indices(rows[_COMMIT_VERSION])
        return Change(self._conform(rows, names).take(in_order), latest)

    def _dataset_of(self, delta: DeltaTable) -> ds.Dataset:
        return delta.to_pyarrow_dataset(filesystem=self._storage.arrow_filesystem(self.uri))

    def _names(self, columns: Sequence[str] | None) -> list[str]:
        return list(self.spec.schema.names if columns is None else columns)

    def _empty(self, names: list[str]) -> pa.Table:
        return self.spec.schema.empty_table().select(names)

    def _conform(self, rows: pa.Table, names: list[str]) -> pa.Table:
        return rows.select(names).cast(pa.schema([self.spec.schema.field(name) for name in names]))

    def _refresh(self) -> DeltaTable | None:
        if self._delta is not None:
            self._delta.update_incremental()
            return self._delta
        try:
            self._delta = DeltaTable(self.uri, storage_options=self._storage_options)
        except TableNotFoundError:
            return None
        return self._delta

    def _refresh_or_open(self) -> DeltaTable | None:
        try:
            return self._refresh()
        except DeltaError:
            # What was open may be a table that another one has replaced.
            self._delta = None
            return self._refresh()

    def _create(self) -> DeltaTable:
        if not is_remote(self.uri):
            Path(self.uri).mkdir(parents=True, exist_ok=True)
        try:
            self._delta = DeltaTable.create(
                self.uri,
                schema=self.spec.schema,
                mode="error",
                partition_by=["date"] if self.spec.by_date else None,
                name=self._title,
                description=self.spec.doc,
                configuration={
                    "delta.dataSkippingStatsColumns": ",".join(self._statistics_columns()),
                    "delta.enableChangeDataFeed": "true",
                },
                storage_options=self._storage_options,
            )
        except DeltaError:
            # Another writer made it in the meantime; if that is not so, the open below says what is wrong.
            self._delta = DeltaTable(self.uri, storage_options=self._storage_options)
        return self._delta

    def _writer_properties(self) -> WriterProperties:
        # deltalake cannot name a nested column, so what is not named here is what holds texts or nests.
        with_statistics = ColumnProperties(dictionary_enabled=True, statistics_enabled="CHUNK")
        return WriterProperties(
            compression="ZSTD",
            compression_level=3,
            max_row_group_size=_MAX_ROW_GROUP_ROWS,
            default_column_properties=ColumnProperties(dictionary_enabled=False, statistics_enabled="NONE"),
            column_properties=dict.fromkeys(self._statistics_columns(), with_statistics),
        )

    def _statistics_columns(self) -> list[str]:
        hidden = {"date", *self.spec.long_text}
        return [f.name for f in self.spec.schema if f.name not in hidden and not pa.types.is_nested(f.type)]
