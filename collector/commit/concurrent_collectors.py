"""What other collectors store in the same tables meanwhile: any number of them may, in other processes too.

Lines that are duplicates of each other fall into the same table. Every append of a collector whose rows can be
duplicates carries, beside its own positions, a number that all collectors of that table share and count up. So a
collector that has not seen the newest rows is refused by the table, looks at them, drops what is there already, and
tries again; and one that is alone knows by the number that there is nothing to look at.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from collector.commit.duplicates import Numbers, id_numbers
from collector.commit.position import Partition
from lake import PARSED_LOGS, REJECTED, USER_SIGNALS, SourceKind, Table, TableError, TableReplacedError, TableSpec

COLLECTORS = "collector"
"""The app_id that all collectors share."""

_ID_COLUMNS = {PARSED_LOGS: "event_id", USER_SIGNALS: "signal_id", REJECTED: "raw"}


@dataclass(frozen=True, slots=True)
class Look:
    """How much of a table a collector has seen: the collectors' shared number, and the table's version."""

    shared: int | None
    version: int | None


def look(table: Table) -> Look:
    """How much of a table there is now."""
    shared = table.committed(COLLECTORS)
    return Look(shared, table.seen_version())


def rejection_id(raw: bytes) -> str:
    """Id of what cannot be read, in the form of an event id."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def id_columns(spec: TableSpec) -> dict[str, ds.Expression]:
    """The columns that tell which lines a table has, by name: id, ingested_at and the members of source."""
    members = {name: ds.field("source", name) for name in ("kind", "name", "partition", "offset")}
    return {"id": ds.field(_ID_COLUMNS[spec]), "ingested_at": ds.field("ingested_at")} | members


def numbers_of(spec: TableSpec, ids: pa.Array) -> Numbers:
    """Numbers of the ids of rows; a rejection's is that of its bytes."""
    if spec is REJECTED:
        ids = pa.array([rejection_id(raw) for raw in ids.to_pylist()], pa.string())
    return id_numbers(ids)


def stored_since(table: Table, before: Look, since: datetime) -> dict[int, tuple[Partition, int]]:
    """Numbers of the ids that a table has gained since a look, with where their lines stand.

    Of what came before `since` nothing is told: no line can be a duplicate of it any more.
    """
    columns = [_ID_COLUMNS[table.spec], "source"]
    rows = _gained(table, before, [*columns, "ingested_at"], since)
    if table.spec is REJECTED:
        rows = rows.filter(pc.equal(pc.struct_field(rows["source"], "kind"), SourceKind.HTTP))
    found: dict[int, tuple[Partition, int]] = {}
    for batch in rows.to_batches():
        sources = (
            (Partition(source["kind"], source["name"], source["partition"]), source["offset"])
            for source in batch["source"].to_pylist()
        )
        found.update(zip(as_integers(numbers_of(table.spec, batch[columns[0]])), sources, strict=True))
    return found


def _gained(table: Table, before: Look, columns: list[str], since: datetime) -> pa.Table:
    recent = ds.field("ingested_at") >= since
    if before.version is not None:
        # Where what was added is not known any more, all there is may be new.
        with suppress(TableError, TableReplacedError):
            return table.read_since(before.version, columns, newest=since).rows.filter(recent)
    return table.read(columns, recent)


def as_integers(numbers: Numbers) -> list[int]:
    """The same ids as Python's integers."""
    return [upper << 64 | lower for upper, lower in numbers.tolist()]
