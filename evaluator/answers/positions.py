"""How far tables are read without it being worth a commit yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lake import Table

_WITHOUT_ROWS = 100
"""So many versions that gave nothing to write are worth a commit that only says that they were read."""


class Uncommitted:
    """Remembers how far a pass came that had nothing to write: a commit a pass would only make a table's log grow.

    What it remembers is lost with the process, which then reads the same rows again, and is void once anyone has
    committed to the table.
    """

    def __init__(self) -> None:
        self._reached: dict[str, tuple[int, dict[str, int]]] = {}

    def since(self, table: Table, committed: Mapping[str, int], passes: int) -> dict[str, int]:
        """Give how far was read: `committed`, the positions at the table's pass `passes`, and what came after it."""
        at, reached = self._reached.get(table.uri, (None, {}))
        return {**committed, **(reached if at == passes else {})}

    def note(self, table: Table, reached: Mapping[str, int], passes: int) -> None:
        """Remember how far was read after the pass `passes`."""
        self._reached[table.uri] = passes, dict(reached)


def is_far(reached: Mapping[str, int], committed: Mapping[str, int], tables: Sequence[str]) -> bool:
    """Whether so much was read of one of these tables that it is worth a commit without a row."""
    return any(reached.get(name, 0) - committed.get(name, 0) >= _WITHOUT_ROWS for name in tables)
