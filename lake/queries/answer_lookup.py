"""Lookup of a response id: the calls whose answer carries it, in several deployments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import pyarrow.dataset as ds

from lake.queries.ground_truth.case_sources import source_rows
from lake.spec.schemas import PARSED_LOGS
from lake.tables.day_reading import DayReader, map_at_once
from lake.tables.id_index import files_without
from lake.tables.lake import Lake

_IDS = ("response_id", "response_ids", "event_id")
_COLUMNS = ("event_id", "date", "requested_at", "is_entry")
_CHARACTERS = 200
"""Of a question."""
_FEW_FILES = 200
"""So many are read as soon as the index is."""


@dataclass(frozen=True)
class AnswerAddress:
    """Where the row of a call is; `is_entry` says that a person made it and saw its answer."""

    deployment: str | None
    date: date
    event_id: str
    requested_at: datetime
    is_entry: bool


def locate_response(
    lake: Lake,
    response_id: str,
    deployments: Iterable[str | None],
    first: date = date.min,
    last: date = date.max,
) -> list[AnswerAddress]:
    """Find the calls from `first` to `last` whose answer carries an id, or with this `event_id`, the latest first.

    An application may hand on the answer of its model, so several deployments may have the same id. Only the ids of
    the rows are read, and of files that the index of ids knows (`_id_index`) those alone that can have this one.
    """
    found = {}
    readers = {one: DayReader(lake.table(PARSED_LOGS, one), first, last) for one in dict.fromkeys(deployments)}
    is_large = sum(map_at_once(lake.root, DayReader.number_of_files, list(readers.values()))) > _FEW_FILES
    without = files_without(lake, [response_id], first, last) if is_large else {}
    for deployment, reader in readers.items():
        skipped = without.get(deployment, frozenset())
        for row in reader.read_rows(_IDS, [response_id], _COLUMNS, without=skipped).to_pylist():
            address = AnswerAddress(
                deployment, row["date"], row["event_id"], row["requested_at"], bool(row["is_entry"])
            )
            found[deployment, row["event_id"]] = address
    return sorted(found.values(), key=lambda one: (one.requested_at, one.deployment or "", one.event_id), reverse=True)


@dataclass(frozen=True)
class Asked:
    """A question, shortened, and when it was asked."""

    question: str
    requested_at: datetime


def questions_of(lake: Lake, deployment: str | None, ids: Iterable[str], first: date, last: date) -> dict[str, Asked]:
    """Return by id the questions of a deployment's answers from `first` to `last`, shortened.

    Of calls that carry the same id that of a person comes before that of a program.
    """
    reader = DayReader(lake.table(PARSED_LOGS, deployment), first, last)
    rows = reader.read_rows(_IDS, ids, ("ingested_at", "is_entry", "question", "requested_at", *_IDS))
    found: dict[str, Asked] = {}
    # The last one counts.
    for row in rows.sort_by([("is_entry", "ascending"), ("ingested_at", "ascending")]).to_pylist():
        if row["question"]:
            text = row["question"] if len(row["question"]) <= _CHARACTERS else f"{row['question'][:_CHARACTERS]}…"
            asked = Asked(text, row["requested_at"])
            found |= dict.fromkeys({row["event_id"], row["response_id"], *(row["response_ids"] or ())} - {None}, asked)
    return found


def locate_source(lake: Lake, deployment: str | None, case: Mapping[str, Any]) -> AnswerAddress | None:
    """Find the answer that a row of `ground_truth` was made of; None where it is no longer in the log.

    None too where several answers have its id, and it is not known which of them it was (`source_rows`).
    """
    logs = lake.table(PARSED_LOGS, deployment)
    row = source_rows(logs, [case], ["requested_at"], ds.field("is_entry")).get(case["case_id"])
    return None if row is None else AnswerAddress(deployment, row["date"], row["event_id"], row["requested_at"], True)


def own_id(lake: Lake, row: Mapping[str, Any]) -> str:
    """Return the id that names a row of `parsed_logs` alone: its `response_id`, else its `event_id`.

    The ids of the whole log of its deployment are read.
    """
    if row["response_id"] is None:
        return str(row["event_id"])
    found = locate_response(lake, row["response_id"], [row["deployment"]])
    is_one = {one.event_id for one in found} == {row["event_id"]}
    return str(row["response_id"] if is_one else row["event_id"])
