"""Reads of each table only what came since the last look."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds

from lake import Lake, ReadAhead, Table, TableReplacedError, TableSpec, Wanted

_log = logging.getLogger(__name__)


@dataclass
class _Place:
    table: Table
    version: int | None = None
    taken: bool = False


class NewRows:
    """Remembers, in memory, up to which version each table of the lake has been taken in.

    With `where` only the rows that it lets through are.
    """

    def __init__(self, lake: Lake, where: ds.Expression | None = None) -> None:
        self._lake = lake
        self._where = where
        self._places: dict[tuple[str, str | None], _Place] = {}
        self._ahead: ReadAhead | None = None

    @contextmanager
    def ahead(self, wanted: Sequence[Wanted], processes: int) -> Iterator[None]:
        """While the block runs, have tables read by other processes; `take` them in this order."""
        with ExitStack() as stack:
            try:
                self._ahead = stack.enter_context(ReadAhead(self._lake, wanted, processes))
            except OSError as error:
                _log.warning("No process can be started that reads ahead: the first look takes longer. %s", error)
            try:
                yield
            finally:
                self._ahead = None

    def take(
        self,
        spec: TableSpec,
        deployment: str | None,
        columns: Sequence[str] | Mapping[str, ds.Expression],
        into: Callable[[pa.Table], None],
    ) -> None:
        """Hand the rows that are new to `into`; they count as taken once it returns.

        Whatever the store or `into` raises is passed on; the same rows come again next time. Raises
        TableReplacedError where the table whose rows were taken is gone, and where nobody looked for so long that its
        log no longer tells what is new: then only a new `NewRows` helps, which takes all rows.
        """
        key = (spec.name, deployment)
        place = self._places.setdefault(key, _Place(self._lake.table(spec, deployment)))
        try:
            change = self._ahead.take(spec, deployment) if self._ahead and place.version is None else None
            change = change or place.table.read_since(place.version, columns, where=self._where)
        except Exception:
            # The handle may be what is broken, for one whose table was removed and made again.
            place.table = self._lake.table(spec, deployment)
            raise
        if change.repeats:
            raise TableReplacedError(
                f"what {place.table.uri} got since version {place.version} cannot be told any more"
            )
        if change.version is None and place.version is not None:
            raise TableReplacedError(f"{place.table.uri} was removed after its version {place.version} was read")
        if change.rows.num_rows:
            # A year of small files is thousands of small pieces, each with its own cost in every step.
            into(change.rows.combine_chunks())
        place.version = change.version
        place.taken = True

    def apart(self, spec: TableSpec, deployment: str | None) -> NewRows:
        """Give another reader, which stands where this one does in a table: while rows are handed over, before them."""
        other = NewRows(self._lake, self._where)
        other._places[spec.name, deployment] = _Place(
            self._lake.table(spec, deployment), self._version(spec, deployment)
        )
        return other

    def is_as_far_as(self, other: NewRows, spec: TableSpec, deployment: str | None) -> bool:
        """Whether both have taken in the same version of a table."""
        return self._version(spec, deployment) == other._version(spec, deployment)

    def _version(self, spec: TableSpec, deployment: str | None) -> int | None:
        place = self._places.get((spec.name, deployment))
        return None if place is None else place.version

    def has_begun(self, deployment: str | None) -> bool:
        """Whether any table of a deployment has been looked at."""
        return any(name == deployment for (_, name) in self._places)

    def has_taken(self, spec: TableSpec, deployments: Iterable[str | None]) -> bool:
        """Whether the tables of one kind have all been read at least once; one that is not there counts as read."""
        places = (self._places.get((spec.name, deployment)) for deployment in deployments)
        return all(place is not None and place.taken for place in places)
