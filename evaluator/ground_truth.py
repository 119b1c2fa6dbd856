"""Ground truth from signals: an answer that people found good becomes a proposed case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from evaluator.answers import ANSWER_COLUMNS, IS_ANSWER, Answer, answers
from evaluator.identity import identity
from evaluator.late_contexts import with_late_contexts
from evaluator.likes import (
    CAN_MAKE_GOOD,
    IDENTITY_COLUMNS,
    IS_OPINION,
    OPINION_COLUMNS,
    LikedAnswer,
    liked_answers,
)
from evaluator.sentences import EXTRACTOR, supporting_sentences
from evaluator.tables import DeploymentTables
from lake import GROUND_TRUTH

FROM_LOGS = "ground_truth:parsed_logs"
FROM_SIGNALS = "ground_truth:user_signals"
_PASSES = "ground_truth:passes"


def propose_cases(tables: DeploymentTables, now: datetime) -> int:
    """Make a case of every liked answer that has none yet, in one commit; give the number of new cases.

    New signals are tried on all answers and new answers on all signals, so it does not matter which came first. A case
    that was made stays proposed when a later signal speaks against it: a person has to reject it.

    Raises LostRaceError where another evaluator has just done so.
    """
    if tables.signals.version() is None:
        return 0
    seen = tables.truth.progress((FROM_LOGS, FROM_SIGNALS, _PASSES))
    logs = tables.logs.read_since(seen.get(FROM_LOGS), IDENTITY_COLUMNS)
    signals = tables.signals.read_since(seen.get(FROM_SIGNALS), OPINION_COLUMNS)
    read = {FROM_LOGS: logs.version, FROM_SIGNALS: signals.version}
    ahead = {name: version for name, version in read.items() if version is not None and version != seen.get(name)}
    if not ahead:
        return 0
    some_like_is_new = signals.rows.filter(CAN_MAKE_GOOD).num_rows > 0
    identities = tables.logs.read(IDENTITY_COLUMNS, IS_ANSWER) if some_like_is_new else logs.rows.filter(IS_ANSWER)
    liked = liked_answers(identities, tables.signals.read(OPINION_COLUMNS, IS_OPINION))
    known = set(tables.truth.read(["case_id"])["case_id"].to_pylist())
    cases = [case for like in _read_answers(tables, liked, known) for case in _cases(*like, now)]
    # The number of the pass makes any two evaluators collide here, whichever inputs each of them found new.
    tables.truth.append(GROUND_TRUTH.rows(cases), progress=ahead | {_PASSES: seen.get(_PASSES, 0) + 1})
    return len(cases)


def _read_answers(
    tables: DeploymentTables, liked: Iterable[LikedAnswer], known: set[str]
) -> Iterator[tuple[Answer, LikedAnswer]]:
    """Read the liked answers without a case, one day at a time."""
    by_day: dict[date, dict[str, LikedAnswer]] = defaultdict(dict)
    for like in liked:
        if _case_id(tables.deployment, like.event_id) not in known:
            by_day[like.date][like.event_id] = like
    for day, likes in sorted(by_day.items()):
        where = (ds.field("date") == pa.scalar(day)) & ds.field("event_id").isin(sorted(likes))
        for some in answers(tables.logs.read(ANSWER_COLUMNS, where)):
            yield from ((answer, likes[answer.event_id]) for answer in with_late_contexts(tables, some))


def _cases(answer: Answer, like: LikedAnswer, now: datetime) -> Iterator[dict[str, Any]]:
    """Give the case of a liked answer; none where its question or its text is missing."""
    if not answer.question or not answer.text or not answer.text.strip():
        return
    facts = supporting_sentences(answer.text, answer.contexts or ())
    yield {
        "case_id": _case_id(answer.deployment, answer.event_id),
        "deployment": answer.deployment,
        "question": answer.question,
        "documents": list(answer.documents),
        "facts": facts,
        "answer": answer.text,
        "context": [context for context in answer.contexts or () if supporting_sentences(answer.text, [context])],
        "source_response_id": answer.response_id or like.response_id,
        "confidence": like.confidence,
        "status": "proposed",
        "extractor": EXTRACTOR,
        "created_at": now,
        "updated_at": now,
        "updated_by": "evaluator",
    }


def _case_id(deployment: str | None, event_id: str) -> str:
    return identity(deployment or "", event_id)
