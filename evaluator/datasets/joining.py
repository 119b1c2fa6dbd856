"""Join of answers with the ground truth of the same question over the same documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any, TypeVar

import pyarrow as pa

from evaluator.datasets.columns import ANSWERS, GROUND_TRUTH, list_in, require
from evaluator.datasets.files import reading
from lake.queries.frames import OTHER_CASES
from lake.tables.storage import Storage

Key = tuple[frozenset[str], str]
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

KEYS = ("documents", "question")
WHY = "by which answers and ground truth are joined"


CASE, SOURCE, ANSWER, TEXT = "case_id", "source_response_id", "response_id", "answer"
"""Columns that say which case an answer is compared with, and which answer a case was made of: where several cases name
the id of an answer, its text decides."""


@dataclass
class GroundTruth:
    """A table of ground truth in memory, and which of its rows had an answer.

    The key is the documents as a set and the question, byte for byte; missing documents are the empty set. A row
    without a question has no partner. `rows` are those of a key; each is given with the other cases that the table has
    for it (`lake.ground_truth_frame`), the best first. Answers that name their case, as those of `lake.answers_frame`
    do, are joined with that one, and by the key only with rows that are no case. No answer is joined with the case that
    was made of it.
    """

    table: pa.Table
    rows: Mapping[Key, Sequence[Sequence[int]]]
    answered: set[int] = field(default_factory=set)

    @classmethod
    def read(cls, path: str, storage: Storage | None = None) -> GroundTruth:
        """Read a table; DatasetError where it lacks a column of the key."""
        with reading(path, storage) as file:
            require(file.schema_arrow.names, KEYS, path, WHY)
            table = file.read()
        table, cases = with_other_cases(table)
        rows: defaultdict[Key, list[Sequence[int]]] = defaultdict(list)
        for row, key in zip(cases, _keys(table), strict=False):
            if key is not None:
                rows[key].append(row)
        return cls(table, rows)

    def join(self, answers: pa.RecordBatch) -> tuple[int, dict[str, pa.RecordBatch | pa.Table]]:
        """Return how many answers have ground truth, and both tables: a row a pair, in the order of the answers."""
        pairs = [(row, partner) for row, partners in enumerate(self._partners(answers)) for partner in partners]
        self.answered.update(partner for _, partner in pairs)
        left, right = ([pair[side] for pair in pairs] for side in (0, 1))
        return len(set(left)), {ANSWERS: _taken(answers, left), GROUND_TRUTH: _taken(self.table, right)}

    def _partners(self, answers: pa.RecordBatch) -> Iterator[Sequence[int]]:
        names_case = CASE in answers.schema.names and CASE in self.table.schema.names
        named = _ids(answers, CASE) if names_case else repeat(None)
        told = zip(_keys(answers), _ids(answers, ANSWER), _cells(answers, TEXT), named, strict=False)
        for key, own, text, case in told:
            by_key = [] if key is None else [self._best(row, own, text) for row in self.rows.get(key, ())]
            found = [partner for partner in by_key if partner is not None]
            if names_case:
                found = [partner for partner in found if self._cases[partner] is None]
                found += [self._by_case[case]] if case is not None and case in self._by_case else []
            yield found

    def _best(self, cases: Sequence[int], own: str | None, text: str | None) -> int | None:
        return next((case for case in cases if not self._is_made_of(case, own, text)), None)

    def _is_made_of(self, case: int, own: str | None, text: str | None) -> bool:
        if own is None or self._sources[case] != own:
            return False
        return own not in self._shared or self._texts[case] == text

    @cached_property
    def _shared(self) -> frozenset[str | None]:
        """Ids that several cases name as that of their answer: some gateways send one id for all."""
        return frozenset(source for source, cases in Counter(self._sources).items() if cases > 1)

    @cached_property
    def _texts(self) -> Sequence[str | None]:
        return list(_cells(self.table, TEXT))

    @cached_property
    def _sources(self) -> Sequence[str | None]:
        return list(_ids(self.table, SOURCE))

    @cached_property
    def _cases(self) -> Sequence[str | None]:
        return list(_ids(self.table, CASE))

    @cached_property
    def _by_case(self) -> Mapping[str, int]:
        return {case: row for row, case in enumerate(self._cases) if case is not None}


def _taken(table: Rows, places: Sequence[int]) -> Rows:
    """Return rows by their places; where these are neighbours, none is copied."""
    first = places[0] if places else 0
    if places == list(range(first, first + len(places))):
        return table.slice(first, len(places))
    return table.take(pa.array(places, pa.int64()))


def with_other_cases(table: pa.Table) -> tuple[pa.Table, Sequence[Sequence[int]]]:
    """Return the table with each of its other cases as a row of its own at the end, and by row all of its cases."""
    rows = range(len(table))
    if OTHER_CASES not in table.schema.names:
        return table, [(row,) for row in rows]
    given = map(_as_list, _cells(table, OTHER_CASES))
    others = [(row, one) for row, cell in zip(rows, given, strict=True) for one in cell if isinstance(one, dict)]
    cases: list[list[int]] = [[row] for row in rows]
    for place, (row, _) in enumerate(others, len(table)):
        cases[row].append(place)
    whole = table.drop_columns([OTHER_CASES]).take(pa.array([*rows, *(row for row, _ in others)], pa.int64()))
    for name in {name for _, one in others for name in one}:
        cells = [*_cells(table, name), *(one.get(name) for _, one in others)]
        if name in whole.schema.names:
            column = _column(cells, whole.schema.field(name).type)
            whole = whole.set_column(whole.schema.get_field_index(name), name, column)
        else:
            whole = whole.append_column(name, pa.array(cells))
    return whole, cases


def _column(cells: Sequence[object], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(cells, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Where all cells of the table are empty their type is none.
        return pa.array(cells)


def _cells(table: pa.RecordBatch | pa.Table, name: str) -> Iterable[Any]:
    return table.column(name).to_pylist() if name in table.schema.names else [None] * len(table)


def _ids(table: pa.RecordBatch | pa.Table, name: str) -> Iterator[str | None]:
    """Yield ids as text: what is a number in one form of a table, and 1.0 beside empty cells, is text in another."""
    for cell in _cells(table, name):
        is_whole = isinstance(cell, float) and cell.is_integer()
        yield None if cell is None or cell == "" else str(int(cell) if is_whole else cell)


def _keys(table: pa.RecordBatch | pa.Table) -> Iterable[Key | None]:
    for documents, question in zip(*(table.column(name).to_pylist() for name in KEYS), strict=True):
        yield (frozenset(map(str, _as_list(documents))), question) if question else None


def _as_list(cell: object) -> list[Any]:
    """Return a list, also one that stands in a text as JSON; a bare text is one item, not its letters."""
    if not isinstance(cell, str):
        return cell if isinstance(cell, list) else []
    try:
        return list_in(cell) or []
    except ValueError:
        return [cell]
