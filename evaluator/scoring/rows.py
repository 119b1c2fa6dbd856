"""Rows of `scores`, made of answers, in one way for new and old ones."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers import AT_ONCE, DeploymentTables, LoggedAnswer, identity
from evaluator.judge_binding import asks_judge, judge_named, judges_itself, split
from evaluator.judges import Spend
from evaluator.judges.exchange import NOT_FOR_GOOD, TRANSIENT, Reason
from evaluator.metrics import MEASURED_COLUMNS, Metric, ModelUnavailableError, Score, Scores, needs_ground_truth
from evaluator.sampling import Sampling, flagged
from evaluator.scoring.segments import segment_of
from lake import SCORES, CaseBook, JudgeKind, QuestionKeys, Reference, Table, UnscoredReason

logger = logging.getLogger(__name__)

_NAMED_AT_MOST = 5


@dataclass
class ScoreCounts:
    """What came of answers: scores with a value, without one by reason, and answers a metric left out by its name.

    `still_pending` counts, by reason, the scores that were retried and did not come. `not_sampled` counts the answers
    that no judge was asked about, `judged` the others; `matched` counts those that were compared with a case, by how it
    was found (`scores.reference_match`). `expected` is how many of all the whole sample would have, and
    `spend` what it took.
    """

    scored: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    still_pending: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    not_sampled: int = 0
    judged: int = 0
    expected: float = 0.0
    spend: Spend = field(default_factory=Spend)

    @property
    def total(self) -> int:
        """All scores, with a value or without."""
        return self.scored + self.unscored.total()

    def add(self, other: ScoreCounts) -> None:
        """Add what came of other answers."""
        self.scored += other.scored
        self.unscored += other.unscored
        self.left_out += other.left_out
        self.still_pending += other.still_pending
        self.matched += other.matched
        self.not_sampled += other.not_sampled
        self.judged += other.judged
        self.expected += other.expected
        self.spend += other.spend

    @property
    def pending(self) -> int:
        """Scores that a judge did not give now, and may give later."""
        without = self.unscored + self.still_pending
        return sum(number for reason, number in without.items() if reason in TRANSIENT)

    @property
    def is_budget_spent(self) -> bool:
        """Whether a judge's budget did not do."""
        return bool(self.unscored[Reason.BUDGET] or self.still_pending[Reason.BUDGET])


@dataclass(frozen=True)
class Work:
    """A metric and the rows that it is to score, with the answer of each, and the case if it is compared with one."""

    metric: Metric
    frame: pd.DataFrame
    pairs: Sequence[tuple[LoggedAnswer, Reference | None]]


def answers_at_once(metrics: Sequence[Metric]) -> int:
    """Give how many answers to score between two looks at whether to stop or to commit: few where models are asked."""
    return AT_ONCE if all(metric.judge == JudgeKind.LEXICAL for metric in metrics) else 50


def score_id(answer: LoggedAnswer, metric: Metric) -> str:
    """Give the id that the one score of an answer by a version of a metric has."""
    return identity(answer.event_id, metric.name, metric.version)


def pending_id(event_id: str, metric: str, version: str) -> str:
    """Give the id of the row that says that a score is pending; the score itself comes later under its own id."""
    return identity(event_id, metric, version, "owed")  # the word is a part of ids that are stored


def held_score_ids(scores: Table, metrics: Sequence[Metric], where: ds.Expression | None = None) -> frozenset[str]:
    """Read which scores by these very versions of metrics a table has, among the rows that `where` lets through."""
    versions = {(metric.name, metric.version) for metric in metrics}
    named = ds.field("metric").isin([name for name, _ in versions])
    rows = scores.read(["score_id", "metric", "metric_version"], named if where is None else named & where)
    held: set[str] = set()
    for name, version in versions:
        of_version = pc.and_(pc.equal(rows["metric"], name), pc.equal(rows["metric_version"], version))
        held.update(rows["score_id"].filter(of_version).to_pylist())
    return frozenset(held)


