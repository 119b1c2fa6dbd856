"""Cells of a frame as texts, lists of texts, ids and numbers; what is none of these is refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from lake.spec.tool_messages import ToolCall
from lake.spec.vocabulary import UnscoredReason

_MISSING_OF_PANDAS = ("NAType", "NaTType")
"""Types of `pandas.NA` and `pandas.NaT`; by name, so that pandas is not loaded where there is no frame."""

_TRUTHS = {
    **dict.fromkeys(("true", "yes", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "0", "0.0"), False),
}

UNREADABLE = "unreadable_"
"""Beginning of the reason of a row where a cell holds something other than its column's type; the column follows."""


class UnscorableRowError(ValueError):
    """A row cannot be scored; `reason` is a short fixed word."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnreadableCellError(UnscorableRowError):
    """A cell holds something other than its column's type."""


def checked_size(steps: int, most: int) -> None:
    """Raise UnscorableRowError with `too_long` where comparing two texts takes more than `most` steps."""
    if steps > most:
        raise UnscorableRowError(UnscoredReason.TOO_LONG)


def text(cell: object, column: str) -> str | None:
    """Return the text of a cell; None where the cell is missing (None, NaN, NA).

    Raises UnreadableCellError with `unreadable_<column>` for all else, such as a list or a number.
    """
    if isinstance(cell, str):
        return cell
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def texts(cell: object, column: str) -> list[str] | None:
    """Return the texts of a list, tuple or one-dimensional array; None where the cell is missing.

    A missing item becomes an empty text, so that the others keep their rank.

    Raises UnreadableCellError with `unreadable_<column>` for all else. A bare string is refused too: read as
    a list it would be its letters.
    """
    if isinstance(cell, list | tuple) or (isinstance(cell, np.ndarray) and cell.ndim == 1):
        return [text(item, column) or "" for item in cell]
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def images(cell: object, column: str) -> list[str | None]:
    """Return the data URLs of a list of images, None for one that is not at hand; nothing where the cell is missing.

    Raises UnreadableCellError with `unreadable_<column>` for all else, such as an address elsewhere.
    """
    found = [one or None for one in texts(cell, column) or ()]
    if any(one is not None and not one.startswith("data:image/") for one in found):
        raise UnreadableCellError(f"{UNREADABLE}{column}")
    return found


def context_texts(cell: object) -> list[str] | None:
    """Return the texts of the contexts, as `texts` does; those of images are empty.

    Raises UnreadableCellError, and UnscorableRowError with `no_text_contexts` where there are contexts and none has a
    letter or digit: what they say is not known.
    """
    found = texts(cell, "contexts")
    if found and not any(character.isalnum() for one in found for character in one):
        raise UnscorableRowError(UnscoredReason.NO_TEXT_CONTEXTS)
    return found


def ids(cell: object, column: str) -> list[str] | None:
    """Return the ids of a list, tuple or one-dimensional array as strings; None where the cell is missing.

    A whole number is the string of its digits, so 2 and "2" are one id; nothing else is changed. A missing item
    becomes an empty string, so that the others keep their rank.

    Raises UnreadableCellError with `unreadable_<column>` for all else.
    """
    if isinstance(cell, np.ndarray) and cell.ndim == 1:
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [item if isinstance(item, str) else _id(item, column) for item in cell]
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def tool_calls(cell: object, column: str) -> list[ToolCall] | None:
    """Return the calls of tools of a list; None where the cell is missing.

    Each has a `name` and `arguments`, JSON text or None. Raises UnreadableCellError with `unreadable_<column>` for all
    else.
    """
    if isinstance(cell, np.ndarray) and cell.ndim == 1:
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_tool_call(item, column) for item in cell]
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def _tool_call(item: object, column: str) -> ToolCall:
    if not isinstance(item, dict):
        raise UnreadableCellError(f"{UNREADABLE}{column}")
    texts_of = {name: text(item.get(name), column) for name in ("name", "arguments")}
    is_error = item.get("is_error")
    if not (isinstance(is_error, bool) or _is_missing(is_error)):
        raise UnreadableCellError(f"{UNREADABLE}{column}")
    return item | texts_of | {"is_error": is_error if isinstance(is_error, bool) else None}


class Turn(NamedTuple):
    """A turn of a conversation: what the user said, and what the application replied; None where it is not known."""

    question: str | None
    answer: str | None


def turns(cell: object, column: str) -> list[Turn] | None:
    """Return the turns of a list of objects with `question` and `answer`; None where the cell is missing.

    Raises UnreadableCellError with `unreadable_<column>` for all else.
    """
    if isinstance(cell, np.ndarray) and cell.ndim == 1:
        cell = cell.tolist()
    if isinstance(cell, list | tuple) and not isinstance(cell, Turn):
        return [_turn(item, column) for item in cell]
    if _is_missing(cell):
        return None
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def _turn(item: object, column: str) -> Turn:
    if isinstance(item, Turn):
        return item
    if not isinstance(item, Mapping):
        raise UnreadableCellError(f"{UNREADABLE}{column}")
    return Turn(text(item.get("question"), column), text(item.get("answer"), column))


def amount(cell: object, column: str) -> float | None:
    """Return the number of a cell, 0 or more; None where the cell is missing.

    Raises UnreadableCellError with `unreadable_<column>` for all else, such as a text, a negative number or infinity.
    """
    if _is_missing(cell):
        return None
    if isinstance(cell, int | float | np.integer | np.floating | Decimal) and not isinstance(cell, bool):
        number = _as_float(cell)
        if math.isnan(number):
            return None
        if 0 <= number < math.inf:
            return number
    raise UnreadableCellError(f"{UNREADABLE}{column}")


def truth(cell: object, column: str) -> bool | None:
    """Return the truth of a cell; None where the cell is missing, or empty text.

    A file of texts has it as `true`, `yes` or `1`. Raises UnreadableCellError with `unreadable_<column>` for all else.
    """
    if _is_missing(cell) or cell == "":
        return None
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    said = _TRUTHS.get(str(cell).strip().lower()) if isinstance(cell, str | int | float | np.number) else None
    if said is None:
        raise UnreadableCellError(f"{UNREADABLE}{column}")
    return said


def _as_float(number: float | np.integer | np.floating | Decimal) -> float:
    try:
        return float(number)
    except (OverflowError, ValueError):  # a whole number of 400 digits, a signalling NaN
        return math.inf


def _id(item: object, column: str) -> str:
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        return str(int(item))
    return text(item, column) or ""


def _is_missing(cell: object) -> bool:
    if cell is None or (isinstance(cell, float) and cell != cell):
        return True
    return type(cell).__name__ in _MISSING_OF_PANDAS
