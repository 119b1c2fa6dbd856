"""Versions of cases of ground truth: each change of a case is one more row of its table, and the newest is the case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lake.delta_log.change import LostRaceError
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from lake.tables.table import Table

EVALUATOR = "evaluator"
"""`ground_truth.updated_by` and `status_by` of what no person did."""

Changes = Mapping[str, Any]
"""Columns of a case that a new version sets."""

_ATTEMPTS = 10


class CaseChangedError(Exception):
    """A case has another version than the one that was to be changed: somebody was faster."""


def newest_versions(rows: pa.Table) -> pa.Table:
    """Return of each case its newest version, in the order of the rows; columns `case_id` and `version` are needed.

    Rows of lakes that had no versions are version 1.
    """
    newest: dict[str, tuple[int, int]] = {}
    for at, (case_id, version) in enumerate(_ids_of(rows)):
        if version >= newest.get(case_id, (0, 0))[0]:
            newest[case_id] = (version, at)
    return rows.take(pa.array(sorted(at for _, at in newest.values()), pa.int64()))


def is_doubted(case: Mapping[str, Any]) -> bool:
    """Whether a proposed case has a `doubt`: then no rule accepts it, and no answer is compared with it."""
    return case["status"] == CaseStatus.PROPOSED and case["doubt"] is not None


def read_cases(truth: Table, status: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the cases of a deployment as they are, with all columns: of these statuses, or all of them."""
    cases = cases_in(truth.read())
    return cases if status is None else [case for case in cases if case["status"] in status]


def case_history(truth: Table, case_id: str) -> list[dict[str, Any]]:
    """Return the versions of a case, the newest first; none where there is no such case."""
    return history_in(truth.read(), case_id)


def cases_in(rows: pa.Table) -> list[dict[str, Any]]:
    """Return the cases of a deployment as they are, from all rows of its table."""
    return _numbered(newest_versions(rows))


def history_in(rows: pa.Table, case_id: str) -> list[dict[str, Any]]:
    """Return the versions of a case, the newest first, from all rows of its table."""
    versions = _numbered(rows.filter(pc.equal(rows["case_id"], case_id)))
    return sorted(versions, key=lambda row: row["version"], reverse=True)


def write_cases(
    lake: Lake, deployment: str, make: Callable[[Mapping[str, Mapping[str, Any]]], Sequence[dict[str, Any]]]
) -> Sequence[dict[str, Any]]:
    """Write the rows that `make` gives, new cases and next versions, in one commit, and return these rows.

    `make` gets the cases as they are, by their ids; it is asked again where somebody else has changed the table
    meanwhile. Raises LostRaceError where others are faster ten times in a row.
    """
    # A handle of its own: two threads that share one do not see each other's commits.
    truth = lake.table(GROUND_TRUTH, deployment)
    for _ in range(_ATTEMPTS):
        # Begun before the cases are read: what it appends knows all of them, or is refused.
        transaction = PassTransaction(truth)
        made = make({case["case_id"]: case for case in read_cases(truth)})
        try:
            if made:
                transaction.append(GROUND_TRUTH.rows(made))
        except LostRaceError:
            continue
        return made
    raise LostRaceError(f"{truth.uri} was changed by others {_ATTEMPTS} times in a row: try again")


def change_cases(
    lake: Lake,
    deployment: str,
    change: Callable[[Mapping[str, Mapping[str, Any]]], Mapping[str, Changes]],
    who: str,
    now: datetime,
) -> Sequence[dict[str, Any]]:
    """Write a new version of each case that `change` gives columns for, in one commit, and return these versions.

    `change` gets the cases as they are, by their ids, and gives by id the columns that change; it is asked again where
    somebody else has changed the table meanwhile. Who gives another status stands in `status_by`. Raises KeyError for a
    case that is not there, LostRaceError where others are faster ten times in a row.
    """

    def make(cases: Mapping[str, Mapping[str, Any]]) -> Sequence[dict[str, Any]]:
        return [next_version(cases[case_id], columns, who, now) for case_id, columns in change(cases).items()]

    return write_cases(lake, deployment, make)


def change_case(
    lake: Lake,
    deployment: str,
    case_id: str,
    columns: Changes,
    who: str,
    now: datetime,
    *,
    of_version: int | None = None,
) -> dict[str, Any] | None:
    """Write a new version of one case, and return it; None where there is no such case.

    Raises CaseChangedError where its version is no longer `of_version`.
    """

    def change(cases: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Changes]:
        case = cases.get(case_id)
        if case is None:
            return {}
        if of_version not in (None, case["version"]):
            by = f"{case['updated_by']} has made version {case['version']} of it"
            raise CaseChangedError(f"case {case_id} is no longer what was shown: {by}")
        return {case_id: columns}

    changed = change_cases(lake, deployment, change, who, now)
    return changed[0] if changed else None


def next_version(case: Mapping[str, Any], columns: Changes, who: str, now: datetime) -> dict[str, Any]:
    """Return the next version of a case, with these columns; who gives another status stands in `status_by`."""
    made = {"version": (case["version"] or 1) + 1, "updated_at": now, "updated_by": who, "note": None}
    if columns.get("status", case["status"]) != case["status"]:
        made |= {"status_by": who, "status_at": now}
    return {**case, **made, **columns}


def _numbered(rows: pa.Table) -> list[dict[str, Any]]:
    return [row | {"version": row["version"] or 1} for row in rows.to_pylist()]


def _ids_of(rows: pa.Table) -> list[tuple[str, int]]:
    ids, versions = rows["case_id"].to_pylist(), rows["version"].to_pylist()
    return [(case_id, version or 1) for case_id, version in zip(ids, versions, strict=True)]