def work_on(
    some: Sequence[LoggedAnswer], metrics: Sequence[Metric], cases: CaseBook, held: Collection[str] = ()
) -> Iterator[Work]:
    """Give what there is to do for answers: each metric with the answers that it can score and whose score is not held.

    A metric that needs ground truth can score only answers to a question for which there is an earlier case.
    """
    free = [metric for metric in metrics if not needs_ground_truth(metric)]
    compared = [metric for metric in metrics if needs_ground_truth(metric)]
    if free and some:
        contexts, ids = [answer.contexts for answer in some], [_known_ids(answer) for answer in some]
        yield from _without_held(free, _frame(some, contexts=contexts, context_ids=ids), list(some), held)
    pairs = cases.earlier(some) if compared else []
    if not pairs:
        return
    frame = _frame(
        [answer for answer, _ in pairs],
        # Cited chunks are a part of what was retrieved: too little to say what retrieval missed.
        contexts=[None if answer.cited_only else answer.contexts for answer, _ in pairs],
        context_ids=[None if answer.cited_only else _known_ids(answer) for answer, _ in pairs],
        facts=[list(found.case.facts) for _, found in pairs],
        reference_answers=[[found.case.answer] for _, found in pairs],
        reference_context_ids=[list(found.case.context_ids) for _, found in pairs],
    )
    yield from _without_held(compared, frame, pairs, held)


def _without_held(
    metrics: Sequence[Metric],
    frame: pd.DataFrame,
    given: Sequence[LoggedAnswer | tuple[LoggedAnswer, Reference]],
    held: Collection[str],
) -> Iterator[Work]:
    pairs = [one if isinstance(one, tuple) else (one, None) for one in given]
    for metric in metrics:
        new = [i for i, (answer, _) in enumerate(pairs) if not held or score_id(answer, metric) not in held]
        if new:
            yield Work(metric, frame if len(new) == len(pairs) else frame.iloc[new], [pairs[i] for i in new])


def _known_ids(answer: LoggedAnswer) -> list[str | None] | None:
    """Give the ids of what was retrieved; None where chunks were, and none of them has an id."""
    ids = answer.context_ids
    return ids if not ids or any(ids) else None


def _frame(some: Sequence[LoggedAnswer], **columns: list[Any]) -> pd.DataFrame:
    columns |= {"question": [answer.question for answer in some], "answer": [answer.text for answer in some]}
    columns |= {"duration_ms": [answer.duration_ms for answer in some], "price": [answer.price for answer in some]}
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


