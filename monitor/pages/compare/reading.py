"""Answers that are compared, read from the lake: of two periods, or of two runs that asked accepted cases again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from lake.queries.answer_rows import context_texts
from lake.queries.ground_truth.case_versions import read_cases
from lake.queries.metric_scores import metric_scores, texts_of_answers
from lake.queries.preferences import (
    EARLIER,
    LATER,
    TIE,
    LoggedAnswers,
    Preferences,
    counted_preferences,
    opposite,
    preferences_in,
    preferences_of_sides,
)
from lake.spec.case_tables import GROUND_TRUTH, REPLAYS
from lake.spec.case_vocabulary import USABLE_STATUS, CaseStatus
from lake.spec.schemas import PARSED_LOGS, deployment_of
from lake.tables.lake import Lake
from monitor.detect.stats.scores import MetricStats
from monitor.pages.answers.fact_places import places_of
from monitor.pages.compare.pairs import (
    AnswerPair,
    ComparedAnswer,
    ComparedFact,
    PairedComparison,
    Preferred,
    pairs_of,
    question_key,
)
from monitor.pages.compare.query import CompareQuery

_ENOUGH = 2_000
"""Scores of a period that are compared, the latest days first."""
_CHARACTERS = 2_000
_PREFERRED: Mapping[float | None, Preferred] = {EARLIER: "before", LATER: "after", TIE: "neither"}


@dataclass(frozen=True)
class Compared:
    """What was found: `pairs` is None where no question has a score on both sides, `preferences` where no judge was
    asked which answers are better."""

    pairs: PairedComparison | None = None
    preferences: Preferences | None = None


@dataclass(frozen=True)
class ReplayRunRow:
    """A run to choose from."""

    run_id: str
    started_at: datetime
    verdict: str
    compared_with: str | None


def versions_of(query: CompareQuery, before: MetricStats | None, after: MetricStats | None) -> tuple[str, str]:
    """Return the versions of the metric that are compared: those that are asked for, else each side's newest."""
    return (
        query.before_version or (before.version if before else ""),
        query.after_version or (after.version if after else ""),
    )


def compare_periods(lake: Lake, query: CompareQuery, stats: MetricStats | None, versions: tuple[str, str]) -> Compared:
    """Compare answers of two periods to the same questions by a metric."""
    judged = counted_preferences(preferences_of_sides(lake, *query.sides))
    preferences = Preferences.of(row["value"] for row in judged)
    if not query.metric:
        return Compared(None, preferences)
    sides = [_answers(lake, side, query.metric, version) for side, version in zip(query.sides, versions, strict=True)]
    found = pairs_of(
        *sides,
        lower_is_better=_is_lower_better(stats),
        largest=_largest(stats),
        preferred={(row["earlier_event_id"], row["event_id"]): _PREFERRED.get(row["value"]) for row in judged},
    )
    if found is None:
        return Compared(None, preferences)
    facts = {question_key(case["question"]): case["facts"] or () for case in _cases(lake, query.deployment)}
    pairs = _with_contexts(lake, found.pairs)
    pairs = _with_facts(pairs, lambda side: facts.get(question_key(side.question), ()))
    return Compared(replace(found, pairs=pairs), preferences)


def runs_of(lake: Lake, name: str) -> list[ReplayRunRow]:
    """Return the runs of a deployment, the latest first."""
    table = lake.table(REPLAYS, deployment_of(name))
    if table.version() is None:
        return []
    rows = table.read(["run_id", "run_started_at", "verdict", "compared_with"]).to_pylist()
    runs = {row["run_id"]: row for row in rows if row["run_id"] is not None and row["run_started_at"] is not None}
    found = [ReplayRunRow(one["run_id"], one["run_started_at"], one["verdict"] or "", one["compared_with"])
             for one in runs.values()]  # fmt: skip
    return sorted(found, key=lambda one: (one.started_at, one.run_id), reverse=True)


def chosen_runs(
    query: CompareQuery, runs: Sequence[ReplayRunRow], before: Sequence[ReplayRunRow] = ()
) -> tuple[str, str]:
    """Return the runs that are compared: the latest with its baseline, else the one before, where none is named.

    Of two deployments it is the latest of each; `before` are those of the earlier one.
    """
    after = query.after_run or (runs[0].run_id if runs else "")
    if query.before_deployment:
        return query.before_run or (before[0].run_id if before else ""), after
    known = {one.run_id: one for one in runs}
    earlier = next((one.run_id for one in runs if one.run_id != after), "")
    usual = (known[after].compared_with if after in known else None) or earlier
    return query.before_run or usual, after


def compare_runs(lake: Lake, query: CompareQuery, stats: MetricStats | None, before: str, after: str) -> Compared:
    """Compare two runs case by case by a metric.

    Ids of cases hold their deployment: those of two deployments are paired by their questions.
    """
    names = query.earlier_deployment, query.deployment
    questions = {
        case["case_id"]: case["question"]
        for name in dict.fromkeys(names)
        for case in read_cases(lake.table(GROUND_TRUTH, deployment_of(name)))
    }
    rows = [_rows_of(lake, name, run) for name, run in zip(names, (before, after), strict=True)]
    sides = [list(_answers_of(some, query.metric, questions)) for some in rows]
    if len(set(names)) > 1:
        sides = [[(question_key(one.question) or case_id, one) for case_id, one in side] for side in sides]
    found = pairs_of(*sides, lower_is_better=_is_lower_better(stats), largest=_largest(stats))
    said = dict(_preferred(rows, before, after))
    preferences = Preferences.of(said.values())
    if found is None:
        return Compared(None, preferences)
    facts = {case["case_id"]: case["facts"] or () for case in _cases(lake, query.deployment)}
    pairs = _with_facts(found.pairs, lambda side: facts.get(side.case_id or "", ()))
    pairs = tuple(replace(pair, preferred=_PREFERRED.get(said.get(pair.after.case_id or ""))) for pair in pairs)
    return Compared(replace(found, pairs=pairs), preferences)


