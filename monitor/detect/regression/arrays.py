"""NumPy types of the regression detector, and helpers for columns of times and runs of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Times = NDArray[np.int64]
"""In microseconds since 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """Return the time so long after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def microseconds(at: datetime) -> int:
    """Return how long after 1970 a time is, the inverse of `moment`."""
    return (at - _EPOCH) // _MICROSECOND


def begins_of(*columns: NDArray[np.int64] | Integers) -> Integers:
    """Places where a run of rows begins that agree in all columns, which are of one length."""
    begins = np.ones(len(columns[0]), dtype=np.bool_)
    begins[1:] = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        begins[1:] |= column[1:] != column[:-1]
    return begins.nonzero()[0]


def sizes_of(begins: Integers, length: int) -> Integers:
    """Return the lengths of runs that begin there, of which the last ends at `length`."""
    sizes = np.empty_like(begins)
    sizes[:-1] = begins[1:]
    sizes[-1:] = length
    return sizes - begins


def groups_of(table: pa.Table, names: Sequence[str]) -> Iterator[Integers]:
    """Yield the places of the rows that agree in these columns, null being a value, in the table's order."""
    group = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        codes = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        if len(codes.dictionary) > 1:
            group = group * len(codes.dictionary) + np.asarray(codes.indices)
            _, group = np.unique(group, return_inverse=True)
    order = np.argsort(group, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(order) else ()