class Scorer:
    """Applies metrics to answers and leaves out those that cannot run.

    A metric whose model cannot be loaded is off from then on: that is logged once. One that fails in another way is
    logged each time, and tried again with the next answers.
    """

    def __init__(self, question_keys: QuestionKeys) -> None:
        self._off: set[str] = set()
        self._question_keys = question_keys

    def rows(
        self,
        tables: DeploymentTables,
        some: Sequence[LoggedAnswer],
        metrics: Sequence[Metric],
        cases: CaseBook,
        now: datetime,
        *,
        held: Collection[str] = (),
        is_backfill: bool = False,
        sampling: Sampling | None = None,
    ) -> tuple[pa.Table, ScoreCounts]:
        """Give the rows of `scores` that these answers lack, `held` being the ids of those that are there.

        A judge is asked about those of the answers that are in the sample.
        """
        batch = _RowsOfAnswers(tables.deployment, self._question_keys, cases, now, held, is_backfill)
        free, judged = split(metrics)
        self._add(batch, some, free)
        if judged:
            sampling = sampling or Sampling()
            suspicious = flagged(some, batch.rows, tables.signals) if sampling.settings.uses_flags else set()
            batch.count_sample(sampling, some, suspicious)
            self._add(batch, [answer for answer in some if answer.event_id in batch.probabilities], judged)
        return SCORES.rows(batch.rows), batch.counts

    def retried_rows(
        self,
        tables: DeploymentTables,
        some: Sequence[LoggedAnswer],
        metric: Metric,
        cases: CaseBook,
        now: datetime,
        probabilities: Mapping[str, float],
        held: Collection[str],
    ) -> tuple[pa.Table, ScoreCounts, Mapping[str, str]]:
        """Give the rows of pending scores that came now, and why others did not, by `event_id`.

        `probabilities` are those with which the answers were in the sample.
        """
        batch = _RowsOfAnswers(tables.deployment, self._question_keys, cases, now, held, is_backfill=False)
        batch.probabilities.update(probabilities)
        self._add(batch, some, [metric])
        return SCORES.rows(batch.rows), batch.counts, batch.still_pending

    def _add(self, batch: _RowsOfAnswers, some: Sequence[LoggedAnswer], metrics: Sequence[Metric]) -> None:
        for whole in work_on(some, metrics, batch.cases, batch.held):
            for work, refused in _without_own_model(whole):
                scores = refused or self._scores(work, batch.deployment)
                if scores is None:
                    batch.counts.left_out[work.metric.name] += len(work.pairs)
                else:
                    batch.add(work, scores)

    def _scores(self, work: Work, deployment: str) -> Scores | None:
        metric, fields = work.metric, {"deployment": deployment, "metric": work.metric.name}
        if metric.name in self._off:
            return None
        try:
            return metric.score(work.frame)
        except ModelUnavailableError as error:
            self._off.add(metric.name)
            logger.warning(
                "metric %r is off: %s. %s", metric.name, error, _RUN_BACKFILL.format(metric.name), extra=fields
            )
        except Exception as error:  # what is wrong with one metric is not wrong with the others
            # Not its message and no trace: a metric's errors may quote what people wrote.
            place = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{type(error).__name__} at {place.filename}:{place.lineno}"
            text = "metric %r failed on %d answers of deployment %r with %s. %s"
            logger.error(
                text, metric.name, len(work.pairs), deployment, at, _RUN_BACKFILL.format(metric.name), extra=fields
            )
        return None


_RUN_BACKFILL = (
    "The other metrics go on; once this is mended and the evaluator started again, "
    "`dialwatch evaluate --backfill --since ... --metrics {}` scores what it left out"
)


def _without_own_model(work: Work) -> Iterator[tuple[Work, Scores | None]]:
    """Give the work, and apart from it, with its scores, that on answers of the judge's own model."""
    own = [judges_itself(work.metric, answer) for answer, _ in work.pairs]
    if not any(own):
        yield work, None
        return
    for is_own in sorted(set(own)):
        places = [i for i, one in enumerate(own) if one is is_own]
        part = Work(work.metric, work.frame.iloc[places], [work.pairs[i] for i in places])
        refused = Scores.of([Score(None, UnscoredReason.JUDGE_IS_THE_MODEL)] * len(places), part.frame.index)
        yield part, refused if is_own else None


