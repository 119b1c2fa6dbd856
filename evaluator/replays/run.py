"""One run: the accepted cases of a deployment are asked, scored, compared with the baseline, and written."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evaluator.metrics import Metric
from evaluator.replays.asking import Asked, Deployment, ask_all
from evaluator.replays.comparison import Comparison, Scores, compare
from evaluator.replays.scores import better_if_higher, replay_metrics, scores_of
from evaluator.replays.settings import ReplaySettings
from lake import GROUND_TRUTH, REPLAYS, CaseStatus, Lake, PassTransaction, ReplayVerdict, read_cases

_READ = ("run_id", "run_started_at", "is_baseline", "compared_with", "verdict", "case_id", "scores", "answer", "error")
"""What is read of earlier runs: no contexts, which are large."""


@dataclass(frozen=True)
class ReplayRun:
    """What one run found; `rows` are those of `replays`, as they were written.

    `not_asked` counts the cases that `most_cases` or `most_tokens` left out, `in_conversation` those whose question
    means something in its conversation alone. `comparison` is None where there is no baseline.
    """

    run_id: str
    deployment: str
    verdict: ReplayVerdict
    rows: Sequence[Mapping[str, Any]]
    cases: Mapping[str, Mapping[str, Any]]
    baseline: Mapping[str, Mapping[str, Any]]
    comparison: Comparison | None
    not_asked: int
    in_conversation: int

    @property
    def errors(self) -> int:
        """Cases that were asked and not answered."""
        return sum(row["error"] is not None for row in self.rows)

    @property
    def tokens(self) -> int:
        """Tokens that the answers took, as far as the deployment counts them."""
        return sum((row["prompt_tokens"] or 0) + (row["completion_tokens"] or 0) for row in self.rows)


def replay(
    lake: Lake,
    name: str,
    deployment: Deployment,
    settings: ReplaySettings,
    metrics: Sequence[Metric],
    *,
    accept: bool = False,
    is_stopping: Callable[[], bool] = lambda: False,
) -> ReplayRun | None:
    """Ask the accepted cases of the deployment `name` again, and write what came of it in one commit.

    With `accept` later runs are compared with this one. None, and nothing written, where there is no case to ask, or
    `is_stopping` says so before all are asked: a run that is cut off is none.

    Raises LostRaceError where another run, or an erasure, has written to `replays` meanwhile: then nothing is written.
    """
    started, table = datetime.now(UTC), lake.table(REPLAYS, name)
    # Begun before the cases are read: what is erased meanwhile is not written.
    transaction = PassTransaction(table)
    accepted = read_cases(lake.table(GROUND_TRUTH, name), (CaseStatus.ACCEPTED,))
    alone = sorted(
        (case for case in accepted if case["conversation_hash"] is None and case["question"]),
        key=lambda case: case["case_id"],
    )
    if not alone:
        return None
    asked = ask_all(deployment, alone[: settings.most_cases], settings, is_stopping)
    if is_stopping():
        return None
    used = replay_metrics(metrics)
    before, number = _baseline(table.read(_READ).to_pylist() if table.version() is not None else [])
    scored = scores_of(asked, used)
    comparison = compare(_values(before, used), _values_of(asked, scored, used), settings.alpha, number)
    verdict = _verdict(asked, bool(before), comparison)
    run_id = secrets.token_hex(8)
    of_run = {
        "run_id": run_id,
        "run_started_at": started,
        "is_baseline": (accept or not before) and verdict != ReplayVerdict.INCOMPLETE,
        "compared_with": before[0]["run_id"] if before else None,
        "verdict": verdict,
        "deployment": name,
    }
    rows = [of_run | _row(run_id, one, scores) for one, scores in zip(asked, scored, strict=True)]
    transaction.append(REPLAYS.rows(rows))
    return ReplayRun(
        run_id,
        name,
        verdict,
        rows,
        {case["case_id"]: case for case in alone},
        {row["case_id"]: row for row in before},
        comparison if before else None,
        len(alone) - len(asked),
        len(accepted) - len(alone),
    )


def last_run_at(lake: Lake, name: str) -> datetime | None:
    """Give when the last run of a deployment began."""
    table = lake.table(REPLAYS, name)
    if table.version() is None:
        return None
    times = [at for at in table.read(["run_started_at"])["run_started_at"].to_pylist() if at is not None]
    return max(times, default=None)


def _baseline(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], int]:
    """Give the rows of the latest baseline, and which number after it the next run has."""
    runs = {row["run_id"]: row for row in rows if row["run_id"] is not None}
    ordered = sorted(runs.values(), key=lambda row: (row["run_started_at"], row["run_id"]))
    baselines = [row for row in ordered if row["is_baseline"]]
    if not baselines:
        return [], 1
    newest = baselines[-1]["run_id"]
    after = sum(row["compared_with"] == newest and row["verdict"] != ReplayVerdict.INCOMPLETE for row in ordered)
    return [row for row in rows if row["run_id"] == newest], after + 1


def _verdict(asked: Sequence[Asked], has_baseline: bool, comparison: Comparison) -> ReplayVerdict:
    answered = sum(one.reply.answer is not None for one in asked)
    if 2 * answered < len(asked) or not asked:
        return ReplayVerdict.INCOMPLETE
    if not has_baseline:
        return ReplayVerdict.BASELINE
    return ReplayVerdict.REGRESSION if comparison.is_regression else ReplayVerdict.NO_REGRESSION


def _values(rows: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]) -> Scores:
    """Give the values of a run by versions of metrics that are in use."""
    versions = {(metric.name, metric.version) for metric in metrics}
    return {
        row["case_id"]: {
            score["metric"]: better_if_higher(metrics, score["metric"], score["value"])
            for score in row["scores"] or ()
            if score["value"] is not None and (score["metric"], score["metric_version"]) in versions
        }
        for row in rows
    }


def _values_of(
    asked: Sequence[Asked], scored: Sequence[Sequence[Mapping[str, Any]]], metrics: Sequence[Metric]
) -> Scores:
    rows = [{"case_id": one.case["case_id"], "scores": scores} for one, scores in zip(asked, scored, strict=True)]
    return _values(rows, metrics)


def _row(run_id: str, one: Asked, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    case, reply = one.case, one.reply
    return {
        "replay_id": hashlib.sha256(f"{run_id} {case['case_id']}".encode()).hexdigest()[:32],
        "case_id": case["case_id"],
        "case_version": case["version"],
        "date": one.asked_at.date(),
        "replayed_at": one.asked_at,
        "response_id": reply.response_id,
        "trace_id": one.trace_id,
        "answer": reply.answer,
        "contexts": reply.contexts,
        "scores": list(scores),
        "error": None if reply.answer is not None else reply.error or "the response has no answer",
        "duration_ms": one.duration_ms,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "price": None,
    }