def _preferred(
    rows: Sequence[Sequence[Mapping[str, Any]]], before: str, after: str
) -> Iterator[tuple[str, float | None]]:
    """Yield the case and the preference of each pair: a judge was asked beside the run that one was compared with."""
    for row in rows[1]:
        if row["compared_with"] == before:
            yield from ((row["case_id"], value) for value in preferences_in(row))
    for row in rows[0]:
        if row["compared_with"] == after:
            yield from ((row["case_id"], opposite(value)) for value in preferences_in(row))


def _cases(lake: Lake, name: str) -> list[dict[str, Any]]:
    """Return the cases that answers are compared with; of equal questions the accepted and surest is the last."""
    cases = read_cases(lake.table(GROUND_TRUTH, deployment_of(name)), USABLE_STATUS)
    return sorted(cases, key=lambda case: (case["status"] == CaseStatus.ACCEPTED, case["confidence"] or 0.0))


def _with_facts(
    pairs: Sequence[AnswerPair], facts_of: Callable[[ComparedAnswer], Sequence[str]]
) -> tuple[AnswerPair, ...]:
    def of(side: ComparedAnswer) -> ComparedAnswer:
        facts = facts_of(side)
        if side.contexts is None:
            return replace(side, facts=[ComparedFact(fact, None) for fact in facts])
        places = zip(facts, places_of(facts, side.contexts), strict=True)
        return replace(side, facts=[ComparedFact(fact, place is not None) for fact, place in places])

    return tuple(replace(pair, before=of(pair.before), after=of(pair.after)) for pair in pairs)


def _largest(stats: MetricStats | None) -> float:
    scale = stats.scale if stats is not None else None
    return math.inf if scale is None else abs(scale.best - scale.worst)


def _is_lower_better(stats: MetricStats | None) -> bool:
    return stats is not None and stats.scale is not None and stats.scale.is_reversed


def _rows_of(lake: Lake, name: str, run: str) -> Sequence[Mapping[str, Any]]:
    table = lake.table(REPLAYS, deployment_of(name))
    if table.version() is None:
        return []
    rows: Sequence[Mapping[str, Any]] = table.read(where=ds.field("run_id") == run).to_pylist()
    return rows


def _answers_of(
    rows: Iterable[Mapping[str, Any]], metric: str, questions: Mapping[str, str]
) -> Iterator[tuple[str, ComparedAnswer]]:
    for row in rows:
        case_id = row["case_id"]
        values = [score["value"] for score in row["scores"] or () if score["metric"] == metric]
        if values and values[0] is not None:
            contexts = row["contexts"] and [context["text"] or "" for context in row["contexts"] if context]
            answer = ComparedAnswer(
                values[0], questions.get(case_id), row["answer"], None, case_id=case_id, contexts=contexts
            )
            yield case_id, answer


def _answers(lake: Lake, of: LoggedAnswers, metric: str, version: str) -> list[tuple[str, ComparedAnswer]]:
    deployment = of.deployment
    rows = metric_scores(lake, deployment, metric, version, *of.asked, _ENOUGH)
    rows = rows.slice(0, _ENOUGH)
    texts = texts_of_answers(lake, deployment, rows, ("question", "answer"), _CHARACTERS)
    found = []
    for row in rows.to_pylist():
        text = texts.get(row["event_id"])
        if text is not None:
            answer = ComparedAnswer(
                row["value"], text["question"], text["answer"], row["date"], row["event_id"], deployment
            )
            found.append((question_key(text["question"]), answer))
    return found


def _with_contexts(lake: Lake, pairs: Sequence[AnswerPair]) -> tuple[AnswerPair, ...]:
    sides = [side for pair in pairs for side in (pair.before, pair.after) if side.event_id is not None]
    known = {
        (name, event_id): contexts
        for name in {side.deployment for side in sides}
        for event_id, contexts in _contexts(lake, name, [one for one in sides if one.deployment == name]).items()
    }

    def of(side: ComparedAnswer) -> ComparedAnswer:
        return replace(side, contexts=known.get((side.deployment, side.event_id or "")))

    return tuple(replace(pair, before=of(pair.before), after=of(pair.after)) for pair in pairs)


def _contexts(lake: Lake, deployment: str | None, sides: Sequence[ComparedAnswer]) -> dict[str, list[str] | None]:
    days = sorted({side.date for side in sides if side.date is not None})
    ids = [side.event_id for side in sides]
    where = ds.field("date").isin([pa.scalar(day) for day in days]) & ds.field("event_id").isin(ids)
    rows = lake.table(PARSED_LOGS, deployment).read(["event_id", "contexts", "contexts_origin"], where).to_pylist()
    return {row["event_id"]: context_texts(row) for row in rows}
