"""Signals joined with the answers that they are about, by any id of the answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def signals_by_answer(
    answers: pa.Table, signals: pa.Table, ids: Sequence[str]
) -> Mapping[int, Sequence[Mapping[str, Any]]]:
    """Give the signals on each answer, by its number in the table; answers without one are absent.

    A signal's `response_id` is one of the answer's `response_ids`, or stands in one of its columns `ids`.
    """
    by_id: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in signals.to_pylist():
        by_id[row["response_id"]].append(row)
    numbers, known = _ids(answers, ids)
    have_some = pc.is_in(known, pa.array([name for name in by_id if name is not None], pa.string()))
    of_answer: dict[int, set[str]] = defaultdict(set)
    for number, name in zip(numbers.filter(have_some).to_pylist(), known.filter(have_some).to_pylist(), strict=True):
        of_answer[number].add(name)
    return {number: [row for name in names for row in by_id[name]] for number, names in of_answer.items()}


def latest_of_each_person(rows: Iterable[Mapping[str, Any]]) -> dict[str | None, str]:
    """Give what each person said last (`signal`); all that name nobody are one person."""
    ordered = sorted(rows, key=lambda row: (row["signaled_at"] is not None, row["signaled_at"], row["signal_id"] or ""))
    return {row["user_id"]: row["signal"] for row in ordered}


def _ids(answers: pa.Table, columns: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Give every id of every answer, and the number of the answer that has it."""
    many = answers["response_ids"].combine_chunks()
    each = pa.array(range(answers.num_rows), pa.int64())
    numbers = pa.concat_arrays([pc.list_parent_indices(many), *[each] * len(columns)])
    single = [answers[name].combine_chunks() for name in columns]
    return numbers, pa.concat_arrays([pc.list_flatten(many), *single])
