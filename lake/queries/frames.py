"""Frames of answers and of ground truth that DIAL's own evaluator, aidial-rag-eval (0.7), reads unchanged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lake.queries.answer_rows import (
    CASE_QUESTION_COLUMNS,
    CaseQuestion,
    add_tool_results,
    answer_text,
    answers_to,
    case_question,
    context_texts,
)
from lake.queries.child_contexts import ChildContexts, add_late_contexts, add_late_tool_calls
from lake.queries.ground_truth.cases import Case, CaseBook
from lake.spec.case_tables import GROUND_TRUTH
from lake.spec.case_vocabulary import USABLE_STATUS
from lake.spec.schemas import PARSED_LOGS
from lake.spec.vocabulary import ContextsOrigin, Origin
from lake.tables.lake import Lake

if TYPE_CHECKING:
    import pandas as pd

OTHER_CASES = "other_cases"
"""Column of `ground_truth_frame`: the cases with the same question and documents whose confidence is lower."""

_READ = (
    "event_id", "kind", "is_entry", "status", "error", "finish_reason", "answer_kind", "response_id",
    "response_ids", "requested_at",
    "documents", "contexts", "contexts_origin", "tool_calls", "tool_calls_origin",
    "answer", "trace_id", "span_id", "duration_ms", "price",
    *CASE_QUESTION_COLUMNS,
)  # fmt: skip
_IN_ORDER = [("requested_at", "ascending"), ("event_id", "ascending")]
_ANSWERS = (
    "question", "documents", "context", "answer", "response_id", "case_id", "contexts_origin", "duration_ms", "price",
)  # fmt: skip
_CASE = ("facts", "answer", "case_id", "source_response_id")
_LABEL = "is_answerable_label"


@dataclass(frozen=True, slots=True)
class _Asked:
    row: dict[str, Any]
    case_question: CaseQuestion | None
    documents: tuple[str, ...]
    event_id: str
    response_id: str | None
    response_ids: tuple[str, ...]
    requested_at: datetime


def answers_frame(
    lake: Lake, deployment: str, origin: str = Origin.PRODUCTION, status: Sequence[str] = USABLE_STATUS
) -> pd.DataFrame:
    """Return the answers that people saw, as the evaluator scores them, a row each, in the order they were asked for.

    - `question`, `documents`, `context`, `answer`: what aidial-rag-eval reads. `documents` and `context` are lists of
      strings, empty where there is none. An answer without contexts of its own has those of the model call it made;
      results of tools follow.
    - `response_id`, and `case_id` of the case of ground truth (of these statuses) that the answer is compared with: one
      that was not made of it, and whose own answer was asked for before. Null where there is none, also where the
      evaluator finds one by an encoder of sentences, or one that is compared in its conversation alone.
    - `contexts_origin`, as in `parsed_logs`: an empty `context` of the origin null or `none` says that it is not known
      what was retrieved.
    - `duration_ms` and `price`, of which `latency` and `cost` are scored.

    Answers that the log does not hold, such as calls of tools, are left out. They are those that people asked for; with
    another `origin`, such as `evaluation`, what that asked for.
    """
    rows = lake.table(PARSED_LOGS, deployment).read(_READ, answers_to(origin)).sort_by(_IN_ORDER).to_pylist()
    children = ChildContexts(lake)
    add_late_contexts(children, deployment, rows)
    add_late_tool_calls(children, deployment, rows)
    add_tool_results(rows)
    some = [_asked(row) for row in rows]
    cases = CaseBook.read(lake.table(GROUND_TRUTH, deployment), lake.table(PARSED_LOGS, deployment), status)
    earlier = [(answer, found.case) for answer, found in cases.earlier(some)]
    compared = {id(answer): case.case_id for answer, case in earlier if case.question.conversation_hash is None}
    return _frame([_answer(one, compared.get(id(one))) for one in some if answer_text(one.row) is not None], _ANSWERS)


def ground_truth_frame(lake: Lake, deployment: str, status: Sequence[str] = USABLE_STATUS) -> pd.DataFrame:
    """Return the cases of these statuses that answers are compared with, a row a question about the same documents.

    - `question`, `documents`, `facts`, `answer`: what aidial-rag-eval reads. Questions that mean something in their
      conversation alone are left out: it joins by the text of the question. Facts without a letter or a digit are left
      out: it would find them in every chunk.
    - `case_id`, and `source_response_id` of the answer that the case was made of; `is_answerable_label` of the case.
    - `other_cases`: the same four of the question's other cases. The row is that of the best one, accepted before
      proposed, then the highest confidence first. aidial-rag-eval breaks where a question has several rows.
    """
    cases = CaseBook.read(lake.table(GROUND_TRUTH, deployment), lake.table(PARSED_LOGS, deployment), status).cases
    groups: dict[tuple[str, frozenset[str]], list[Case]] = defaultdict(list)
    for case in cases:
        if case.question.conversation_hash is None:
            groups[case.question.text, case.documents].append(case)
    rows = [
        {"question": question, "documents": sorted(documents), **_case(best), OTHER_CASES: [_case(one) for one in rest]}
        for (question, documents), (best, *rest) in groups.items()
    ]
    rows = [{_LABEL: None} | row for row in rows]
    return _frame(rows, ("question", "documents", *_CASE, _LABEL, OTHER_CASES))


def _case(case: Case) -> dict[str, Any]:
    facts = [fact for fact in case.facts if any(map(str.isalnum, fact))]
    ids = {"case_id": case.case_id, "source_response_id": case.source_response_id}
    said = {} if case.is_answerable_label is None else {_LABEL: case.is_answerable_label}
    return {"facts": facts, "answer": case.answer} | ids | said


def _asked(row: dict[str, Any]) -> _Asked:
    ids = {"event_id": row["event_id"], "response_id": row["response_id"]}
    ids["response_ids"] = tuple(row["response_ids"] or ())
    about = {"documents": tuple(row["documents"] or ()), "requested_at": row["requested_at"]}
    return _Asked(row=row, case_question=case_question(row), **ids, **about)


def _answer(asked: _Asked, case_id: str | None) -> dict[str, Any]:
    row, context = asked.row, context_texts(asked.row)
    known = {name: row[name] for name in ("question", "response_id", "duration_ms", "price")}
    origin = ContextsOrigin.NONE if context is None else row["contexts_origin"]
    retrieved = {"documents": list(asked.documents), "context": context or [], "contexts_origin": origin}
    return known | retrieved | {"answer": answer_text(row), "case_id": case_id}


def _frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([[row[name] for name in columns] for row in rows], columns=list(columns))
