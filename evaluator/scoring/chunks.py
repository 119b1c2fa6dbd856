"""Chunks of answers that can be scored in another process, or on another machine: they hold all that metrics need."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pyarrow as pa

from evaluator.answers import LoggedAnswer
from evaluator.judge_binding import judges_itself, sees_images
from evaluator.judges.exchange import Reason
from evaluator.metrics import Metric, ModelUnavailableError, Score, Scores, scores_of
from evaluator.scoring.counts import ScoreCounts
from evaluator.scoring.rows import score_rows
from evaluator.scoring.work import Pair, Work, is_about_retrieval, work_on
from lake.spec.case_vocabulary import ReferenceMatch
from lake.spec.schemas import SCORES
from lake.spec.vocabulary import UnscoredReason


@dataclass(frozen=True)
class Chunk:
    """Some answers of a deployment, and what the lake says about them; no table and no secret.

    `pairs` are those with a case of ground truth. `about` has the columns of an answer's rows that are the same for
    all metrics, by `event_id`. `held` are the ids of scores that are there, `off` names of metrics that cannot run.
    `probabilities` are those of the sample that judges are asked about. `retrieves` says whether the deployment is an
    application that retrieves.
    """

    deployment: str
    answers: Sequence[LoggedAnswer]
    pairs: Sequence[Pair]
    about: Mapping[str, Mapping[str, str | None]]
    now: datetime
    held: Collection[str] = frozenset()
    off: Collection[str] = frozenset()
    is_backfill: bool = False
    probabilities: Mapping[str, float] = field(default_factory=dict)
    retrieves: bool = True


@dataclass(frozen=True)
class Problem:
    """What kept a metric from scoring so many answers.

    It is off, for `why`; or it failed, at `place`; or its judge gave no reply of use about the answers in `failed`.
    """

    metric: str
    answers: int
    why: str | None = None
    place: str | None = None
    failed: Sequence[str] = ()


@dataclass
class ScoredChunk:
    """The rows of `scores` that a chunk gets, and what came of it.

    `matched` says by `event_id` how the case of an answer was found, `still_pending` why a score that is pending did
    not come now.
    """

    rows: pa.Table
    counts: ScoreCounts = field(default_factory=ScoreCounts)
    matched: dict[str, ReferenceMatch] = field(default_factory=dict)
    still_pending: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def score_chunk(metrics: Sequence[Metric], chunk: Chunk) -> ScoredChunk:
    """Score a chunk by metrics. One that cannot run, or fails, leaves the others alone and is among the problems."""
    found = ScoredChunk(SCORES.rows([]))
    rows: list[dict[str, Any]] = []
    for whole in work_on(chunk.answers, metrics, chunk.pairs, chunk.held):
        for work, refused in _with_refused(whole, chunk):
            scores = refused or _scores(work, chunk, found)
            if scores is None:
                found.counts.left_out[work.metric.name] += len(work.pairs)
            else:
                rows += _added(work, scores, chunk, found)
    found.rows = SCORES.rows(rows)
    return found


def _scores(work: Work, chunk: Chunk, found: ScoredChunk) -> Scores | None:
    metric = work.metric
    if metric.name in chunk.off:
        return None
    try:
        return scores_of(metric, work.frame).with_details()
    except ModelUnavailableError as error:
        found.problems.append(Problem(metric.name, len(work.pairs), why=str(error)))
    except Exception as error:  # what is wrong with one metric is not wrong with the others
        # Not its message and no trace: a metric's errors may quote what people wrote.
        place = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{type(error).__name__} at {place.filename}:{place.lineno}"
        found.problems.append(Problem(metric.name, len(work.pairs), place=at))
    return None


def _with_refused(work: Work, chunk: Chunk) -> Iterator[tuple[Work, Scores | None]]:
    """Yield the work, and apart from it, with its scores, that on answers of which the metric can say nothing."""
    why = [_why_refused(work.metric, answer, chunk) for answer, _ in work.pairs]
    if not any(why):
        yield work, None
        return
    for reason in sorted(set(why), key=lambda one: one or ""):
        places = [i for i, one in enumerate(why) if one == reason]
        part = Work(work.metric, work.frame.rows(places), [work.pairs[i] for i in places])
        yield part, Scores.of([Score(None, reason)] * len(places), part.frame.index) if reason else None


def _why_refused(metric: Metric, answer: LoggedAnswer, chunk: Chunk) -> UnscoredReason | None:
    if judges_itself(metric, answer):
        return UnscoredReason.JUDGE_IS_THE_MODEL
    if not chunk.retrieves and not answer.contexts and is_about_retrieval(metric):
        return UnscoredReason.NO_RETRIEVAL
    if answer.is_image_pending and sees_images(metric):
        return UnscoredReason.JUDGE_UNAVAILABLE
    return None


def _added(work: Work, scores: Scores, chunk: Chunk, found: ScoredChunk) -> Iterator[dict[str, Any]]:
    """Yield the rows of a metric's scores, and count them."""
    counts, failed = found.counts, list[str]()
    rows = score_rows(work, scores, chunk.now, chunk.probabilities)
    for row, (answer, reference) in zip(rows, work.pairs, strict=True):
        if reference is not None:
            found.matched.setdefault(answer.event_id, reference.match)
        counts.spend += row.pop("spend")
        if row["reason"] == UnscoredReason.NO_CONTEXTS and not chunk.retrieves:
            row["reason"] = UnscoredReason.NO_RETRIEVAL
        if row["score_id"] in chunk.held:
            counts.still_pending[row["reason"]] += 1
            found.still_pending[row["event_id"]] = row["reason"]
            continue
        counts.scored += row["value"] is not None
        counts.unscored.update([row["reason"]] if row["value"] is None else [])
        if row["reason"] == Reason.FAILED:
            failed.append(row["event_id"])
        yield row | dict(chunk.about[answer.event_id]) | {"is_backfill": chunk.is_backfill}
    if failed:
        found.problems.append(Problem(work.metric.name, len(work.pairs), failed=failed))
