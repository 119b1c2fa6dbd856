"""Frame of cells: all that metrics of this package use of a pandas frame, for a service that needs no pandas.

pandas takes 35 MiB of memory. A metric of another package is given a frame of pandas.
"""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from runtime.lean_process import tell_arrow_of_pandas

if TYPE_CHECKING:
    import pandas as pd

    from evaluator.metrics.scores import Metric, Scores


class CellFrame:
    """Columns of cells by name, each with so many rows; rows are named by their places."""

    def __init__(self, columns: Mapping[str, Sequence[Any]], rows: int) -> None:
        self._columns = columns
        self.index = range(rows)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self._columns[name]

    @property
    def columns(self) -> KeysView[str]:
        """Names of the columns."""
        return self._columns.keys()

    def rows(self, places: Sequence[int]) -> CellFrame:
        """Return a frame of the rows at these places."""
        return CellFrame({name: [cells[i] for i in places] for name, cells in self._columns.items()}, len(places))

    def to_pandas(self) -> pd.DataFrame:
        """Return the same as a frame of pandas, whose cells are as they are here."""
        import pandas as pd

        tell_arrow_of_pandas()
        return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in self._columns.items()})


def scores_of(metric: Metric, frame: CellFrame) -> Scores:
    """Score each row of a frame of cells by a metric; what it gives are lists."""
    return metric.score(cast("pd.DataFrame", frame))


def pandas_frame(frame: pd.DataFrame | CellFrame) -> pd.DataFrame:
    """Return a frame for a metric of another package, which may use all that pandas has."""
    return frame.to_pandas() if isinstance(frame, CellFrame) else frame
