"""The worst answers of each batch, for the texts of alerts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from monitor.detect.regression.arrays import Floats, Times, begins_of, sizes_of
from monitor.detect.regression.reading import WorstAnswers

_MOST = 5
_REMEMBERED_BATCHES = 500


@dataclass(frozen=True, slots=True)
class WorstByBatch:
    """Ids and values of answers, with the time of each and the end of its batch, by these."""

    ends: Times
    at: Times
    values: Floats
    responses: pa.StringArray

    @classmethod
    def empty(cls) -> Self:
        """Return columns without a row."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), pa.array([], pa.string()))

    def where(self, chosen: NDArray[np.bool_]) -> Self:
        """Return the answers that are chosen; `chosen` has shape (answers,)."""
        responses = self.responses.filter(pa.array(chosen))
        return type(self)(self.ends[chosen], self.at[chosen], self.values[chosen], responses)

    def followed_by(self, later: WorstByBatch) -> Self:
        """Return these and, behind them, those of later batches."""
        ends, at = np.concatenate([self.ends, later.ends]), np.concatenate([self.at, later.at])
        values = np.concatenate([self.values, later.values])
        return type(self)(ends, at, values, pa.concat_arrays([self.responses, later.responses]))

    def of_latest(self) -> Self:
        """Return those of the latest 500 batches that can still be among the worst five from some batch on."""
        begins = begins_of(self.ends)
        if not len(begins):
            return self
        latest = self.ends >= self.ends[begins[-_REMEMBERED_BATCHES:][0]]
        return self.where(latest & ~self._outdone())

    def worst(self) -> WorstAnswers:
        """Return the worst five, worst first; of equals the latest."""
        places = np.lexsort((-self.at, self.values))[:_MOST]
        return tuple(zip(self.responses.take(pa.array(places)).to_pylist(), self.values[places].tolist(), strict=True))

    def _outdone(self) -> NDArray[np.bool_]:
        """Return for each whether five of its own or later batches are worse: then it is never shown again."""
        outdone = np.ones(len(self.ends), dtype=np.bool_)
        worst: list[tuple[float, int]] = []
        keys = list(zip(self.values.tolist(), (-self.at).tolist(), strict=True))
        begins = begins_of(self.ends)
        for begin, size in zip(begins[::-1].tolist(), sizes_of(begins, len(keys))[::-1].tolist(), strict=True):
            worst = sorted([*worst, *keys[begin : begin + size]])[:_MOST]
            outdone[begin : begin + size] = [key > worst[-1] for key in keys[begin : begin + size]]
        return outdone


def worst_of_each(ends: Times, at: Times, values: Floats, responses: pa.DictionaryArray) -> WorstByBatch:
    """Return the worst five answers of each batch, of equals the latest; a batch is known by its end."""
    order = np.lexsort((-at, values, ends))
    begins = begins_of(ends[order])
    place = np.arange(len(order)) - np.repeat(begins, sizes_of(begins, len(order)))
    chosen = order[place < _MOST]
    return WorstByBatch(ends[chosen], at[chosen], values[chosen], responses.take(pa.array(chosen)).dictionary_decode())
