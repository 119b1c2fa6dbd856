"""One run: the accepted cases of a deployment are asked, scored, compared with the baseline, and written."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from evaluator.judge_binding import is_own_model
from evaluator.metrics import Metric
from evaluator.preferences import Preference, TwoAnswers, preferences, version_of
from evaluator.replays.asking import Asked, Deployment, ask_all
from evaluator.replays.comparison import Comparison, Scores, compare
from evaluator.replays.earlier_runs import (
    EarlierRuns,
    RegressedRun,
    answers_compared_with,
    earlier_runs,
    rows_of_run,
    rows_of_unchanged,
)
from evaluator.replays.kept_answers import Row, kept_scores, values_of
from evaluator.replays.scores import replay_metrics, scores_of
from evaluator.replays.settings import ReplaySettings
from lake.queries.ground_truth.case_versions import cases_in
from lake.queries.ground_truth.question_keys import normalised_question
from lake.queries.preferences import Preferences, preferences_in
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.case_vocabulary import CASE_PASSED, PREFERENCE, CaseStatus, ReplayVerdict
from lake.spec.deployment_families import Families
from lake.spec.vocabulary import UnscoredReason
from lake.tables.lake import Lake
from lake.tables.pass_transaction import PassTransaction
from lake.tables.table import Table

if TYPE_CHECKING:
    from evaluator.judges.blocking_client import BoundJudge

_MOST_UNANSWERED = 0.1
"""Share of the cases: with more the run is incomplete."""


@dataclass(frozen=True)
class ReplayRun:
    """What one run found; `rows` are those of `replays`, as they were written.

    `not_asked` counts the cases that `most_cases` or `most_tokens` left out, `in_conversation` those whose question
    means something in its conversation alone, `changed` those that ask something else than in the baseline, or whose
    version of then is not known. `comparison` is None where there is no baseline. `worse_since` is when the run began
    that found a regression which is not over.
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
    changed: int = 0
    worse_since: datetime | None = None

    @property
    def preferences(self) -> Preferences | None:
        """Which answers a judge prefers, where one was asked."""
        return Preferences.of(value for row in self.rows for value in preferences_in(row))

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
    judge: BoundJudge | None = None,
    families: Families | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
) -> ReplayRun | None:
    """Ask the accepted cases of the deployment `name` again, and write what came of it in one commit.

    A version of an application is asked the cases of older versions too, of `families`, where it has none with their
    question: so a new version is compared before it has cases of its own.

    With `accept` later runs are compared with this one. A `judge` is asked which answers it prefers, these or the
    earlier ones; no verdict depends on that. None, and nothing written, where there is no case to ask, or
    `is_stopping` says so before all are asked: a run that is cut off is none.

    Raises LostRaceError where another run, or an erasure, has written to `replays` meanwhile: then nothing is written.
    """
    started, table = datetime.now(UTC), lake.table(REPLAYS, name)
    # Begun before the cases are read: what is erased meanwhile is not written.
    transaction = PassTransaction(table)
    truths = [lake.table(GROUND_TRUTH, one).read() for one in _with_older(lake, name, families or Families())]
    accepted = _accepted(truths)
    alone = {case["case_id"]: case for case in accepted if case["conversation_hash"] is None and case["question"]}
    if not alone:
        return None
    earlier = earlier_runs(table)
    before = answers_compared_with(table, earlier.compared)
    asked = ask_all(deployment, _drawn(alone, before, settings.most_cases), settings, is_stopping)
    if is_stopping():
        return None
    used = replay_metrics(metrics)
    scored = scores_of(asked, used)
    kept = partial(
        kept_scores,
        cases=alone,
        versions={(row["case_id"], row["version"] or 1): row for truth in truths for row in truth.to_pylist()},
        metrics=used,
    )
    old, changed = kept(before)
    unanswered = {one.case["case_id"] for one in asked if one.reply.answer is None}
    between = [{**kept(rows)[0], **_not_passed(rows)} for rows in rows_of_unchanged(table, earlier)]
    against = partial(compare, old, alpha=settings.alpha, between=between)
    comparison = against(_scores(asked, scored, used), number=earlier.number, unanswered=unanswered)
    fallen = _fall(table, earlier.regressed, kept, against)
    verdict = _verdict(len(unanswered) / len(asked) if asked else 1.0, earlier, comparison, fallen)
    if judge is not None:
        _add_preferences(judge, name, asked, scored, [row for row in before if row["case_id"] in old])
    run_id = secrets.token_hex(8)
    of_run = {
        "run_id": run_id,
        "run_started_at": started,
        "is_baseline": (accept or earlier.baseline is None) and verdict != ReplayVerdict.INCOMPLETE,
        "compared_with": earlier.baseline,
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
        alone,
        {row["case_id"]: row for row in before},
        comparison if earlier.baseline else None,
        len(alone) - len(asked),
        len(accepted) - len(alone),
        len(changed & {one.case["case_id"] for one in asked}),
        earlier.regressed.started_at if earlier.regressed and verdict == ReplayVerdict.REGRESSION else None,
    )


