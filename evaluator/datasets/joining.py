"""Answers brought together with the ground truth of the same question over the same documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from evaluator.datasets.columns import ANSWERS, GROUND_TRUTH, require
from evaluator.datasets.files import reading
from lake import Storage

Key = tuple[frozenset[str], str]

KEYS = ("documents", "question")
WHY = "by which answers and ground truth are joined"


@dataclass
class GroundTruth:
    """A table of ground truth in memory, and which of its rows had an answer.

    The key is the documents as a set and the question, byte for byte; missing documents are the empty set. A row
    without a question has no partner.
    """

    table: pa.Table
    rows: Mapping[Key, Sequence[int]]
    answered: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, path: str, storage: Storage | None = None) -> GroundTruth:
        """Read a table; DatasetError where it lacks a column of the key."""
        with reading(path, storage) as file:
            require(file.schema_arrow.names, KEYS, path, WHY)
            table = file.read()
        rows: defaultdict[Key, list[int]] = defaultdict(list)
        for row, key in enumerate(_keys(table)):
            if key is not None:
                rows[key].append(row)
        return cls(table, rows)

    def join(self, answers: pa.RecordBatch) -> tuple[int, dict[str, pa.RecordBatch | pa.Table]]:
        """Give how many answers have ground truth, and both tables: a row a pair, in the order of the answers."""
        pairs = [
            (row, partner)
            for row, key in enumerate(_keys(answers))
            if key is not None
            for partner in self.rows.get(key, ())
        ]
        self.answered.update(partner for _, partner in pairs)
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        joined = {
            ANSWERS: answers.take(pa.array(left, pa.int64())),
            GROUND_TRUTH: self.table.take(pa.array(right, pa.int64())),
        }
        return len(set(left)), joined


def _keys(table: pa.RecordBatch | pa.Table) -> Iterable[Key | None]:
    for documents, question in zip(*(table.column(name).to_pylist() for name in KEYS), strict=True):
        yield None if question is None else (_as_set(documents), question)


def _as_set(documents: object) -> frozenset[str]:
    # A bare string is one document, not its letters.
    if isinstance(documents, str):
        return frozenset((documents,))
    return frozenset(documents) if isinstance(documents, list) else frozenset()
