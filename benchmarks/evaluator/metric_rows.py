"""Made-up answers and ground truth to measure metrics on, the same for a seed, with few words often and many rarely."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

Texts = Literal["distinct", "recurring", "not ascii"]

_WORDS = 20_000
_CONTEXTS, _CONTEXT = 10, 838
_ANSWER = 1_500
_FOUND, _ABSENT, _FACT = 3, 2, 80
_RECURRING = 500
_ROW_GROUP = 1_000
_TEXT, _LIST = pa.string(), pa.list_(pa.string())

ANSWERS = pa.schema({"question": _TEXT, "documents": _LIST, "context": _LIST, "answer": _TEXT})
TRUTH = pa.schema({"question": _TEXT, "documents": _LIST, "facts": _LIST, "answer": _TEXT})


class Rows:
    """Rows of 10 contexts of 838 characters, 5 facts of 80, of which 3 stand in some context, and 1,500 of an answer.

    Texts are `distinct`, or contexts come from 500 that are `recurring`, or words are also Greek, and quotes and dashes
    those of print (`not ascii`).
    """

    def __init__(self, texts: Texts = "distinct", seed: int = 1) -> None:
        self._random = random.Random(seed)
        letters = "etaoinshrdlcumwfgypbvkxjqz" + ("αβγδεηικλμνοπρσςτω" if texts == "not ascii" else "")
        self._marks = [" "] * 40 + [", "] * 4 + [". "] * 3 + [" - ", "; ", "\n", " (", ") "]
        self._marks += [" “", "” ", " – ", "… "] if texts == "not ascii" else []
        self._words = ["the", "of", "a"] + ["".join(self._random.choices(letters, k=n)) for n in self._lengths()]
        self._weights = list(accumulate(1 / (rank + 3) for rank in range(len(self._words))))
        self._pool = [self._text(_CONTEXT) for _ in range(_RECURRING)] if texts == "recurring" else None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Give rows without end, with all columns of both tables; the reference answer is `reference`."""
        number = 0
        while True:
            contexts = self._random.choices(self._pool, k=_CONTEXTS) if self._pool else self._texts(_CONTEXTS)
            starts = [self._random.randrange(_CONTEXT - _FACT) for _ in range(_FOUND)]
            found = [self._random.choice(contexts)[start : start + _FACT] for start in starts]
            yield {
                "question": f"Question {number}?",
                "documents": [f"{number % 7}.pdf"],
                "context": contexts,
                "answer": self._text(_ANSWER),
                "facts": [*found, *(self._text(_FACT) for _ in range(_ABSENT))],
                "reference": self._text(_FACT),
            }
            number += 1

    def write(self, count: int, folder: Path) -> None:
        """Write `answers.parquet` and `truth.parquet`."""
        rows = iter(self)
        with (
            pq.ParquetWriter(folder / "answers.parquet", ANSWERS) as answers,
            pq.ParquetWriter(folder / "truth.parquet", TRUTH) as truth,
        ):
            for start in range(0, count, _ROW_GROUP):
                some = list(islice(rows, min(_ROW_GROUP, count - start)))
                answers.write_table(pa.Table.from_pylist(some, ANSWERS))
                truth.write_table(pa.Table.from_pylist([row | {"answer": row["reference"]} for row in some], TRUTH))

    def _texts(self, count: int) -> list[str]:
        return [self._text(_CONTEXT) for _ in range(count)]

    def _text(self, length: int) -> str:
        words = self._random.choices(self._words, cum_weights=self._weights, k=length // 3)
        marks = self._random.choices(self._marks, k=len(words))
        spoken = (word.capitalize() if mark == ". " else word for word, mark in zip(words, marks, strict=True))
        return "".join(map("".join, zip(spoken, marks, strict=True)))[:length]

    def _lengths(self) -> list[int]:
        return [2 + min(int(self._random.expovariate(1 / (1 + rank**0.2))), 14) for rank in range(_WORDS)]
