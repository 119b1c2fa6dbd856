"""Earlier runs of a deployment: which answers the next one is compared with, and a regression that is not over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow.dataset as ds

from lake.spec.case_vocabulary import ReplayVerdict
from lake.tables.table import Table

_COLUMNS = ("run_id", "run_started_at", "is_baseline", "compared_with", "verdict", "case_id", "error")
_SAY_NOTHING = (ReplayVerdict.INCOMPLETE, ReplayVerdict.TOO_FEW)
_NO_REFERENCE = (ReplayVerdict.REGRESSION, ReplayVerdict.INCOMPLETE)
_FIRST_RUNS = 30
_LAST_RUNS = 20
"""More runs than these are not read: the first ones are what later ones are compared with."""


@dataclass(frozen=True)
class RegressedRun:
    """The run that found a regression which is not over: its id, its number after the baseline, and when it began."""

    run_id: str
    number: int
    started_at: datetime


@dataclass(frozen=True)
class EarlierRuns:
    """Runs before the next one: the id of the baseline, which number after it the next run has, and what is open.

    `baseline` is None where there is none, `regressed` where no regression is open. `compared` has of each case the run
    whose answer is compared with: the baseline, or the first one after it that answered the case and found nothing.
    `unchanged` are the runs after the baseline that say how much answers and runs vary: those that found no regression,
    in their order.
    """

    baseline: str | None = None
    number: int = 1
    regressed: RegressedRun | None = None
    compared: Mapping[str, str] = field(default_factory=dict)
    unchanged: Sequence[str] = ()


def earlier_runs(table: Table) -> EarlierRuns:
    """Read which runs there were from `replays`.

    A regression is open from the run that found it to the first later one that was compared with the same baseline and
    found none. Runs that say nothing (incomplete, too few, suspected) change nothing.
    """
    rows = [] if table.version() is None else table.read(_COLUMNS).to_pylist()
    runs: dict[tuple[datetime, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["run_id"] is not None:
            runs.setdefault((row["run_started_at"], row["run_id"]), []).append(row)
    ordered = [runs[key] for key in sorted(runs)]
    baseline = next((run for run in reversed(ordered) if run[0]["is_baseline"]), None)
    if baseline is None:
        return EarlierRuns()
    run_id = baseline[0]["run_id"]
    after = [run for run in ordered if run[0]["compared_with"] == run_id]
    number, regressed = 1, None
    for first, *_ in after:
        if first["verdict"] == ReplayVerdict.REGRESSION and regressed is None:
            regressed = RegressedRun(first["run_id"], number, first["run_started_at"])
        elif first["verdict"] == ReplayVerdict.NO_REGRESSION:
            regressed = None
        number += first["verdict"] not in _SAY_NOTHING
    unchanged = [first["run_id"] for first, *_ in after if first["verdict"] not in _NO_REFERENCE]
    kept = [*unchanged[:_FIRST_RUNS], *unchanged[_FIRST_RUNS:][-_LAST_RUNS:]]
    return EarlierRuns(run_id, number, regressed, _compared([baseline, *after]), kept)


def _compared(runs: Sequence[Sequence[Mapping[str, Any]]]) -> Mapping[str, str]:
    compared: dict[str, str] = {}
    for number, run in enumerate(runs):
        # First answers of a run that found a fall may be part of it.
        if number and run[0]["verdict"] in (*_NO_REFERENCE, ReplayVerdict.SUSPECTED):
            continue
        for row in run:
            if row["error"] is None:
                compared.setdefault(row["case_id"], row["run_id"])
    return compared


def answers_compared_with(table: Table, compared: Mapping[str, str]) -> Sequence[dict[str, Any]]:
    """Read the rows of `replays` that the next run is compared with, one a case."""
    if not compared:
        return []
    rows = table.read(where=ds.field("run_id").isin(sorted(set(compared.values())))).to_pylist()
    return [row for row in rows if compared.get(row["case_id"]) == row["run_id"]]


def rows_of_run(table: Table, run_id: str) -> Sequence[dict[str, Any]]:
    """Read the rows of a run."""
    rows: Sequence[dict[str, Any]] = table.read(where=ds.field("run_id") == run_id).to_pylist()
    return rows


def rows_of_unchanged(table: Table, earlier: EarlierRuns) -> Sequence[Sequence[dict[str, Any]]]:
    """Read the rows of each run of `unchanged`, without those that `compared` has."""
    if not earlier.unchanged:
        return []
    rows = table.read(where=ds.field("run_id").isin(list(earlier.unchanged))).to_pylist()
    others = [row for row in rows if earlier.compared.get(row["case_id"]) != row["run_id"]]
    return [[row for row in others if row["run_id"] == run_id] for run_id in earlier.unchanged]
