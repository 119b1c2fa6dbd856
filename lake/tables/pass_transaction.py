"""Pass over a table: rows that are made of other tables, appended once, together with the positions read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from lake.tables.table import Table

PASSES = "passes"
"""Counter of the passes over new rows: every pass that writes to a table moves it on by one.

An erasure moves it in `scores`, `anchors`, `ground_truth`, `replays` and `preferences` when the rows are gone, so that
a pass that has read them is refused with LostRaceError.
"""

BACKFILLS = "backfills"
"""Counter of the passes over old rows: they go on beside those over new ones, and neither refuses the other.

An erasure moves it wherever it moves `PASSES`.
"""

_VERSIONS_WITHOUT_ROWS = 100
"""So many versions that gave nothing to write are worth a commit that only says that they were read."""


class UncommittedPositions:
    """Positions that passes of this process reached without a row to write; a commit for each would only grow the log.

    They are lost with the process, which then reads the same rows again, and void once anyone has committed a position
    of the pass. A counter that moves voids none: passes over other inputs move it with every append.
    """

    def __init__(self) -> None:
        self._reached: dict[str, tuple[Mapping[str, int], Mapping[str, int]]] = {}

    def since(self, table: Table, committed: Mapping[str, int]) -> Mapping[str, int]:
        """Return what was reached after `committed`."""
        before, reached = self._reached.get(table.uri, ({}, {}))
        return reached if before == committed else {}

    def note(self, table: Table, committed: Mapping[str, int], reached: Mapping[str, int]) -> None:
        """Remember what was reached after `committed`."""
        self._reached[table.uri] = dict(committed), dict(reached)


class PassTransaction:
    """One pass that appends to a table what it made of others: exactly once, wherever a pass is cut off.

    1. Begin: the constructor reads positions and counters from the table's log. Open it before any input is read: then
       whoever changes an input and moves a counter (an erasure) is seen.
    2. Work: the caller reads its inputs from `positions` on and makes rows. The table knows nothing of it, so a pass
       that ends here is made again from the same positions.
    3. Append: `append` adds rows, the positions reached and every counter plus one in one commit. The table has all of
       it or nothing. It is refused with LostRaceError, and nothing is added, where another has moved one of them since
       step 1: begin again.

    A long pass repeats 2 and 3. Its parts carry positions only where these are reached; until then the rows that were
    appended show the next pass what to leave out. A pass without rows may leave out step 3: see `is_far`.

    `positions` are the names under which the table's log holds how far each input was read. `counters` make any two
    passes collide, also where they move different positions; a pass with one position needs none. `uncommitted`
    remembers positions from one pass of this process to the next.
    """

    def __init__(
        self,
        table: Table,
        positions: Sequence[str] = (),
        counters: Sequence[str] = (PASSES,),
        uncommitted: UncommittedPositions | None = None,
    ) -> None:
        # 1. Begin.
        self._table = table
        self._names = tuple(positions)
        self._counters = tuple(counters)
        self._committed = table.progress((*positions, *counters))
        self._uncommitted = uncommitted or UncommittedPositions()
        self._remembered = self._uncommitted.since(table, self.committed)

    @property
    def committed(self) -> dict[str, int]:
        """The positions that the table's log holds; a name that it does not know is absent."""
        return {name: self._committed[name] for name in self._names if name in self._committed}

    @property
    def positions(self) -> dict[str, int]:
        """The positions to read on from: those committed, and what this process reached after them without a row."""
        return {**self.committed, **self._remembered}

    def count(self, counter: str) -> int:
        """Return how often a counter was moved, this pass included; 0 where it never was."""
        return self._committed.get(counter, 0)

    def beside(self, counter: str) -> None:
        """Leave a counter alone from now on: whoever moves it and this pass do not refuse each other."""
        self._counters = tuple(name for name in self._counters if name != counter)

    def is_far(self, reached: Mapping[str, int], versions: Iterable[str]) -> bool:
        """Whether 100 versions of one of these inputs were read since the last commit: worth one without a row."""
        return any(reached.get(name, 0) - self._committed.get(name, 0) >= _VERSIONS_WITHOUT_ROWS for name in versions)

    def remember(self, reached: Mapping[str, int]) -> None:
        """End the pass without a row and without a commit: the next one of this process reads on from `reached`."""
        self._uncommitted.note(self._table, self.committed, reached)

    def append(self, rows: pa.Table, reached: Mapping[str, int] | None = None) -> None:
        """Add rows and positions in one commit; can be called again for the next part of the pass.

        Raises LostRaceError, and adds nothing, where another has moved a counter or one of these positions since the
        pass began; ValueError where there is nothing that would make a repetition known: no counter and no new
        position.
        """
        # 3. Append.
        moved = {name: at for name, at in (reached or {}).items() if at != self._committed.get(name)}
        progress = moved | {name: self.count(name) + 1 for name in self._counters}
        if not progress:
            raise ValueError(f"a pass over {self._table.uri} moves neither a counter nor a position")
        self._table.append(rows, progress)
        self._committed |= progress
