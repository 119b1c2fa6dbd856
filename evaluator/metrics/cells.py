"""A frame's cells as texts and lists of texts; what is neither is refused with a reason."""

from __future__ import annotations

import numpy as np
import pandas as pd


class UnreadableCellError(ValueError):
    """A cell holds something other than its column's type; `reason` is a short fixed word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def text(cell: object, column: str) -> str | None:
    """Give the text of a cell; None where the cell is missing (None, NaN, NA).

    Raises UnreadableCellError with `unreadable_<column>` for all else, such as a list or a number.
    """
    if isinstance(cell, str):
        return cell
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"unreadable_{column}")


def texts(cell: object, column: str) -> list[str] | None:
    """Give the texts of a list, tuple or one-dimensional array; None where the cell is missing.

    A missing item becomes an empty text, so that the others keep their rank.

    Raises UnreadableCellError with `unreadable_<column>` for all else. A bare string is refused too: read as
    a list it would be its letters.
    """
    if isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
        return [text(item, column) or "" for item in cell]
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"unreadable_{column}")


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell)