@dataclass
class _RowsOfAnswers:
    """The rows that some answers of a deployment get, and what came of them."""

    deployment: str
    question_keys: QuestionKeys
    cases: CaseBook
    now: datetime
    held: Collection[str]
    is_backfill: bool
    probabilities: dict[str, float] = field(default_factory=dict)
    about: dict[str, dict[str, str | None]] = field(default_factory=dict)
    """Columns by answer that are the same for all metrics."""
    rows: list[dict[str, Any]] = field(default_factory=list)
    counts: ScoreCounts = field(default_factory=ScoreCounts)
    still_pending: dict[str, str] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)

    def count_sample(self, sampling: Sampling, some: Sequence[LoggedAnswer], suspicious: Collection[str]) -> None:
        """Draw the sample."""
        self.probabilities = sampling.probabilities(some, suspicious)
        self.counts.judged = len(self.probabilities)
        self.counts.not_sampled = len(some) - len(self.probabilities)
        whole = Sampling(sampling.settings)
        self.counts.expected = sum(whole.probability(flagged=answer.event_id in suspicious) for answer in some)

    def add(self, work: Work, scores: Scores) -> None:
        """Take the scores of a metric."""
        rows = _rows(work, scores, self.now, self.probabilities)
        failed: list[str] = []
        for row, (answer, found) in zip(rows, work.pairs, strict=True):
            if found is not None and answer.event_id not in self.matched:
                self.matched.add(answer.event_id)
                self.counts.matched[found.match] += 1
            if answer.event_id not in self.about:
                key = self.question_keys.of(self.deployment, answer.case_question)
                self.about[answer.event_id] = {"segment": segment_of(answer), "question_key": key}
            self.counts.spend += row.pop("spend")
            if row["score_id"] in self.held:
                self.counts.still_pending[row["reason"]] += 1
                self.still_pending[row["event_id"]] = row["reason"]
                continue
            self.counts.scored += row["value"] is not None
            self.counts.unscored.update([row["reason"]] if row["value"] is None else [])
            failed += [row["event_id"]] if row["reason"] == Reason.FAILED else []
            self.rows.append(row | self.about[answer.event_id] | {"is_backfill": self.is_backfill})
        if failed:
            self._warn_failed(work, failed)

    def _warn_failed(self, work: Work, failed: Sequence[str]) -> None:
        """Name the answers, and not a word of what was asked or replied."""
        some, more = ", ".join(failed[:_NAMED_AT_MOST]), len(failed) - _NAMED_AT_MOST
        text = "metric %r: the judge gave no reply of use (judge_failed) about %d of %d answers of deployment %r: %s"
        fields = {"deployment": self.deployment, "metric": work.metric.name}
        where = f"event_id {some}{f' and {more} more' if more > 0 else ''}"
        logger.warning(text, work.metric.name, len(failed), len(work.pairs), self.deployment, where, extra=fields)


def _rows(work: Work, scores: Scores, now: datetime, probabilities: Mapping[str, float]) -> Iterator[dict[str, Any]]:
    metric, judge, is_judged = work.metric, judge_named(work.metric), asks_judge(work.metric)
    is_measured = MEASURED_COLUMNS.issuperset(metric.needs)
    results = zip(scores.values, scores.reasons, scores.details, scores.spends, work.pairs, strict=True)
    for value, reason, details, spend, (answer, found) in results:
        # What the log does not hold was not seen, and so not even "nothing was retrieved" can be said of it.
        seen = is_measured or answer.text is not None
        known = seen and value == value
        failed_part = details.get("failed_part")
        whole = {name: detail for name, detail in details.items() if name != "failed_part"}
        whole |= {"case_id": found.case.case_id} if found else {}
        reason = None if known else (reason if seen else UnscoredReason.NO_ANSWER)
        is_pending = is_judged and reason in NOT_FOR_GOOD
        yield {
            "score_id": pending_id(answer.event_id, metric.name, metric.version)
            if is_pending
            else score_id(answer, metric),
            "response_id": answer.response_id,
            "event_id": answer.event_id,
            "deployment": answer.deployment,
            "date": answer.date,
            "requested_at": answer.requested_at,
            "chat_id": answer.chat_id,
            "metric": metric.name,
            "metric_version": metric.version,
            "value": value if known else None,
            "reason": reason,
            "details": orjson.dumps(whole).decode() if whole else None,
            "judge": judge,
            "cost": spend.cost,
            "prompt_tokens": spend.prompt_tokens,
            "completion_tokens": spend.completion_tokens,
            "sampling_probability": probabilities[answer.event_id] if is_judged else 1.0,
            "scored_at": now,
            "direction": metric.about.direction,
            "low": metric.about.low,
            "high": metric.about.high,
            "reference_match": found.match if found else None,
            "reference_similarity": found.similarity if found else None,
            "reference_status": found.case.status if found else None,
            "failed_part": failed_part,
            "spend": spend,
        }
