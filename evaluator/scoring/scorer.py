"""Scorer: applies metrics to the answers of a deployment, by an engine, and makes their rows of `scores`."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime

import orjson
import pyarrow as pa

from evaluator.answers import DeploymentTables, LoggedAnswer, QuestionImages
from evaluator.judge_binding import sees_images, split
from evaluator.metrics import Metric, language_of
from evaluator.sampling import Sampling, flagged
from evaluator.scoring.chunks import Chunk, Problem, ScoredChunk, score_chunk
from evaluator.scoring.counts import ScoreCounts
from evaluator.scoring.work import pending_id, references, score_id
from lake.queries.ground_truth.cases import CaseBook
from lake.queries.ground_truth.question_keys import QuestionKeys
from runtime.worker_pool import Engine, SameProcess

logger = logging.getLogger(__name__)

_NAMED_AT_MOST = 5
_FLAG_COLUMNS = ["event_id", "value", "low", "high", "direction"]
_LANGUAGE_CHARACTERS = 500
_SHORT, _MEDIUM = 80, 400
"""Characters of the longest question of that length."""


class Scorer:
    """Applies metrics to answers and leaves out those that cannot run.

    Metrics that ask no judge are computed by the engine, in whichever process. Judges are asked in this one, which has
    their budgets and their file of calls.

    A metric whose model cannot be loaded is off from then on: that is logged once. One that fails in another way is
    logged each time, and tried again with the next answers.
    """

    def __init__(
        self,
        question_keys: QuestionKeys,
        engine: Engine | None = None,
        retrieves: Callable[[str], bool] = lambda _: True,
        images: QuestionImages | None = None,
    ) -> None:
        """`retrieves` says whether a deployment is an application that retrieves.

        `images` finds those of the questions that judges are asked about; without it they see texts alone.
        """
        self._retrieves = retrieves
        self._off: set[str] = set()
        self._question_keys = question_keys
        self._engine = engine or SameProcess()
        self._images = images

    def scored(
        self,
        tables: DeploymentTables,
        batches: Iterable[Sequence[LoggedAnswer]],
        metrics: Sequence[Metric],
        cases: CaseBook,
        now: datetime,
        *,
        held: Collection[str] = (),
        is_backfill: bool = False,
        sampling: Sampling | None = None,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> Generator[tuple[pa.Table, ScoreCounts]]:
        """Yield, batch by batch, the rows of `scores` that answers lack, `held` being the ids of those that are there.

        Batches are taken as rows are asked for, and some ahead where the engine has workers. A judge is asked about
        those of the answers that are in the sample. Once `is_stopping` says so, no more images are read: what needs
        them is pending. Close it where not all is wanted.
        """
        free, judged = split(metrics)
        waiting: deque[Chunk] = deque()

        def chunks() -> Iterator[Chunk]:
            for some in batches:
                chunk = self._chunk(tables, some, metrics, cases, now, held)
                waiting.append(replace(chunk, is_backfill=is_backfill))
                yield waiting[-1]

        engine = self._engine if free else SameProcess()
        with closing(engine.map(score_chunk, tuple(free), chunks())) as results:
            for found in results:
                chunk = waiting.popleft()
                parts = [found]
                if judged:
                    parts += self._judged(tables, chunk, judged, found, sampling or Sampling(), is_stopping)
                self._log(chunk.deployment, parts)
                yield pa.concat_tables([part.rows for part in parts]), _counted(parts)

    def rows(
        self,
        tables: DeploymentTables,
        some: Sequence[LoggedAnswer],
        metrics: Sequence[Metric],
        cases: CaseBook,
        now: datetime,
    ) -> tuple[pa.Table, ScoreCounts]:
        """Return the rows of `scores` of one batch of answers."""
        ((rows, counts),) = self.scored(tables, [some], metrics, cases, now)
        return rows, counts

    def retried_rows(
        self,
        tables: DeploymentTables,
        some: Sequence[LoggedAnswer],
        metric: Metric,
        cases: CaseBook,
        now: datetime,
        probabilities: Mapping[str, float],
        held: Collection[str],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> tuple[pa.Table, ScoreCounts, Mapping[str, str]]:
        """Return the rows of pending scores that came now, and why others did not, by `event_id`.

        `probabilities` are those with which the answers were in the sample.
        """
        chunk = self._chunk(tables, some, [metric], cases, now)
        chunk = replace(chunk, held=held, probabilities=probabilities)
        parts = self._with_images(tables, chunk, [metric], is_stopping)
        self._log(chunk.deployment, parts)
        still_pending = {one: why for part in parts for one, why in part.still_pending.items()}
        return pa.concat_tables([part.rows for part in parts]), _counted(parts), still_pending

    def _chunk(
        self,
        tables: DeploymentTables,
        some: Sequence[LoggedAnswer],
        metrics: Sequence[Metric],
        cases: CaseBook,
        now: datetime,
        held: Collection[str] = (),
    ) -> Chunk:
        keys = (self._question_keys.of(tables.deployment, answer.case_question) for answer in some)
        about = {
            answer.event_id: {"segment": segment_of(answer), "question_key": key}
            for answer, key in zip(some, keys, strict=True)
        }
        pairs = references(some, metrics, cases)
        held, off = _held_of(some, metrics, held), frozenset(self._off)
        retrieves = self._retrieves(tables.deployment)
        return Chunk(tables.deployment, some, pairs, about, now, held, off, retrieves=retrieves)

    def _with_images(
        self, tables: DeploymentTables, chunk: Chunk, metrics: Sequence[Metric], is_stopping: Callable[[], bool]
    ) -> list[ScoredChunk]:
        """Score a chunk, by metrics that see images a few answers at a time: more images than theirs are not held."""
        seeing = [] if self._images is None else [*filter(sees_images, metrics)]
        parts = [score_chunk([metric for metric in metrics if metric not in seeing], chunk)]
        if self._images is None or not seeing:
            return parts
        for some in self._images.portions(tables.logs, chunk.answers, is_stopping):
            added = {one.event_id: one for one in some}
            pairs = [(added[one.event_id], reference) for one, reference in chunk.pairs if one.event_id in added]
            parts.append(score_chunk(seeing, replace(chunk, answers=some, pairs=pairs)))
        return parts

    def _judged(
        self,
        tables: DeploymentTables,
        chunk: Chunk,
        metrics: Sequence[Metric],
        free: ScoredChunk,
        sampling: Sampling,
        is_stopping: Callable[[], bool],
    ) -> list[ScoredChunk]:
        suspicious: Collection[str] = set()
        if sampling.settings.uses_flags:
            found_by_free = free.rows.select(_FLAG_COLUMNS).to_pylist()
            suspicious = flagged(chunk.answers, found_by_free, tables.signals, tables.logs)
        drawn = sampling.probabilities(chunk.answers, suspicious)
        sample = replace(
            chunk,
            answers=[answer for answer in chunk.answers if answer.event_id in drawn],
            pairs=[pair for pair in chunk.pairs if pair[0].event_id in drawn],
            off=frozenset(self._off),
            probabilities=drawn,
        )
        parts = self._with_images(tables, sample, metrics, is_stopping)
        whole, counts = Sampling(sampling.settings), parts[0].counts
        counts.judged = len(drawn)
        counts.not_sampled = len(chunk.answers) - len(drawn)
        counts.expected = sum(whole.probability(flagged=answer.event_id in suspicious) for answer in chunk.answers)
        return parts

    def _log(self, deployment: str, parts: Sequence[ScoredChunk]) -> None:
        for problem in (problem for part in parts for problem in part.problems):
            if problem.failed:
                _warn_failed(deployment, problem)
            else:
                self._log_problem(deployment, problem)

    def _log_problem(self, deployment: str, problem: Problem) -> None:
        metric, fields = problem.metric, {"deployment": deployment, "metric": problem.metric}
        advice = _RUN_BACKFILL.format(metric)
        if problem.why is None:
            text = "metric %r failed on %d answers of deployment %r with %s. %s"
            logger.error(text, metric, problem.answers, deployment, problem.place, advice, extra=fields)
        elif metric not in self._off:
            self._off.add(metric)
            logger.warning("metric %r is off: %s. %s", metric, problem.why, advice, extra=fields)


_RUN_BACKFILL = (
    "The other metrics go on; once this is mended and the evaluator started again, "
    "`dialwatch evaluate --backfill --since ... --metrics {}` scores what it left out"
)


def _held_of(some: Sequence[LoggedAnswer], metrics: Sequence[Metric], held: Collection[str]) -> frozenset[str]:
    """Return those of the ids that these answers have; those of all answers may be millions."""
    if not held:
        return frozenset()
    ids = (
        ids for answer in some for metric in metrics for ids in (score_id(answer, metric), pending_id(answer, metric))
    )
    return frozenset(one for one in ids if one in held)


def _counted(parts: Sequence[ScoredChunk]) -> ScoreCounts:
    counts, matched = ScoreCounts(), dict[str, str]()
    for part in parts:
        counts.add(part.counts)
        matched |= part.matched
    counts.matched = Counter(matched.values())
    return counts


def _warn_failed(deployment: str, problem: Problem) -> None:
    """Name the answers, and not a word of what was asked or replied."""
    metric, failed = problem.metric, problem.failed
    some, more = ", ".join(failed[:_NAMED_AT_MOST]), len(failed) - _NAMED_AT_MOST
    text = "metric %r: the judge gave no reply of use (judge_failed) about %d of %d answers of deployment %r: %s"
    where = f"event_id {some}{f' and {more} more' if more > 0 else ''}"
    fields = {"deployment": deployment, "metric": metric}
    logger.warning(text, metric, len(failed), problem.answers, deployment, where, extra=fields)


def segment_of(answer: LoggedAnswer) -> str:
    """Return `scores.segment`: a JSON object of what kind of traffic an answer is, null for what is not known.

    - `language`: that of the question's first 500 characters (`language_of`), an ISO 639-1 code or else a script.
    - `model`: the model that the log names.
    - `contexts`: whether anything was retrieved.
    - `project`: that of the API key that asked: which client it is.
    - `client`: what the client says who it is, in the header that is logged for that.
    - `question_length`: `short` up to 80 characters, `medium` up to 400, `long` beyond.
    """
    found = None if answer.question is None else language_of(answer.question[:_LANGUAGE_CHARACTERS])
    parts = {
        "language": found and (found.code or found.script),
        "model": answer.model,
        "contexts": None if answer.contexts is None else bool(answer.contexts),
        "question_length": None if answer.question is None else _question_length(answer.question),
        "project": answer.project,
        "client": answer.client,
    }
    return orjson.dumps(parts).decode()


def _question_length(question: str) -> str:
    if len(question) <= _SHORT:
        return "short"
    return "medium" if len(question) <= _MEDIUM else "long"