def _with_older(lake: Lake, name: str, families: Families) -> list[str]:
    """Return a deployment and those that are older versions of the same application, the newest first."""
    return [name, *families.older(name, filter(None, lake.deployments()))]


def _accepted(truths: Sequence[pa.Table]) -> list[dict[str, Any]]:
    """Return the accepted cases of versions, the newest first; a question that a newer one has is not asked again."""
    found: list[dict[str, Any]] = []
    asked: set[str] = set()
    for truth in truths:
        cases = cases_in(truth)
        found += [
            case
            for case in cases
            if case["status"] == CaseStatus.ACCEPTED and normalised_question(case["question"] or "") not in asked
        ]
        # One that a person has rejected of the newer version is not asked either.
        asked |= {normalised_question(case["question"]) for case in cases if case["question"]}
    return found


def last_run_at(lake: Lake, name: str) -> datetime | None:
    """Return when the last run of a deployment began."""
    table = lake.table(REPLAYS, name)
    if table.version() is None:
        return None
    times = [at for at in table.read(["run_started_at"])["run_started_at"].to_pylist() if at is not None]
    return max(times, default=None)


def _drawn(cases: Mapping[str, Row], before: Sequence[Row], most: int) -> list[Row]:
    """Return the cases to ask: those of the baseline first, then by id, so that they are the same in each run."""
    compared = {row["case_id"] for row in before}
    return sorted(cases.values(), key=lambda case: (case["case_id"] not in compared, case["case_id"]))[:most]


def _scores(asked: Sequence[Asked], scored: Sequence[Sequence[Row]], metrics: Sequence[Metric]) -> Scores:
    """Return the values by the cases that were answered."""
    pairs = zip(asked, scored, strict=True)
    return {one.case["case_id"]: values_of(found, metrics) for one, found in pairs if one.reply.answer is not None}


def _add_preferences(
    judge: BoundJudge, name: str, asked: Sequence[Asked], scored: Sequence[list[dict[str, Any]]], before: Sequence[Row]
) -> None:
    """Add to the scores of each answer whether the judge prefers it to the kept one."""
    kept = {row["case_id"]: row["answer"] for row in before if row["answer"] is not None}
    places = [place for place, one in enumerate(asked) if one.reply.answer is not None and one.case["case_id"] in kept]
    pairs = [
        TwoAnswers(one.case["question"], one.case["answer"] or "", kept[one.case["case_id"]], one.reply.answer or "")
        for one in (asked[place] for place in places)
    ]
    own = [Preference(None, UnscoredReason.JUDGE_IS_THE_MODEL)] * len(pairs)
    found = own if is_own_model(judge.settings, name) else preferences(judge, pairs)
    named = {"metric": PREFERENCE, "metric_version": version_of(judge.settings), "failed_part": None}
    for place, one in zip(places, found, strict=True):
        scored[place].append(named | {"value": one.value, "reason": one.reason})


def _fall(
    table: Table,
    regressed: RegressedRun | None,
    kept: Callable[[Sequence[Row]], tuple[Scores, Collection[str]]],
    against: Callable[..., Comparison],
) -> Comparison | None:
    """Compare the run that found the open regression with the baseline; None where none is open."""
    if regressed is None:
        return None
    rows = rows_of_run(table, regressed.run_id)
    then, _ = kept(rows)
    return against(then, number=regressed.number, unanswered=_not_passed(rows).keys())


def _not_passed(rows: Sequence[Row]) -> dict[str, Mapping[str, float]]:
    """Return the cases of kept rows that were not answered: they do not pass."""
    return {row["case_id"]: {CASE_PASSED: 0.0} for row in rows if row["answer"] is None}


def _verdict(
    unanswered: float, earlier: EarlierRuns, comparison: Comparison, fallen: Comparison | None
) -> ReplayVerdict:
    if unanswered > _MOST_UNANSWERED:
        return ReplayVerdict.INCOMPLETE
    if earlier.baseline is None:
        return ReplayVerdict.BASELINE
    if comparison.is_regression:
        return ReplayVerdict.REGRESSION
    if fallen is not None and fallen.is_regression:
        is_over = comparison.is_as_good_again(fallen)
        return ReplayVerdict.NO_REGRESSION if is_over else ReplayVerdict.REGRESSION
    if comparison.is_suspect:
        return ReplayVerdict.SUSPECTED
    return ReplayVerdict.NO_REGRESSION if comparison.can_show_regression else ReplayVerdict.TOO_FEW


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
        "cited_only": reply.cited_only,
        "scores": list(scores),
        "error": None if reply.answer is not None else reply.error or "the response has no answer",
        "duration_ms": one.duration_ms,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "price": None,
    }
