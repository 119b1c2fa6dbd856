"""Pass over new answers and signals: answers that people found good become cases, and later signals withdraw them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, answers, with_late_contexts
from evaluator.ground_truth.changed_documents import CASE_COLUMNS, WATCHED_COLUMNS, CaseWatch, telling_ids
from evaluator.ground_truth.facts import EXTRACTOR, supporting_sentences
from evaluator.ground_truth.falls import FALL_COLUMNS, Fall, doubt_of, incident_of, read_falls, with_doubts
from evaluator.ground_truth.ratings import (
    IDENTITY_COLUMNS,
    IS_OPINION,
    OPINION_COLUMNS,
    RatedAnswer,
    opinions_on,
    rated_answers,
)
from evaluator.ground_truth.selection import KNOWN_COLUMNS, Candidate, Selection
from evaluator.ground_truth.settings import GroundTruthSettings
from evaluator.ground_truth.similar_sentences import EXTRACTOR as BY_SIMILARITY
from evaluator.ground_truth.similar_sentences import SimilarSentences
from evaluator.metrics import ABSENT, fact_ranks
from lake.queries.answer_rows import IS_ANSWER, IS_RATABLE
from lake.queries.ground_truth.case_sources import case_id_of
from lake.queries.ground_truth.case_versions import EVALUATOR, newest_versions, next_version
from lake.queries.signals_by_answer import read_signaled
from lake.spec.alert_vocabulary import ALERT_STATES
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import CaseStatus
from lake.spec.texts.refusals import only_refuses
from lake.spec.tool_calls import expected_calls
from lake.tables.pass_transaction import PassTransaction
from lake.tables.positions import read_new

FROM_LOGS = "ground_truth:parsed_logs"
FROM_SIGNALS = "ground_truth:user_signals"
FROM_ALERTS = "ground_truth:alerts"

_DEFAULT = GroundTruthSettings()
_DOUBTED = "signals speak against this answer: they now come to {folded:.2f}"
_WITHDRAWN = "withdrawn: the signals of its answer now come to {folded:.2f}, and {least:g} is needed"
_BACK = "proposed again: the signals of its answer now come to {folded:.2f}"


def propose_cases(
    tables: DeploymentTables,
    now: datetime,
    settings: GroundTruthSettings = _DEFAULT,
    similar: SimilarSentences | None = None,
) -> int:
    """Make cases of good answers that have none yet, and withdraw those whose answers turn out not to be good.

    One whose answer was given while an incident was open is doubted, also where the incident is found later. A case
    whose documents new answers show to be changed goes stale, and comes back with them. All of it is one commit;
    returns the number of new cases. A question that is not the first of its conversation makes a case with its
    standalone question, or with a hash of its conversation, in which alone it is compared then. `similar` finds facts
    where the words of an answer find none.

    New signals are tried on all answers and new answers on all signals, so it does not matter which came first.

    Where there is nothing to write, a commit is made only now and then. Raises LostRaceError where another evaluator
    has just done so.
    """
    if tables.signals.version() is None and tables.truth.version() is None:
        return 0
    inputs = (FROM_LOGS, FROM_SIGNALS, FROM_ALERTS)
    transaction = PassTransaction(tables.truth, inputs, uncommitted=tables.uncommitted)
    seen = transaction.positions
    # A pass without news reads no rows.
    is_watching = tables.logs.version() != seen.get(FROM_LOGS) and _has_chunks(tables)
    columns = {*IDENTITY_COLUMNS, *(WATCHED_COLUMNS if is_watching else ())}
    logs = read_new(tables.logs, seen.get(FROM_LOGS), sorted(columns))
    signals = read_new(tables.signals, seen.get(FROM_SIGNALS), OPINION_COLUMNS)
    alerts = read_new(tables.alerts, seen.get(FROM_ALERTS), FALL_COLUMNS)
    read = {FROM_LOGS: logs.version, FROM_SIGNALS: signals.version, FROM_ALERTS: alerts.version}
    reached = {name: position for name, position in read.items() if position is not None}
    rated = _newly_rated(tables, logs.rows.filter(IS_RATABLE), signals.rows.filter(IS_OPINION))
    known = newest_versions(tables.truth.read(KNOWN_COLUMNS)).to_pylist() if rated else []
    falls = read_falls(tables.alerts) if rated or alerts.rows.num_rows else []
    cases = _new_cases(tables, rated, known, now, settings, similar, falls)
    changed = _changed_cases(tables, rated, known, now, settings)
    # New cases know all falls. Of the others only those of an incident that is new, or has changed, may be doubted.
    news = {incident_of(row) for row in alerts.rows.to_pylist() if row["change"] in ALERT_STATES}
    changed = with_doubts(tables.truth, tables.logs, [one for one in falls if one.incident_id in news], changed, now)
    if is_watching:
        changed = [*changed, *_with_changed_documents(tables, logs.rows.filter(IS_ANSWER), changed, now)]
    if not cases and not changed and not transaction.is_far(reached, inputs):
        transaction.remember(reached)
        return 0
    transaction.append(GROUND_TRUTH.rows([*cases, *changed]), reached)
    return len(cases)


def _newly_rated(tables: DeploymentTables, new: pa.Table, opinions: pa.Table) -> list[RatedAnswer]:
    """Join new answers with all signals, and those that new signals are about."""
    rated = read_signaled(tables.logs, opinions)
    both = _with_new(rated, new)
    said = opinions_on(both, tables.signals)
    # An earlier signal may be about an older answer that has the same id.
    has_others = not pc.all(pc.is_in(said["signal_id"], opinions["signal_id"].combine_chunks())).as_py()
    known = _with_new(read_signaled(tables.logs, said), both) if has_others else both
    return rated_answers(both, said, known)


def _with_new(older: pa.Table, new: pa.Table) -> pa.Table:
    is_new = pc.is_in(older["event_id"], new["event_id"].combine_chunks())
    return pa.concat_tables([new.select(older.column_names), older.filter(pc.invert(is_new))])


def _new_cases(
    tables: DeploymentTables,
    rated: Iterable[RatedAnswer],
    known: Sequence[Mapping[str, Any]],
    now: datetime,
    settings: GroundTruthSettings,
    similar: SimilarSentences | None,
    falls: Sequence[Fall],
) -> list[dict[str, Any]]:
    ids = {case["case_id"] for case in known}
    good = [
        one
        for one in rated
        if one.confidence >= settings.least_confidence and case_id_of(tables.deployment, one.event_id) not in ids
    ]
    selection = Selection(known, settings.most_per_day, tables.matching.similar)
    return [_case(one, now, similar, falls) for one in selection.chosen(_candidates(tables, good))]


def _candidates(tables: DeploymentTables, good: Iterable[RatedAnswer]) -> Iterator[Candidate]:
    """Read the answers, one day at a time; one without a text or a question makes no case.

    Nor does one that only refuses: where retrieval broke, people thank for an honest "I do not know", and as a case it
    would make all such answers right.
    """
    by_day: dict[date, dict[str, RatedAnswer]] = defaultdict(dict)
    for one in good:
        by_day[one.date][one.event_id] = one
    for day, of_day in sorted(by_day.items()):
        # A signal may be about a failed call too.
        where = IS_ANSWER & (ds.field("date") == pa.scalar(day)) & ds.field("event_id").isin(sorted(of_day))
        for some in answers(tables.logs.read(ANSWER_COLUMNS, where)):
            for answer in with_late_contexts(tables, some):
                is_told = answer.text and answer.text.strip() and not only_refuses(answer.text)
                if answer.case_question and answer.text and is_told:
                    yield Candidate(answer, answer.case_question, answer.text, of_day[answer.event_id])


def _case(
    candidate: Candidate, now: datetime, similar: SimilarSentences | None, falls: Sequence[Fall]
) -> dict[str, Any]:
    answer, text = candidate.answer, candidate.text
    chunks = list(zip(answer.contexts or (), answer.context_ids or (), strict=True))
    facts, extractor = supporting_sentences(text, answer.contexts or ()), EXTRACTOR
    supporting = [chunk for chunk in chunks if supporting_sentences(text, chunk[:1])]
    if not facts and similar is not None and (facts := similar.facts(text, answer.contexts or ())):
        extractor = BY_SIMILARITY
        supporting = [chunk for chunk in chunks if any(rank != ABSENT for rank in fact_ranks(facts, chunk[:1]))]
    return {
        "case_id": case_id_of(answer.deployment, answer.event_id),
        "deployment": answer.deployment,
        "version": 1,
        "question": candidate.question.text,
        "conversation_hash": candidate.question.conversation_hash,
        "documents": list(answer.documents),
        "facts": facts,
        "answer": text,
        "context": [context for context, _ in supporting],
        "context_ids": [identifier for _, identifier in supporting],
        "tool_calls": expected_calls(answer.tool_calls),
        "source_response_id": _source_id(candidate),
        "source_date": answer.date,
        "confidence": candidate.rating.confidence,
        "doubt": doubt_of(falls, answer.requested_at),
        "status": CaseStatus.PROPOSED,
        "status_by": EVALUATOR,
        "status_at": now,
        "extractor": extractor,
        "created_at": now,
        "updated_at": now,
        "updated_by": EVALUATOR,
    }


def _source_id(candidate: Candidate) -> str:
    """Return the id of the answer, or of its row where other answers have that id."""
    answer, named = candidate.answer, candidate.rating.response_id
    return named if named == answer.event_id or answer.response_id is None else answer.response_id


def _changed_cases(
    tables: DeploymentTables,
    rated: Iterable[RatedAnswer],
    known: Sequence[Mapping[str, Any]],
    now: datetime,
    settings: GroundTruthSettings,
) -> list[dict[str, Any]]:
    """Return the next versions of the cases that new signals speak against, or for again."""
    folded = {case_id_of(tables.deployment, one.event_id): one.confidence for one in rated}
    changes = dict(changes_by_signals(known, folded, settings.least_confidence))
    if not changes:
        return []
    rows = newest_versions(tables.truth.read(where=ds.field("case_id").isin(sorted(changes)))).to_pylist()
    return [next_version(row, changes[row["case_id"]], EVALUATOR, now) for row in rows]


def _has_chunks(tables: DeploymentTables) -> bool:
    """Return whether there is a case that knows the ids of its chunks."""
    return bool(pc.any(pc.greater(pc.list_value_length(tables.truth.read(["context_ids"])["context_ids"]), 0)).as_py())


def _with_changed_documents(
    tables: DeploymentTables, new: pa.Table, changed: Sequence[Mapping[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """Return the next versions of the cases whose documents new answers show to be changed, or as they were again."""
    ids = telling_ids(new)
    changes = CaseWatch(tables.truth.read(CASE_COLUMNS), ids).changes(new) if ids else {}
    if not changes:
        return []
    rows = newest_versions(tables.truth.read(where=ds.field("case_id").isin(sorted(changes)))).to_pylist()
    # What signals have just said comes first: a case that they reject is not stale as well.
    newest = {row["case_id"]: row for row in [*rows, *changed]}
    return [
        next_version(newest[case_id], columns, EVALUATOR, now)
        for case_id, columns in changes.items()
        if newest[case_id]["status"] != CaseStatus.REJECTED
    ]


def changes_by_signals(
    cases: Iterable[Mapping[str, Any]], folded: Mapping[str, float], least: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield by case_id the columns that change for what the signals of the cases' answers now come to.

    `folded` is that by case_id, `least` what a proposed case needs. A proposed case with less is rejected, and proposed
    again where its signals come to enough again. What a person accepted stays, and gets a note where its signals come
    to less than 0; what a person rejected stays as it is.
    """
    for case in cases:
        now = folded.get(case["case_id"])
        if now is not None and (columns := _change_by_signals(case, now, least)):
            yield case["case_id"], columns


def _change_by_signals(case: Mapping[str, Any], folded: float, least: float) -> dict[str, Any]:
    is_withdrawn = case["status"] == CaseStatus.REJECTED and case["status_by"] == EVALUATOR
    if case["status"] == CaseStatus.PROPOSED and folded < least:
        return {"status": CaseStatus.REJECTED, "note": _WITHDRAWN.format(folded=folded, least=least)}
    if is_withdrawn and folded >= least:
        return {"status": CaseStatus.PROPOSED, "note": _BACK.format(folded=folded)}
    # Its last version is the evaluator's where this has been said, and the person's again once they have decided.
    if case["status"] == CaseStatus.ACCEPTED and folded < 0 and case["updated_by"] != EVALUATOR:
        return {"note": _DOUBTED.format(folded=folded)}
    return {}
