"""Proposals of ground truth: an answer that people found good becomes a case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, DeploymentTables, LoggedAnswer, answers, identity, with_late_contexts
from evaluator.ground_truth.facts import EXTRACTOR, supporting_sentences
from evaluator.ground_truth.likes import (
    IDENTITY_COLUMNS,
    MAY_MAKE_LIKED,
    OPINION_COLUMNS,
    LikedAnswer,
    answers_with,
    liked_answers,
    opinions_on,
)
from lake import EVALUATOR, GROUND_TRUTH, IS_ANSWER, CaseStatus, PassTransaction, read_new

FROM_LOGS = "ground_truth:parsed_logs"
FROM_SIGNALS = "ground_truth:user_signals"


def propose_cases(tables: DeploymentTables, now: datetime) -> int:
    """Make a case of every liked answer that has none yet, in one commit; give the number of new cases.

    A question that is not the first of its conversation makes a case with its standalone question, or with a hash of
    its conversation, in which alone it is compared then.

    New signals are tried on all answers and new answers on all signals, so it does not matter which came first. A case
    that was made stays proposed when a later signal speaks against it: a person has to reject it.

    Where there is none, a commit is made only now and then. Raises LostRaceError where another evaluator has just
    done so.
    """
    if tables.signals.version() is None:
        return 0
    transaction = PassTransaction(tables.truth, (FROM_LOGS, FROM_SIGNALS), uncommitted=tables.uncommitted)
    seen = transaction.positions
    logs = read_new(tables.logs, seen.get(FROM_LOGS), IDENTITY_COLUMNS)
    signals = read_new(tables.signals, seen.get(FROM_SIGNALS), OPINION_COLUMNS)
    read = {FROM_LOGS: logs.version, FROM_SIGNALS: signals.version}
    reached = {name: position for name, position in read.items() if position is not None}
    liked = _newly_liked(tables, logs.rows.filter(IS_ANSWER), signals.rows.filter(MAY_MAKE_LIKED))
    known = set(tables.truth.read(["case_id"])["case_id"].to_pylist()) if liked else set()
    cases = [case for like in _read_answers(tables, liked, known) for case in _cases(*like, now)]
    if not cases and not transaction.is_far(reached, [FROM_LOGS, FROM_SIGNALS]):
        transaction.remember(reached)
        return 0
    transaction.append(GROUND_TRUTH.rows(cases), reached)
    return len(cases)


def _newly_liked(tables: DeploymentTables, new: pa.Table, likes: pa.Table) -> list[LikedAnswer]:
    """Join new answers with all signals, and those that new likes are about."""
    rated = answers_with(tables.logs, likes["response_id"])
    older = rated.filter(pc.invert(pc.is_in(rated["event_id"], new["event_id"].combine_chunks())))
    both = pa.concat_tables([new.select(rated.column_names), older])
    return liked_answers(both, opinions_on(both, tables.signals))


def _read_answers(
    tables: DeploymentTables, liked: Iterable[LikedAnswer], known: set[str]
) -> Iterator[tuple[LoggedAnswer, LikedAnswer]]:
    """Read the liked answers without a case, one day at a time."""
    by_day: dict[date, dict[str, LikedAnswer]] = defaultdict(dict)
    for like in liked:
        if _case_id(tables.deployment, like.event_id) not in known:
            by_day[like.date][like.event_id] = like
    for day, likes in sorted(by_day.items()):
        where = (ds.field("date") == pa.scalar(day)) & ds.field("event_id").isin(sorted(likes))
        for some in answers(tables.logs.read(ANSWER_COLUMNS, where)):
            yield from ((answer, likes[answer.event_id]) for answer in with_late_contexts(tables, some))


def _cases(answer: LoggedAnswer, like: LikedAnswer, now: datetime) -> Iterator[dict[str, Any]]:
    """Give the case of a liked answer; none where its text or its `case_question` is missing."""
    if not answer.case_question or not answer.text or not answer.text.strip():
        return
    facts = supporting_sentences(answer.text, answer.contexts or ())
    yield {
        "case_id": _case_id(answer.deployment, answer.event_id),
        "deployment": answer.deployment,
        "version": 1,
        "question": answer.case_question.text,
        "conversation_hash": answer.case_question.conversation_hash,
        "documents": list(answer.documents),
        "facts": facts,
        "answer": answer.text,
        "context": [context for context in answer.contexts or () if supporting_sentences(answer.text, [context])],
        "source_response_id": answer.response_id or like.response_id,
        "confidence": like.confidence,
        "status": CaseStatus.PROPOSED,
        "status_by": EVALUATOR,
        "status_at": now,
        "extractor": EXTRACTOR,
        "created_at": now,
        "updated_at": now,
        "updated_by": EVALUATOR,
    }


def _case_id(deployment: str | None, event_id: str) -> str:
    return identity(deployment or "", event_id)
